/* SPDX-License-Identifier: ISC */
/*
 * The users that are active, and their lookups: see parent_groups.h. Roles and
 * resolver may be compromised. A role can make the parent look up any user, some
 * at a time. An answer is checked before it is used.
 * Runs in: nfsd parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shm.h"
#include "nfsd/parent/parent_groups.h"
#include "resolve/resolver.h"

/* The parent's notes on a slot of the table. */
struct groups_user {
	bool used;
	enum groups_state state;
	uint32_t uid;
	uint32_t id; /* of the question; 0: none under way */
	bool due; /* to be asked for as soon as there is room */
	uint64_t asked_ms, next_ms;
	uint64_t told_ms; /* last answer of the directory */
};

struct parent_groups {
	struct resolver *resolver;
	int fd;
	struct groups_table *table;
	size_t asked;
	bool said_silent; /* the last line in the log */
	uint64_t say_ms; /* no line before that */
	struct groups_user users[GROUPS_USERS_MAX];
};

static void
user_publish(struct parent_groups *p, struct groups_user *u,
    const struct groups *g)
{
	groups_write(&p->table->slots[u - p->users], u->state, u->uid, g,
	    (uint32_t)(u->next_ms / 1000));
}

/* Changes only when the answer gets old. */
static void
user_set_next(struct parent_groups *p, struct groups_user *u, uint64_t next_ms)
{
	u->next_ms = next_ms;
	atomic_store(&p->table->slots[u - p->users].old_at,
	    (uint32_t)(next_ms / 1000));
}

/*
 * One service may be down for ever while another one, such as files, answers. So
 * the log does not follow each answer.
 */
static void
groups_say(struct parent_groups *p)
{
	bool silent = atomic_load(&p->table->silent) != 0;

	if (silent == p->said_silent || clock_ms() < p->say_ms)
		return;
	p->said_silent = silent;
	p->say_ms = clock_ms() + PARENT_GROUPS_SAY_MS;
	if (silent)
		log_warnx(
		    "groups: the directory of users does not answer: users "
		    "keep their groups for an hour, unknown ones have none "
		    "(\"getent passwd NUMBER\" asks it too)");
	else
		log_info("groups: the directory of users answers again");
}

static void
groups_silence(struct parent_groups *p, bool silent)
{
	atomic_store(&p->table->silent, silent);
	groups_say(p);
}

static void
user_ask(struct parent_groups *p, struct groups_user *u)
{
	char number[16];

	if (u->id != 0)
		return;
	u->due = true;
	if (p->asked >= PARENT_GROUPS_ASKED)
		return;
	(void)snprintf(number, sizeof(number), "%u", (unsigned int)u->uid);
	resolver_wake(p->resolver);
	u->id = resolver_ask(p->resolver, RESOLVE_UID, number);
	if (u->id == 0)
		return;
	u->due = false;
	u->asked_ms = clock_ms();
	p->asked++;
	/* Roles shall not tell of it again before the answer. */
	user_set_next(p, u, u->asked_ms + PARENT_GROUPS_AGAIN_MS);
}

/* An unused slot, else the least useful one without a question under way. */
static struct groups_user *
user_replace(struct parent_groups *p, uint32_t uid)
{
	struct groups_user *set = &p->users[groups_set(uid)], *worst = NULL, *u;
	unsigned int i;

	for (i = 0; i < GROUPS_WAYS; i++) {
		u = &set[i];
		if (!u->used) {
			worst = u;
			break;
		}
		if (u->id == 0 &&
		    (worst == NULL || u->state < worst->state ||
			(u->state == worst->state &&
			    u->told_ms < worst->told_ms)))
			worst = u;
	}
	if (worst == NULL)
		return NULL;
	*worst = (struct groups_user){ .used = true, .uid = uid };
	user_publish(p, worst, NULL);
	return worst;
}

void
parent_groups_want(struct parent_groups *p, uint32_t uid)
{
	struct groups_user *u = &p->users[groups_set(uid)];
	unsigned int i;

	for (i = 0; i < GROUPS_WAYS; i++)
		if (u[i].used && u[i].uid == uid)
			break;
	u = i < GROUPS_WAYS ? &u[i] : user_replace(p, uid);
	if (u != NULL && u->next_ms <= clock_ms())
		user_ask(p, u);
}

static bool
is_answer(const struct resolve_groups *a)
{
	return a->status <= RESOLVE_LATER && a->n <= RESOLVE_GROUPS_MAX &&
	    (a->status == RESOLVE_FOUND) == (a->n > 0) &&
	    (a->status == RESOLVE_FOUND) == (a->gid != UINT32_MAX);
}

static void
user_take(struct parent_groups *p, struct groups_user *u,
    struct resolve_groups *a)
{
	struct groups g = { .gid = a->gid, .gids = a->gids };
	uint64_t now = clock_ms();

	_Static_assert(GROUPS_MAX == RESOLVE_GROUPS_MAX, "all groups fit");
	groups_silence(p, a->status == RESOLVE_LATER);
	if (a->status == RESOLVE_LATER) {
		if (u->state == GROUPS_UNKNOWN) {
			u->state = GROUPS_NONE;
			user_publish(p, u, NULL);
		}
		user_set_next(p, u, now + PARENT_GROUPS_AGAIN_MS);
		return;
	}
	u->told_ms = now;
	u->next_ms = now + PARENT_GROUPS_OLD_MS;
	g.n = groups_clean(a->gids, a->n);
	u->state = a->status == RESOLVE_FOUND ? GROUPS_KNOWN : GROUPS_NONE;
	user_publish(p, u, u->state == GROUPS_KNOWN ? &g : NULL);
}

static struct groups_user *
find_asked(struct parent_groups *p, uint32_t id)
{
	size_t i;

	for (i = 0; i < GROUPS_USERS_MAX; i++)
		if (p->users[i].id == id)
			return &p->users[i];
	return NULL;
}

static bool
groups_hear(void *arg, enum resolve_message type, const void *answer)
{
	static struct resolve_groups a;
	struct parent_groups *p = arg;
	struct groups_user *u;

	(void)type;
	memcpy(&a, answer, sizeof(a));
	u = a.id == 0 ? NULL : find_asked(p, a.id);
	if (!is_answer(&a) || u == NULL)
		return false;
	u->id = 0;
	p->asked--;
	user_take(p, u, &a);
	return true;
}

/* The directory is silent about this user. Is the last answer too old? */
static void
user_check(struct parent_groups *p, struct groups_user *u, uint64_t now)
{
	if (u->id != 0 && now - u->asked_ms > PARENT_GROUPS_LATE_MS)
		groups_silence(p, true);
	if (u->state == GROUPS_KNOWN &&
	    now - u->told_ms > PARENT_GROUPS_KEEP_MS) {
		u->state = GROUPS_NONE;
		user_publish(p, u, NULL);
	}
	if (u->due)
		user_ask(p, u);
}

static void
groups_turn(void *arg)
{
	struct parent_groups *p = arg;
	uint64_t now = clock_ms();
	size_t i;

	for (i = 0; i < GROUPS_USERS_MAX; i++)
		if (p->users[i].used)
			user_check(p, &p->users[i], now);
	groups_say(p);
}

static void
groups_lost(void *arg)
{
	struct parent_groups *p = arg;
	struct groups_user *u;
	size_t i;

	p->asked = 0;
	for (i = 0; i < GROUPS_USERS_MAX; i++) {
		u = &p->users[i];
		u->due = u->due || u->id != 0;
		u->id = 0;
	}
}

void
parent_groups_reload(struct parent_groups *p)
{
	size_t i;

	for (i = 0; p != NULL && i < GROUPS_USERS_MAX; i++)
		if (p->users[i].used)
			user_ask(p, &p->users[i]);
}

struct parent_groups *
parent_groups_new(struct resolver *r)
{
	struct parent_groups *p = calloc(1, sizeof(*p));
	const struct resolver_asker asker = { groups_turn, groups_lost,
		groups_hear, p };
	void *table;

	if (p == NULL)
		fatal("groups");
	p->fd = shm_new_published(sizeof(*p->table), &table);
	if (p->fd == -1)
		fatal("groups");
	p->table = table;
	p->resolver = r;
	resolver_add(r, RESOLVE_GROUPS, &asker);
	return p;
}

void
parent_groups_free(struct parent_groups *p)
{
	if (p == NULL)
		return;
	close(p->fd);
	free(p);
}

int
parent_groups_fd(const struct parent_groups *p)
{
	return p == NULL ? -1 : p->fd;
}
