/* SPDX-License-Identifier: ISC */
/*
 * The member that holds most, against a search of all.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rank.h"
#include "tap.h"

#define MEMBERS 50

static void
test_order(void)
{
	struct rank r;
	struct rank_member a = { .owner = &a }, b = { .owner = &b };

	rank_init(&r);
	ok(rank_greatest(&r) == NULL, "no member holds anything");
	rank_set(&r, &a, 1);
	rank_set(&r, &b, 1);
	ok(rank_greatest(&r) == &a, "among equals the first");
	rank_touch(&r, &a);
	ok(rank_greatest(&r) == &b, "a touched member is the last");
	rank_set(&r, &a, 2);
	ok(rank_greatest(&r) == &a, "a member with more comes first");
	rank_set(&r, &a, 0);
	rank_touch(&r, &a);
	ok(rank_greatest(&r) == &b, "a member without any is no answer");
	rank_set(&r, &b, 0);
	ok(rank_greatest(&r) == NULL, "all are gone");
}

static void
test_half(void)
{
	struct rank r;
	static struct rank_member m[MEMBERS];
	struct rank_member *best;
	unsigned int i, j, most, bad = 0;

	rank_init(&r);
	memset(m, 0, sizeof(m));
	srandom(1);
	for (i = 0; i < MEMBERS; i++)
		m[i].owner = &m[i];
	for (i = 0; i < 10000; i++) {
		rank_set(&r, &m[random() % MEMBERS],
		    (unsigned int)random() % 5000);
		for (j = most = 0; j < MEMBERS; j++)
			if (m[j].n > most)
				most = m[j].n;
		best = rank_greatest(&r);
		bad += best == NULL ? most != 0 : best->n * 2 < most;
	}
	cmp_ok(bad, "==", 0, "the answer holds at least half of the most");
}

int
main(void)
{
	plan(NO_PLAN);
	test_order();
	test_half();
	done_testing();
}
