/* SPDX-License-Identifier: ISC */
/*
 * Asks the resolver and keeps its answers. Every field of an answer is checked:
 * the resolver reads the network and may be compromised. It can then choose
 * the addresses of the names, as a name server can.
 * Runs in: mountd parent, nfsd parent.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/watch.h"
#include "resolve/names.h"
#include "resolve/resolve.h"

#define TICK_SECONDS 2

struct entry {
	char name[RESOLVE_NAME_MAX];
	struct addr list[RESOLVE_ITEMS_MAX]; /* sorted */
	uint32_t n;
	uint32_t id; /* of the question */
	uint64_t asked_ms; /* 0: there is no question under way */
	uint64_t next_ms; /* when to ask again */
	uint64_t found_ms; /* last confirmed */
	bool wanted; /* the exports name it */
	bool told; /* the log says that it is missing */
};

struct names {
	void (*changed)(void *arg);
	void *arg;
	struct exports_names source;
	struct entry *list;
	size_t n;
	uint32_t last_id;
	size_t asked; /* questions under way */
	bool news; /* changed() is due */
	struct event_base *base;
	const struct daemon *d;
	struct watch *watch;
	struct event *timer;
	struct role_spec spec;
	struct resolve_setup setup;
	struct role_child *role; /* NULL: not needed yet */
};

static struct entry *
find_entry(struct names *n, const char *name)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		if (strcmp(n->list[i].name, name) == 0)
			return &n->list[i];
	return NULL;
}

/* The hook of exports_load(): what is known now. Wants the name from now on. */
static size_t
names_find(void *arg, const char *name, struct addr *out, size_t max)
{
	struct names *n = arg;
	struct entry *e = find_entry(n, name), *more;
	size_t i;

	if (e == NULL) {
		if (n->n == EXPORTS_NAMES_MAX ||
		    strlen(name) >= RESOLVE_NAME_MAX)
			return 0;
		more = reallocarray(n->list, n->n + 1, sizeof(*more));
		if (more == NULL)
			return 0;
		n->list = more;
		e = &more[n->n++];
		memset(e, 0, sizeof(*e));
		memcpy(e->name, name, strlen(name));
	}
	e->wanted = true;
	for (i = 0; i < e->n && i < max; i++)
		out[i] = e->list[i];
	return i;
}

static void
ask(struct names *n, struct entry *e)
{
	struct resolve_ask m = { .id = ++n->last_id, .kind = RESOLVE_HOST };

	memcpy(m.name, e->name, sizeof(m.name));
	if (!role_send(n->role, RESOLVE_ASK, &m, sizeof(m), NULL, 0))
		return;
	e->id = m.id;
	e->asked_ms = clock_ms();
	e->next_ms = UINT64_MAX; /* a reload meanwhile asks once more */
	n->asked++;
}

static void
ask_all(struct names *n)
{
	uint64_t now = clock_ms();
	size_t i;

	for (i = 0; i < n->n && n->asked < RESOLVE_ASKED_MAX; i++)
		if (n->list[i].asked_ms == 0 && n->list[i].next_ms <= now &&
		    role_channel(n->role) != -1 && role_has_been_ready(n->role))
			ask(n, &n->list[i]);
}

/* A resolver that ended answers nothing more. */
static void
forget_questions(struct names *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		if (n->list[i].asked_ms != 0)
			n->list[i].asked_ms = n->list[i].next_ms = 0;
	n->asked = 0;
}

static int
compare(const struct addr *a, const struct addr *b)
{
	int order;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
	if (order != 0)
		return order;
	return (a->scope > b->scope) - (a->scope < b->scope);
}

/* Name servers change the order of addresses, which must change nothing. */
static void
sort(struct addr *list, uint32_t n)
{
	struct addr one;
	uint32_t i, at;

	for (i = 1; i < n; i++) {
		one = list[i];
		for (at = i; at > 0 && compare(&list[at - 1], &one) > 0; at--)
			list[at] = list[at - 1];
		list[at] = one;
	}
}

/* Is it what the resolver may answer? Brings the addresses into one form. */
static bool
is_sound(struct resolve_answer *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint32_t i;

	if (a->kind != RESOLVE_HOST || a->status > RESOLVE_LATER ||
	    a->n > RESOLVE_ITEMS_MAX ||
	    (a->status == RESOLVE_FOUND) != (a->n > 0))
		return false;
	for (i = 0; i < a->n; i++) {
		a->host[i].port = 0;
		if (a->host[i].family == AF_INET) {
			memset(a->host[i].bytes + 4, 0, 12);
			a->host[i].scope = 0;
		} else if (a->host[i].family != AF_INET6 ||
		    memcmp(a->host[i].bytes, mapped, sizeof(mapped)) == 0)
			return false;
	}
	sort(a->host, a->n);
	return true;
}

static bool
is_same(const struct entry *e, const struct resolve_answer *a)
{
	uint32_t i;

	if (e->n != a->n)
		return false;
	for (i = 0; i < e->n; i++)
		if (compare(&e->list[i], &a->host[i]) != 0)
			return false;
	return true;
}

static void
log_found(const struct entry *e)
{
	char text[512] = "", one[ADDR_STRLEN];
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < e->n && len < sizeof(text) - 1; i++) {
		(void)snprintf(text + len, sizeof(text) - len, "%s%s",
		    i > 0 ? ", " : "", addr_print(&e->list[i], one));
		len = strlen(text);
	}
	log_info("exports: client \"%s\" is %s", e->name, text);
}

static void
log_missing(struct entry *e, uint32_t status)
{
	if (e->told)
		return;
	e->told = true;
	log_warnx("exports: client \"%s\": %s: refused until a lookup finds "
		  "its address (asked again every minute)",
	    e->name,
	    status == RESOLVE_NONE ? "no such host" :
				     "the name servers do not answer");
}

static void
take(struct names *n, struct entry *e, const struct resolve_answer *a)
{
	uint64_t now = clock_ms();
	bool keep = a->status == RESOLVE_LATER && e->n > 0 &&
	    now - e->found_ms < NAMES_KEEP_MS;

	if (a->status == RESOLVE_FOUND)
		e->found_ms = now;
	if (!keep && !is_same(e, a)) {
		memcpy(e->list, a->host, sizeof(e->list));
		e->n = a->n;
		n->news = true;
		if (e->n > 0)
			log_found(e);
	}
	if (e->next_ms != 0)
		e->next_ms = now +
		    (a->status == RESOLVE_FOUND ? NAMES_OLD_MS :
						  NAMES_MISSING_MS);
	if (e->n > 0)
		e->told = false;
	else
		log_missing(e, a->status);
}

/* Tells the parent when the names that were asked together are answered. */
static void
tell(struct names *n)
{
	if (!n->news || n->asked > 0)
		return;
	n->news = false;
	n->changed(n->arg);
}

static void
on_answer(void *arg, struct ipc_message *m)
{
	struct names *n = role_arg(arg);
	struct resolve_answer a;
	size_t i;

	memcpy(&a, m->data, sizeof(a));
	if (!is_sound(&a)) {
		role_restart(arg, "sent an answer that cannot be");
		return;
	}
	for (i = 0; i < n->n; i++)
		if (n->list[i].asked_ms != 0 && n->list[i].id == a.id)
			break;
	if (i == n->n)
		return; /* the exports do not name it any more */
	n->list[i].asked_ms = 0;
	n->asked--;
	take(n, &n->list[i], &a);
	ask_all(n);
	tell(n);
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
	ask_all(role_arg(arg));
}

/* clang-format off */
static const struct ipc_row rows[RESOLVE_MESSAGES] = {
	[ROLE_PONG]      = { "pong",   0, 0, 0, 0, role_answered },
	[RESOLVE_READY]  = { "ready",  0, 0, 0, 0, on_ready },
	[RESOLVE_ANSWER] = { "answer", sizeof(struct resolve_answer), sizeof(struct resolve_answer), 0, 0, on_answer },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
started(void *arg, struct role_child *child)
{
	struct names *n = arg;

	n->role = child;
	role_becomes(child, n->setup.uid);
	(void)role_send(child, ROLE_SETUP, &n->setup, sizeof(n->setup), NULL,
	    0);
}

static void
ended(void *arg, struct role_child *child UNUSED)
{
	struct names *n = arg;

	forget_questions(n);
	tell(n);
}

static void
run_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct names *n = arg;
	uint64_t now = clock_ms();
	size_t i;

	for (i = 0; i < n->n; i++)
		if (n->list[i].asked_ms != 0 &&
		    now - n->list[i].asked_ms > NAMES_HANG_MS) {
			role_restart(n->role, "its lookups hang");
			break;
		}
	ask_all(n);
	tell(n);
}

/* Returns false after a log line: then no name is looked up. */
static bool
find_user(struct names *n)
{
	const struct passwd *pw = getpwnam(RESOLVE_USER);

	n->setup = (struct resolve_setup){ .uid = n->d->uid,
		.gid = n->d->gid,
		.strict = n->d->strict,
		.rootless = n->d->rootless };
	if (n->d->rootless)
		return true;
	if (pw == NULL || pw->pw_uid == 0) {
		log_warnx("user \"" RESOLVE_USER "\" does not exist: host "
			  "names are not looked up (run \"systemd-sysusers "
			  "tern.conf\", then start again)");
		return false;
	}
	n->setup.uid = pw->pw_uid;
	n->setup.gid = pw->pw_gid;
	return true;
}

/* Starts the resolver if there is a name and it does not run yet. */
static void
wake(struct names *n)
{
	const struct timeval often = { .tv_sec = TICK_SECONDS };

	if (n->base == NULL || n->n == 0)
		return;
	if (n->role == NULL) {
		if (!find_user(n))
			return;
		n->spec = (struct role_spec){ .name = "resolver",
			.optional = true,
			.started = started,
			.ended = ended,
			.messages = &messages,
			.arg = n };
		n->timer = event_new(n->base, -1, EV_PERSIST, run_tick, n);
		if (n->timer == NULL || event_add(n->timer, &often) == -1)
			fatalx("timer: out of memory");
		n->role = role_start(n->base, n->d, &n->spec);
		watch_add(n->watch, n->role);
	}
	ask_all(n);
}

struct names *
names_new(void (*changed)(void *arg), void *arg)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("names");
	n->changed = changed;
	n->arg = arg;
	n->source = (struct exports_names){ names_find, n };
	return n;
}

const struct exports_names *
names_source(struct names *n)
{
	return &n->source;
}

void
names_begin(struct names *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		n->list[i].wanted = false;
}

void
names_end(struct names *n, bool loaded)
{
	size_t i, kept = 0;

	for (i = 0; i < n->n; i++) {
		if (loaded && !n->list[i].wanted) {
			n->asked -= n->list[i].asked_ms != 0;
			continue;
		}
		n->list[kept] = n->list[i];
		/* An administrator who reloads expects a lookup. */
		n->list[kept++].next_ms = 0;
	}
	n->n = kept;
	wake(n);
}

void
names_start(struct names *n, struct event_base *base, const struct daemon *d,
    struct watch *watch)
{
	n->base = base;
	n->d = d;
	n->watch = watch;
	wake(n);
}

void
names_free(struct names *n)
{
	if (n == NULL)
		return;
	if (n->timer != NULL)
		event_free(n->timer);
	role_free(n->role);
	free(n->list);
	free(n);
}
