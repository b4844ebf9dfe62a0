/* SPDX-License-Identifier: ISC */
/*
 * Groups of users: what is asked, kept, replaced and forgotten, with a clock and
 * a resolver of its own.
 * Runs in: tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/shm.h"
#include "nfsd/parent/parent_groups.h"
#include "resolve/resolver.h"
#include "tap.h"

#define HOUR_MS (3600 * 1000)

/* What the module under test asks, in place of the real resolver. */
struct resolver {
	struct resolver_asker asker;
	uint32_t last_id;
	uint32_t uids[4096]; /* of the questions, by their number */
	bool full;
};

static uint64_t now_ms = 5000;

int
clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	out->tv_sec = (time_t)(now_ms / 1000);
	out->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

void
resolver_add(struct resolver *r, enum resolve_message type,
    const struct resolver_asker *asker)
{
	ok(type == RESOLVE_GROUPS, "it listens to answers about groups");
	r->asker = *asker;
}

void
resolver_wake(struct resolver *r)
{
	(void)r;
}

uint32_t
resolver_ask(struct resolver *r, enum resolve_kind kind, const char *name)
{
	if (r->full || kind != RESOLVE_UID)
		return 0;
	r->uids[++r->last_id] = (uint32_t)strtoul(name, NULL, 10);
	return r->last_id;
}

static struct resolver fake;
static struct parent_groups *groups;
static const struct groups_table *table;

static bool
answer(uint32_t id, enum resolve_status status, uint32_t gid, uint32_t n)
{
	static struct resolve_groups a;
	uint32_t i;

	a = (struct resolve_groups){ .id = id, .status = status, .gid = gid };
	a.n = n;
	for (i = 0; i < n && i < RESOLVE_GROUPS_MAX; i++)
		a.gids[i] = n - i; /* down to 1, unsorted */
	return fake.asker.hear(fake.asker.arg, RESOLVE_GROUPS, &a);
}

static enum groups_state
find(uint32_t uid, uint32_t *n)
{
	static uint32_t gids[GROUPS_MAX];
	struct groups g = { .gids = gids };
	bool old;
	enum groups_state state = groups_find(table, uid, &g, &old);

	*n = state == GROUPS_KNOWN ? g.n : 0;
	return state;
}

/* Asks for a user and has it answered. */
static void
learn(uint32_t uid, uint32_t n)
{
	parent_groups_want(groups, uid);
	(void)answer(fake.last_id, RESOLVE_FOUND, 1, n);
}

static void
answers(void)
{
	uint32_t n, asked;

	parent_groups_want(groups, 7);
	ok(fake.last_id == 1 && fake.uids[1] == 7, "a new user is asked for");
	ok(find(7, &n) == GROUPS_UNKNOWN, "it is not known meanwhile");
	parent_groups_want(groups, 7);
	ok(fake.last_id == 1, "it is asked for once");
	ok(answer(1, RESOLVE_FOUND, 3, 40) && find(7, &n) == GROUPS_KNOWN &&
		n == 40,
	    "40 groups");
	ok(!answer(1, RESOLVE_FOUND, 3, 1), "no second answer");
	ok(!answer(99, RESOLVE_FOUND, 3, 1), "none without a question");
	parent_groups_want(groups, 7);
	ok(fake.last_id == 1, "a young answer is not asked for again");
	now_ms += PARENT_GROUPS_OLD_MS + 1000;
	asked = fake.last_id;
	parent_groups_want(groups, 7);
	ok(fake.last_id == asked + 1, "an old one is");
	ok(answer(fake.last_id, RESOLVE_NONE, UINT32_MAX, 0) &&
		find(7, &n) == GROUPS_NONE,
	    "a user that is gone has none");
	parent_groups_want(groups, 8);
	ok(!answer(fake.last_id, RESOLVE_FOUND, 1, GROUPS_MAX + 1),
	    "an answer that is too long cannot be");
	ok(answer(fake.last_id, RESOLVE_FOUND, 1, GROUPS_MAX) &&
		find(8, &n) == GROUPS_KNOWN && n == GROUPS_MAX,
	    "as many groups as there is room for");
}

static void
silence(void)
{
	uint32_t n;

	learn(20, 5);
	now_ms += PARENT_GROUPS_OLD_MS + 1000;
	parent_groups_want(groups, 20);
	now_ms += PARENT_GROUPS_LATE_MS + 1;
	fake.asker.turn(fake.asker.arg);
	ok(table->silent == 1, "a late answer means that nobody waits");
	ok(find(20, &n) == GROUPS_KNOWN && n == 5, "the last answer counts");
	ok(answer(fake.last_id, RESOLVE_LATER, UINT32_MAX, 0) &&
		find(20, &n) == GROUPS_KNOWN,
	    "also if the directory says that it cannot answer");
	parent_groups_want(groups, 21);
	ok(answer(fake.last_id, RESOLVE_LATER, UINT32_MAX, 0) &&
		find(21, &n) == GROUPS_NONE,
	    "a user it never told of has no groups");
	now_ms += HOUR_MS - PARENT_GROUPS_OLD_MS - 10000;
	fake.asker.turn(fake.asker.arg);
	ok(find(20, &n) == GROUPS_KNOWN, "for almost an hour");
	now_ms += 20000;
	fake.asker.turn(fake.asker.arg);
	ok(find(20, &n) == GROUPS_NONE, "not after an hour");
	parent_groups_want(groups, 20);
	ok(answer(fake.last_id, RESOLVE_FOUND, 1, 6) &&
		find(20, &n) == GROUPS_KNOWN && n == 6 && table->silent == 0,
	    "until it answers again");
}

/* The files answer for their users, and the directory is down for the others. */
static void
half_silence(void)
{
	char text[2000] = "", *at = text;
	unsigned int i, lines = 0;
	int old = dup(STDERR_FILENO);
	FILE *f = tmpfile();

	if (old == -1 || f == NULL || dup2(fileno(f), STDERR_FILENO) == -1)
		BAIL_OUT("stderr");
	now_ms += PARENT_GROUPS_SAY_MS;
	for (i = 0; i < 50; i++) {
		parent_groups_want(groups, 40 + 2 * i);
		(void)answer(fake.last_id, RESOLVE_LATER, UINT32_MAX, 0);
		learn(41 + 2 * i, 1);
		fake.asker.turn(fake.asker.arg);
	}
	now_ms += PARENT_GROUPS_SAY_MS;
	fake.asker.turn(fake.asker.arg);
	(void)dup2(old, STDERR_FILENO);
	close(old);
	rewind(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	(void)fclose(f);
	while ((at = strchr(at, '\n')) != NULL) {
		at++;
		lines++;
	}
	ok(lines == 2 && strstr(text, "answers again\n") != NULL,
	    "the log has a line a minute about it, the last one is true");
}

static void
limits(void)
{
	uint32_t before = fake.last_id, uid, kept = 0, n, i, last;

	for (uid = 100; uid < 100 + 2 * PARENT_GROUPS_ASKED; uid++)
		parent_groups_want(groups, uid);
	ok(fake.last_id - before == PARENT_GROUPS_ASKED,
	    "so many questions at a time");
	fake.asker.lost(fake.asker.arg);
	ok(!answer(fake.last_id, RESOLVE_FOUND, 1, 1),
	    "a resolver that ended answers nothing");
	fake.asker.turn(fake.asker.arg);
	ok(fake.last_id - before == 2 * PARENT_GROUPS_ASKED,
	    "its questions are asked again");
	while (before < fake.last_id) {
		last = fake.last_id;
		for (i = before + 1; i <= last; i++)
			(void)answer(i, RESOLVE_FOUND, 1, 1);
		before = last;
		fake.asker.turn(fake.asker.arg);
	}
	for (uid = 100; uid < 100 + 2 * PARENT_GROUPS_ASKED; uid++)
		kept += find(uid, &n) == GROUPS_KNOWN;
	ok(kept == 2 * PARENT_GROUPS_ASKED,
	    "all users are answered in the end");
	/* Strangers replace strangers before they replace a user. */
	learn(30, 2);
	for (uid = 100000; uid < 100000 + 3000; uid++) {
		parent_groups_want(groups, uid);
		fake.last_id %= 4000;
		(void)answer(fake.last_id, RESOLVE_NONE, UINT32_MAX, 0);
	}
	ok(find(30, &n) == GROUPS_KNOWN,
	    "numbers without user replace no user");
}

static void
cleaning(void)
{
	uint32_t gids[] = { 9, 0, 5, UINT32_MAX, 9, 7 };

	ok(groups_clean(gids, 6) == 3 && gids[0] == 5 && gids[1] == 7 &&
		gids[2] == 9,
	    "groups are sorted and unique, without 0 and -1");
}

int
main(void)
{
	plan(NO_PLAN);
	groups = parent_groups_new(&fake);
	table = groups_map(parent_groups_fd(groups));
	answers();
	silence();
	half_silence();
	limits();
	cleaning();
	parent_groups_free(groups);
	done_testing();
}
