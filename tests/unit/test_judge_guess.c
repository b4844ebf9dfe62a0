/* SPDX-License-Identifier: ISC */
/*
 * How probable it is to find a handle by guessing, from the rates that the door
 * permits; and what the door does with guesses.
 * Runs in: tests.
 */
#include "door_call.h"
#include "nfsd/judge/guess.h"
#include "tap.h"

#define DAY 86400

/* Counts the tries of a day at line rate: one each millisecond suffices. */
static double
tries_of_a_day(enum fh_kind kind)
{
	const struct bucket_rate *rate = &guess_allowances[kind].all;
	struct bucket b = { .at_ms = 0 };
	uint64_t ms, tries = 0;

	for (ms = 1; ms <= DAY * UINT64_C(1000); ms++)
		while (tries < UINT64_C(1) << 40 &&
		    bucket_take(&b, rate, 1, ms))
			tries++;
	return (double)tries;
}

static void
test_probability(void)
{
	double player = tries_of_a_day(FH_PLAYER) / (1 << 24);
	double inode = tries_of_a_day(FH_INODE) / 4294967296.0;

	ok(player > 0.005 && player < 0.011,
	    "a day of guesses finds a player's handle in 1 of 100 cases (%.4f)",
	    player);
	ok(inode > 0.001 && inode < 0.0021,
	    "and an inode handle in 2 of 1000 cases (%.4f)", inode);
	ok(guess_allowances[FH_PLAYER].client.per_second <
		    guess_allowances[FH_PLAYER].all.per_second &&
		guess_allowances[FH_INODE].client.per_second <
		    guess_allowances[FH_INODE].all.per_second,
	    "one client does not use up the tries of all");
}

static void
test_door(void)
{
	struct door_call c;
	struct fh right;
	unsigned int i, answered = 0;

	door_call_init(&c, "rw,insecure,no_root_squash");
	right = c.root;
	for (i = 0; i < 3000; i++) {
		c.root.bytes[FH_SIZE - 1]++;
		if (i % 256 == 255)
			c.root.bytes[FH_SIZE - 2]++;
		c.call.silent = c.call.refused = false;
		if (door_call_try(&c, 0) != NFSERR_STALE)
			break;
		answered += !c.call.silent;
	}
	cmp_ok(i, "==", 3000, "wrong tags are refused");
	cmp_ok(answered, ">=", 1024, "some of them are answered (%u)",
	    answered);
	cmp_ok(answered, "<", 3000, "not all");
	ok(c.call.refused, "the reply is not kept");
	c.root = right;
	c.call.silent = c.call.refused = false;
	ok(door_call_try(&c, 0) == NFS_OK && !c.call.silent && !c.call.refused,
	    "the right one is answered");
	door_call_clear(&c);
}

int
main(void)
{
	plan(NO_PLAN);
	test_probability();
	test_door();
	done_testing();
}
