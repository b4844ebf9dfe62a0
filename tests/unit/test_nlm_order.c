/* SPDX-License-Identifier: ISC */
/*
 * Calls of one owner on file threads: the next waits for those before it, and for
 * no others. Links: nfsd
 * Runs in: tests.
 */
#include <stdatomic.h>

#include "base/util.h"
#include "nfsd/nlm/order.h"
#include "tap.h"

#define OWNER 77
#define OTHER (OWNER + ORDER_BUCKETS) /* in the same bucket */
#define LATER (40 + ORDER_MS * UINT64_C(1000000))

static struct order order;
static atomic_bool passed;

static void *
wait_for_turn(void *arg UNUSED)
{
	order_wait(&order, OWNER, 30);
	atomic_store(&passed, true);
	return NULL;
}

int
main(void)
{
	pthread_t thread;
	bool early;

	plan(NO_PLAN);
	order_init(&order);
	ok(!order_has(&order, OWNER, 100), "nothing is on a file thread");
	order_add(&order, OWNER, 10);
	order_add(&order, OWNER, 20);
	order_add(&order, OTHER, 5);
	ok(order_has(&order, OWNER, 30), "two calls of the owner are");
	ok(!order_has(&order, OWNER, 10), "none came before the first");
	order_wait(&order, OWNER, 10);
	ok(1, "so the first waits for none");
	if (pthread_create(&thread, NULL, wait_for_turn, NULL) != 0)
		BAIL_OUT("thread");
	order_remove(&order, OWNER, 20);
	ok(order_has(&order, OWNER, 30), "the second ends first");
	early = atomic_load(&passed);
	order_remove(&order, OWNER, 10);
	pthread_join(thread, NULL);
	ok(!early && atomic_load(&passed), "the third waits for both");
	order_remove(&order, OWNER, 10);
	ok(order_has(&order, OTHER, 6), "the call of another is not theirs");
	order_remove(&order, OTHER, 5);
	ok(!order_has(&order, OTHER, 6), "all have ended");
	order_add(&order, OWNER, 40);
	ok(order_has(&order, OWNER, LATER - 1), "one that hangs counts");
	ok(!order_has(&order, OWNER, LATER), "but not for ever");
	order_add(&order, OTHER, LATER);
	ok(!order_has(&order, OWNER, 50), "and then it is forgotten");
	done_testing();
}
