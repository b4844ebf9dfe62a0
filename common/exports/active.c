/* SPDX-License-Identifier: ISC */
/*
 * The active list of exports: a pointer under a lock, and a count of users.
 * Runs in: mountd worker, nfsd worker, nfsd broker.
 */
#include <stdlib.h>

#include "exports/active.h"

struct served_exports *
active_list_new(struct exports *conf, void (*clear)(struct served_exports *))
{
	struct served_exports *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	atomic_init(&x->users, 1);
	x->conf = conf;
	x->clear = clear;
	return x;
}

void
active_init(struct active *a)
{
	pthread_mutex_init(&a->lock, NULL);
	a->list = NULL;
	atomic_init(&a->generation, 0);
}

void
active_clear(struct active *a)
{
	active_done(a->list);
	pthread_mutex_destroy(&a->lock);
}

void
active_swap(struct active *a, struct served_exports *x)
{
	struct served_exports *old;

	pthread_mutex_lock(&a->lock);
	old = a->list;
	a->list = x;
	atomic_fetch_add(&a->generation, 1);
	if (x != NULL)
		x->generation = atomic_load(&a->generation);
	pthread_mutex_unlock(&a->lock);
	active_done(old);
}

struct served_exports *
active_use(struct active *a)
{
	struct served_exports *x;

	pthread_mutex_lock(&a->lock);
	x = a->list;
	if (x != NULL)
		atomic_fetch_add(&x->users, 1);
	pthread_mutex_unlock(&a->lock);
	return x;
}

void
active_done(struct served_exports *x)
{
	if (x == NULL || atomic_fetch_sub(&x->users, 1) != 1)
		return;
	x->clear(x);
	exports_free(x->conf);
	free(x);
}

void
active_take(struct active *a, struct active_hold *h)
{
	struct served_exports *x = active_use(a);

	/* First, or active_release() could take a new list for stale. */
	atomic_store(&h->generation, x == NULL ? 0 : x->generation);
	active_done(atomic_exchange(&h->list, x));
}

/*
 * The thread of the hold may begin a call at the same time. It then finds that
 * its list is stale and exchanges it for the active list. The thread that takes
 * the stale list out of the hold ends its use.
 */
bool
active_release(struct active *a, struct active_hold *h)
{
	struct served_exports *old = atomic_load(&h->list);

	if (old == NULL ||
	    atomic_load(&h->generation) == atomic_load(&a->generation) ||
	    !atomic_compare_exchange_strong(&h->list, &old, NULL))
		return false;
	active_done(old);
	return true;
}
