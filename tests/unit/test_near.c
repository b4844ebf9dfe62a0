/* SPDX-License-Identifier: ISC */
/*
 * Where a thread of the locks role runs, by the questions that it gets.
 * Links: nfsd
 * Runs in: tests.
 */
#include "nfsd/near.h"
#include "tap.h"

/* Asks n times. Returns how often the thread had to change its place. */
static unsigned int
ask(struct near *near, uint32_t cpu, bool alone, unsigned int n)
{
	unsigned int changes = 0;

	while (n-- > 0)
		changes += near_note(near, cpu, alone);
	return changes;
}

static void
test_trail(void)
{
	struct near_trail t;
	unsigned int i, moves;
	uint32_t before;

	near_trail_init(&t);
	cmp_ok(near_trail_follow(&t, 7, 1), "==", 1,
	    "nlm goes where packets arrive");
	for (i = 0; i < 10; i++)
		(void)near_trail_follow(&t, 7, 1);
	cmp_ok(near_trail_follow(&t, 7, 3), "==", 3,
	    "and goes after them when that changes");
	for (i = 0; i < 10; i++) {
		(void)near_trail_follow(&t, 7, 3);
		if (near_trail_follow(&t, 7, i) != i ||
		    near_trail_follow(&t, 7, i) != i)
			break;
	}
	cmp_ok(i, "==", 10, "however often, if they stay for a while");
	near_trail_init(&t);
	for (i = moves = 0; i < 10 * NEAR_REST; i++) {
		before = t.cpu;
		moves +=
		    near_trail_follow(&t, 7, before == 1 ? 0 : 1) != before;
	}
	cmp_ok(moves, "<=", 10 * (NEAR_CHASE + 2),
	    "nlm does not go after a client that flees");
	while (t.rest == 0)
		(void)near_trail_follow(&t, 7, t.cpu == 1 ? 0 : 1);
	cmp_ok(near_trail_follow(&t, 7, 3), "==", NEAR_ANY, "it rests");
	cmp_ok(near_trail_follow(&t, 8, 3), "==", 3,
	    "but goes after another connection at once");
	while (t.rest == 0)
		(void)near_trail_follow(&t, 7, t.cpu == 1 ? 0 : 1);
	for (i = 0; i < NEAR_REST; i++)
		(void)near_trail_follow(&t, 7, 3);
	cmp_ok(near_trail_follow(&t, 7, 3), "==", 3,
	    "and after the same one some time later");
	near_trail_init(&t);
	for (i = 0; i < 10; i++) {
		(void)near_trail_follow(&t, 7, 5);
		if (near_trail_follow(&t, 7, NEAR_ANY) != NEAR_ANY)
			break;
	}
	cmp_ok(i, "==", 10, "nothing is known of a datagram");
}

int
main(void)
{
	struct near near;
	unsigned int i, changes = 0;

	plan(NO_PLAN);
	near_init(&near);
	ok(ask(&near, 3, true, NEAR_AFTER - 1) == 0 && near.cpu == NEAR_ANY,
	    "a few questions change nothing");
	ok(ask(&near, 3, true, 1) == 1 && near.cpu == 3,
	    "after many, each alone, the thread stays near nlm");
	ok(ask(&near, 3, true, 1000) == 0 && near.cpu == 3,
	    "as long as they do");
	ok(ask(&near, 3, false, 1) == 1 && near.cpu == NEAR_ANY,
	    "several at once: it may run anywhere");
	ok(ask(&near, 3, false, 1000) == 0 && near.cpu == NEAR_ANY,
	    "as long as they do");
	(void)ask(&near, 3, true, NEAR_AFTER);
	ok(ask(&near, 1, true, 1) == 1 && near.cpu == NEAR_ANY,
	    "nlm moves: the thread may run anywhere");
	ok(ask(&near, 1, true, NEAR_AFTER - 1) == 1 && near.cpu == 1,
	    "and follows if nlm stays");
	near_init(&near);
	for (i = 0; i < 1000; i++)
		changes += near_note(&near, i % 2, true);
	cmp_ok(changes, "==", 0, "it does not follow to and fro");
	test_trail();
	done_testing();
}
