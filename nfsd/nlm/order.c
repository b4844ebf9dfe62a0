/* SPDX-License-Identifier: ISC */
/*
 * Calls on file threads, by owner: see nlm/order.h.
 * Runs in: nfsd nlm (event loop and file threads), tests.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "nfsd/nlm/order.h"

struct order_entry {
	struct order_entry *next;
	uint64_t owner, at_ns;
};

void
order_init(struct order *o)
{
	*o = (struct order){ .buckets = { NULL } };
	hash_key_random(&o->key);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->ended, NULL);
}

static bool
is_old(const struct order_entry *e, uint64_t now_ns)
{
	return e->at_ns + ORDER_MS * UINT64_C(1000000) <= now_ns;
}

/* A call that finds no memory for its reply ends without a word. */
static void
forget_old(struct order_entry **at, uint64_t now_ns)
{
	struct order_entry *e;

	while ((e = *at) != NULL) {
		if (!is_old(e, now_ns)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free(e);
	}
}

/* Without memory the call is in no order. */
void
order_add(struct order *o, uint64_t owner, uint64_t at_ns)
{
	struct order_entry **at = &o->buckets[owner % ORDER_BUCKETS],
			   *e = malloc(sizeof(*e));

	if (e == NULL)
		return;
	pthread_mutex_lock(&o->lock);
	forget_old(at, at_ns);
	*e = (struct order_entry){ *at, owner, at_ns };
	*at = e;
	pthread_mutex_unlock(&o->lock);
}

void
order_remove(struct order *o, uint64_t owner, uint64_t at_ns)
{
	struct order_entry **at = &o->buckets[owner % ORDER_BUCKETS], *e;

	pthread_mutex_lock(&o->lock);
	while (*at != NULL && ((*at)->owner != owner || (*at)->at_ns != at_ns))
		at = &(*at)->next;
	e = *at;
	if (e != NULL)
		*at = e->next;
	pthread_cond_broadcast(&o->ended);
	pthread_mutex_unlock(&o->lock);
	free(e);
}

/* With the mutex. */
static bool
has(const struct order *o, uint64_t owner, uint64_t before_ns)
{
	const struct order_entry *e = o->buckets[owner % ORDER_BUCKETS];

	while (e != NULL &&
	    (e->owner != owner || e->at_ns >= before_ns ||
		is_old(e, before_ns)))
		e = e->next;
	return e != NULL;
}

bool
order_has(struct order *o, uint64_t owner, uint64_t before_ns)
{
	bool found;

	pthread_mutex_lock(&o->lock);
	found = has(o, owner, before_ns);
	pthread_mutex_unlock(&o->lock);
	return found;
}

void
order_wait(struct order *o, uint64_t owner, uint64_t before_ns)
{
	struct timespec until = clock_after(ORDER_MS);

	pthread_mutex_lock(&o->lock);
	while (has(o, owner, before_ns) &&
	    pthread_cond_clockwait(&o->ended, &o->lock, CLOCK_MONOTONIC,
		&until) == 0)
		continue;
	pthread_mutex_unlock(&o->lock);
}
