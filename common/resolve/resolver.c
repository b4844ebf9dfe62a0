/* SPDX-License-Identifier: ISC */
/*
 * Starts the resolver, passes questions and answers, and ends it if it hangs or
 * answers what it was not asked.
 * Runs in: mountd parent, nfsd parent.
 */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/watch.h"
#include "resolve/resolver.h"

#define TICK_SECONDS 2

struct resolver {
	struct resolver_asker askers[RESOLVE_MESSAGES]; /* by their answers */
	struct event_base *base; /* NULL: not yet */
	const struct daemon *d;
	struct watch *watch;
	struct event *timer;
	struct role_spec spec;
	struct resolve_setup setup;
	struct role_child *role; /* NULL: not needed yet */
	uint32_t last_id;
	size_t asked; /* questions that the resolver has */
	uint64_t heard_ms; /* its last answer, or the first question after it */
	bool users; /* groups are asked for */
	bool refused; /* there is no user to run it */
};

static void
resolver_turns(struct resolver *r)
{
	size_t i;

	for (i = 0; i < nitems(r->askers); i++)
		if (r->askers[i].turn != NULL)
			r->askers[i].turn(r->askers[i].arg);
}

static void
resolver_hear(struct role_child *child, enum resolve_message type,
    const void *answer)
{
	struct resolver *r = role_arg(child);
	const struct resolver_asker *asker = &r->askers[type];

	if (r->asked == 0 || asker->hear == NULL) {
		role_restart(child, "answered what it was not asked");
		return;
	}
	r->asked--;
	r->heard_ms = clock_ms();
	if (!asker->hear(asker->arg, type, answer))
		role_restart(child, "sent an answer that cannot be");
	else
		resolver_turns(r);
}

static void
on_hosts(void *arg, struct ipc_message *m)
{
	resolver_hear(arg, RESOLVE_ANSWER, m->data);
}

static void
on_members(void *arg, struct ipc_message *m)
{
	resolver_hear(arg, RESOLVE_MEMBERS, m->data);
}

static void
on_groups(void *arg, struct ipc_message *m)
{
	resolver_hear(arg, RESOLVE_GROUPS, m->data);
}

static void
resolver_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
	resolver_turns(role_arg(arg));
}

/* clang-format off */
static const struct ipc_row rows[RESOLVE_MESSAGES] = {
	[ROLE_PONG]       = { "pong",    sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
	[RESOLVE_READY]   = { "ready",   0, 0, 0, 0, resolver_ready },
	[RESOLVE_ANSWER]  = { "answer",  sizeof(struct resolve_answer), sizeof(struct resolve_answer), 0, 0, on_hosts },
	[RESOLVE_MEMBERS] = { "members", sizeof(struct resolve_members), sizeof(struct resolve_members), 0, 0, on_members },
	[RESOLVE_GROUPS]  = { "groups",  sizeof(struct resolve_groups), sizeof(struct resolve_groups), 0, 0, on_groups },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
resolver_started(void *arg, struct role_child *child)
{
	struct resolver *r = arg;

	r->role = child;
	role_becomes(child, r->setup.uid);
	(void)role_send(child, ROLE_SETUP, &r->setup, sizeof(r->setup), NULL,
	    0);
}

static void
resolver_ended(void *arg, struct role_child *child UNUSED)
{
	struct resolver *r = arg;
	size_t i;

	r->asked = 0;
	for (i = 0; i < nitems(r->askers); i++)
		if (r->askers[i].lost != NULL)
			r->askers[i].lost(r->askers[i].arg);
}

static void
resolver_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct resolver *r = arg;

	/* A question may have to wait for those before it. */
	if (r->asked > 0 && clock_ms() - r->heard_ms > RESOLVER_HANG_MS)
		role_restart(r->role, "its lookups hang");
	resolver_turns(r);
}

/* Returns false after a log line: then nothing is looked up. */
static bool
find_user(struct resolver *r)
{
	const struct passwd *pw = getpwnam(RESOLVE_USER);

	r->setup = (struct resolve_setup){ .uid = r->d->uid,
		.gid = r->d->gid,
		.strict = r->d->strict,
		.rootless = r->d->rootless,
		.users = r->users };
	if (r->d->rootless)
		return true;
	if (pw == NULL || pw->pw_uid == 0) {
		log_warnx("user \"" RESOLVE_USER "\" does not exist: names of "
			  "hosts and groups of users are not looked up (run "
			  "\"systemd-sysusers tern.conf\", then start again)");
		return false;
	}
	r->setup.uid = pw->pw_uid;
	r->setup.gid = pw->pw_gid;
	return true;
}

void
resolver_wake(struct resolver *r)
{
	const struct timeval often = { .tv_sec = TICK_SECONDS };

	if (r->base == NULL || r->role != NULL || r->refused)
		return;
	r->refused = !find_user(r);
	if (r->refused)
		return;
	r->spec = (struct role_spec){ .name = "resolver",
		.optional = true,
		.started = resolver_started,
		.ended = resolver_ended,
		.messages = &messages,
		.arg = r };
	r->timer = event_new(r->base, -1, EV_PERSIST, resolver_tick, r);
	if (r->timer == NULL || event_add(r->timer, &often) == -1)
		fatalx("timer: out of memory");
	r->role = role_start(r->base, r->d, &r->spec);
	watch_add(r->watch, r->role);
}

uint32_t
resolver_ask(struct resolver *r, enum resolve_kind kind, const char *name)
{
	struct resolve_ask m = { .kind = kind };

	if (r->asked >= RESOLVE_ASKED_MAX || r->role == NULL ||
	    role_channel(r->role) == -1 || !role_has_been_ready(r->role) ||
	    strlcpy(m.name, name, sizeof(m.name)) >= sizeof(m.name))
		return 0;
	m.id = ++r->last_id == 0 ? ++r->last_id : r->last_id;
	if (!role_send(r->role, RESOLVE_ASK, &m, sizeof(m), NULL, 0))
		return 0;
	if (r->asked++ == 0)
		r->heard_ms = clock_ms();
	return m.id;
}

struct resolver *
resolver_new(bool users)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (r == NULL)
		fatal("resolver");
	r->users = users;
	return r;
}

void
resolver_add(struct resolver *r, enum resolve_message type,
    const struct resolver_asker *asker)
{
	r->askers[type] = *asker;
}

void
resolver_start(struct resolver *r, struct event_base *base,
    const struct daemon *d, struct watch *watch)
{
	r->base = base;
	r->d = d;
	r->watch = watch;
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	if (r->timer != NULL)
		event_free(r->timer);
	role_free(r->role);
	free(r);
}
