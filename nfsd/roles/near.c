/* SPDX-License-Identifier: ISC */
/*
 * Near nlm: see roles/near.h.
 * Runs in: nfsd locks, tests.
 */
#include "nfsd/roles/near.h"

void
near_init(struct near *near)
{
	*near = (struct near){ .cpu = NEAR_ANY, .last = NEAR_ANY };
}

bool
near_note(struct near *near, uint32_t cpu, bool alone)
{
	uint32_t old = near->cpu;

	if (!alone || cpu != near->last)
		near->n = 0;
	near->last = cpu;
	if (alone && near->n < NEAR_AFTER)
		near->n++;
	near->cpu = near->n < NEAR_AFTER ? NEAR_ANY : cpu;
	return near->cpu != old;
}
