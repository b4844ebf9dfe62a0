/* SPDX-License-Identifier: ISC */
/*
 * The member that holds most: see base/rank.h.
 * Runs in: the process that reads the network.
 */
#include "base/rank.h"

/* Returns the number of binary digits of n. */
static unsigned int
group_of(unsigned int n)
{
	unsigned int group = 0;

	for (; n != 0; n >>= 1)
		group++;
	return group;
}

void
rank_init(struct rank *r)
{
	size_t i;

	for (i = 0; i < RANK_GROUPS; i++)
		TAILQ_INIT(&r->groups[i]);
}

void
rank_set(struct rank *r, struct rank_member *m, unsigned int n)
{
	unsigned int from = group_of(m->n), to = group_of(n);

	m->n = n;
	if (from == to)
		return;
	if (from != 0)
		TAILQ_REMOVE(&r->groups[from], m, entry);
	if (to != 0)
		TAILQ_INSERT_TAIL(&r->groups[to], m, entry);
}

void
rank_touch(struct rank *r, struct rank_member *m)
{
	unsigned int group = group_of(m->n);

	if (group == 0)
		return;
	TAILQ_REMOVE(&r->groups[group], m, entry);
	TAILQ_INSERT_TAIL(&r->groups[group], m, entry);
}

void *
rank_greatest(const struct rank *r)
{
	size_t i;

	for (i = RANK_GROUPS; i-- > 0;)
		if (!TAILQ_EMPTY(&r->groups[i]))
			return TAILQ_FIRST(&r->groups[i])->owner;
	return NULL;
}
