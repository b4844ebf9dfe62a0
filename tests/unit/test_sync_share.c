/* SPDX-License-Identifier: ISC */
/*
 * Calls that wait for the same file share one sync, and none uses a sync that
 * began before its own change.
 * Runs in: tests.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "nfsd/door/sync_share.h"
#include "tap.h"

#define CALLS	7
#define THREADS 8
#define CHANGES 2000

static struct sync_share share;
static const int file_a, file_b;

struct call {
	pthread_t thread;
	const void *file;
	int result; /* what its own sync returns */
	bool led;
	int error;
};

static void *
run(void *arg)
{
	struct call *c = arg;
	struct sync_turn turn;

	c->led = sync_share_begin(&share, c->file, &turn);
	if (c->led)
		sync_share_end(&share, &turn, c->result);
	c->error = turn.error;
	return NULL;
}

/* How many calls have come and have not been answered. */
static unsigned int
present(void)
{
	struct sync_turn *t;
	unsigned int n = 0;

	pthread_mutex_lock(&share.lock);
	TAILQ_FOREACH (t, &share.turns, entry)
		n++;
	pthread_mutex_unlock(&share.lock);
	return n;
}

/* While one sync runs, others come: one sync serves them all. */
static void
waiting(void)
{
	struct call calls[CALLS] = { 0 };
	struct sync_turn first, other;
	unsigned int led = 0, failed = 0, i;

	ok(sync_share_begin(&share, &file_a, &first), "the first call syncs");
	for (i = 0; i < CALLS; i++) {
		calls[i].file = &file_a;
		calls[i].result = EIO;
		pthread_create(&calls[i].thread, NULL, run, &calls[i]);
	}
	while (present() < CALLS + 1)
		continue;
	ok(sync_share_begin(&share, &file_b, &other),
	    "another file is synced meanwhile");
	sync_share_end(&share, &other, 0);
	cmp_ok(present(), "==", CALLS + 1,
	    "calls wait while a sync runs that began before them");
	sync_share_end(&share, &first, 0);
	for (i = 0; i < CALLS; i++) {
		pthread_join(calls[i].thread, NULL);
		led += calls[i].led;
		failed += calls[i].error == EIO;
	}
	cmp_ok(first.error, "==", 0, "the first call has its own result");
	cmp_ok(led, "==", 1, "one of %d calls syncs for all", CALLS);
	cmp_ok(failed, "==", CALLS, "all of them get its result");
	cmp_ok(present(), "==", 0, "none is left");
}

static atomic_uint changed, synced, syncs;
static atomic_bool stale;

/* A change is a number; a sync writes all numbers so far. */
static void *
change(void *arg)
{
	struct sync_turn turn;
	unsigned int mine, now;
	int i;

	for (i = 0; i < CHANGES; i++) {
		mine = atomic_fetch_add(&changed, 1) + 1;
		if (sync_share_begin(&share, arg, &turn)) {
			now = atomic_load(&changed);
			atomic_fetch_add(&syncs, 1);
			atomic_store(&synced, now);
			sync_share_end(&share, &turn, 0);
		}
		if (atomic_load(&synced) < mine)
			atomic_store(&stale, true);
	}
	return NULL;
}

static void
many(void)
{
	pthread_t threads[THREADS];
	static int file;
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, change, &file);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(!atomic_load(&stale), "each of %d changes was synced after it",
	    THREADS * CHANGES);
	cmp_ok(atomic_load(&syncs), "<=", THREADS * CHANGES,
	    "no call synced twice");
	cmp_ok(present(), "==", 0, "none is left");
}

int
main(void)
{
	plan(NO_PLAN);
	sync_share_init(&share);
	waiting();
	many();
	sync_share_clear(&share);
	done_testing();
}
