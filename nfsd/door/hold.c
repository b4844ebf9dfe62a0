/* SPDX-License-Identifier: ISC */
/*
 * Which exports a call sees. All objects of one call belong to the same list.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include "nfsd/door/state.h"

bool
door_hold(struct door_thread *t, bool pinned)
{
	if (!judge_hold(&t->judge, pinned))
		return false;
	t->export = NULL;
	t->caller_under = NULL;
	return true;
}

/* A thread without a call must not keep the roots of an old list open. */
static void
release_exports(struct door_thread *t)
{
	/* The thread clears its export in door_hold(). */
	if (atomic_load(&t->open) == 0)
		(void)active_release(&t->door->judge.active, &t->judge.held);
}

void
door_set_exports(struct door *door, struct served_exports *x)
{
	unsigned int i;

	judge_set_exports(&door->judge, x);
	cache_set_generation(door->cache,
	    atomic_load(&door->judge.active.generation));
	for (i = 0; i <= door->nthreads; i++)
		release_exports(&door->threads[i]);
}

void
door_release_idle(struct door *door)
{
	unsigned int i;

	for (i = 0; i <= door->nthreads; i++)
		release_exports(&door->threads[i]);
}
