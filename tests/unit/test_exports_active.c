/* SPDX-License-Identifier: ISC */
/*
 * The active list of exports: used, swapped and freed in every order, and by
 * several threads at once.
 * Runs in: test programs only.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "exports/active.h"
#include "tap.h"

#define THREADS 4
#define SWAPS	2000
#define ALIVE	0x6f6bu

struct served_export {
	unsigned int alive;
};

static _Atomic int freed;

static void
clear(struct served_exports *x)
{
	x->list[0].alive = 0;
	free(x->list);
	atomic_fetch_add(&freed, 1);
}

static struct served_exports *
list(void)
{
	static const struct exports_hooks quiet;
	struct served_exports *x =
	    active_list_new(exports_parse("/a *\n", 5, &quiet), clear);

	if (x == NULL || (x->list = calloc(1, sizeof(*x->list))) == NULL)
		BAIL_OUT("no memory");
	x->list[0].alive = ALIVE;
	x->n = 1;
	return x;
}

static int
freed_now(void)
{
	return atomic_exchange(&freed, 0);
}

static void
check_users(void)
{
	struct served_exports *first = list(), *second = list(), *x, *y;
	struct active a;

	active_init(&a);
	ok(active_use(&a) == NULL, "there is no list at first");
	active_done(NULL);
	active_swap(&a, first);
	x = active_use(&a);
	y = active_use(&a);
	ok(x == first && y == first, "two users get one list");
	active_done(y);
	active_swap(&a, second);
	cmp_ok(freed_now(), "==", 0, "a list in use outlives its successor");
	cmp_ok(x->list[0].alive, "==", ALIVE, "it can still be read");
	active_done(x);
	cmp_ok(freed_now(), "==", 1, "the last user frees it");
	cmp_ok(a.list->generation, "!=", 1, "each list has its own generation");
	active_swap(&a, NULL);
	cmp_ok(freed_now(), "==", 1, "a list without users is freed at once");
	ok(active_use(&a) == NULL, "there is no list then");
	active_clear(&a);
	active_init(&a);
	active_swap(&a, list());
	active_clear(&a);
	cmp_ok(freed_now(), "==", 1, "the end frees the active list");
}

static void
check_hold(void)
{
	struct served_exports *first = list(), *second = list();
	struct active_hold h;
	struct active a;

	memset(&h, 0, sizeof(h));
	active_init(&a);
	ok(active_hold(&a, &h, false) && h.list == NULL,
	    "a holder gets no list if there is none");
	active_swap(&a, first);
	ok(active_hold(&a, &h, true) && h.list == first,
	    "a pinned holder without a list gets the first one");
	ok(!active_hold(&a, &h, false),
	    "a holder of the active list does not change");
	ok(!active_release(&a, &h),
	    "the active list is not taken from its holder");
	active_swap(&a, second);
	ok(!active_hold(&a, &h, true) && h.list == first,
	    "a pinned list stays after a swap");
	cmp_ok(freed_now(), "==", 0, "it is not freed");
	ok(active_hold(&a, &h, false) && h.list == second,
	    "a holder that is not pinned gets the active list");
	cmp_ok(freed_now(), "==", 1, "the old list is freed");
	active_swap(&a, list());
	ok(active_release(&a, &h) && h.list == NULL,
	    "an old list is taken from its holder");
	cmp_ok(freed_now(), "==", 1, "it is freed");
	ok(!active_release(&a, &h), "it is taken once");
	ok(active_hold(&a, &h, false) && h.list != NULL,
	    "the holder gets the active list then");
	active_done(h.list);
	active_clear(&a);
	cmp_ok(freed_now(), "==", 1, "all lists are freed");
}

static struct active shared;
static _Atomic bool stop;
static _Atomic int dead; /* freed lists that a thread saw */

static void *
user(void *arg UNUSED)
{
	struct active_hold h;
	struct served_exports *x;

	memset(&h, 0, sizeof(h));
	while (!atomic_load(&stop)) {
		(void)active_hold(&shared, &h, false);
		if (atomic_load(&h.list)->list[0].alive != ALIVE)
			atomic_fetch_add(&dead, 1);
		x = active_use(&shared);
		if (x->list[0].alive != ALIVE)
			atomic_fetch_add(&dead, 1);
		active_done(x);
	}
	active_done(h.list);
	return NULL;
}

static void
check_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	active_init(&shared);
	active_swap(&shared, list());
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, user, NULL) != 0)
			BAIL_OUT("no thread");
	for (i = 0; i < SWAPS; i++) {
		active_swap(&shared, list());
		(void)sched_yield();
	}
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	active_clear(&shared);
	cmp_ok(dead, "==", 0, "no thread saw a freed list");
	cmp_ok(freed_now(), "==", SWAPS + 1, "each list was freed once");
}

int
main(void)
{
	check_users();
	check_hold();
	check_threads();
	done_testing();
}
