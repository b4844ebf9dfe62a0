/* SPDX-License-Identifier: ISC */
/*
 * File threads: each job runs once and ends in the event loop, and the queue is
 * bounded.
 * Runs in: tests.
 */
#include <semaphore.h>
#include <stdatomic.h>

#include <event2/event.h>

#include "rpc/pool.h"
#include "tap.h"

#define THREADS 4
#define JOBS	1000
#define QUEUE	64

struct counted {
	struct rpc_job job;
	unsigned int ran, done, thread;
};

static struct counted jobs[JOBS];
static atomic_uint inits;
static unsigned int finished;
static _Thread_local unsigned int my_number;

static void
init(void *arg, unsigned int thread)
{
	my_number = thread;
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void
run(struct rpc_job *job, unsigned int thread)
{
	struct counted *c = (struct counted *)(void *)job;

	c->ran++;
	c->thread = thread == my_number ? thread : 0;
}

static void
done(struct rpc_job *job)
{
	((struct counted *)(void *)job)->done++;
	finished++;
}

static sem_t gate;
static atomic_uint entered;

static void
run_gated(struct rpc_job *job, unsigned int thread)
{
	if (job->queue == 1) { /* the export that hangs */
		atomic_fetch_add(&entered, 1);
		while (sem_wait(&gate) == -1)
			;
	}
	run(job, thread);
}

/* Submits a job that waits in its queue at the gate, or passes it. */
static bool
submit(struct rpc_pool *pool, struct counted *c, unsigned int queue,
    size_t size)
{
	*c = (struct counted){ .ran = 0 };
	c->job.run = run_gated;
	c->job.done = done;
	c->job.queue = queue;
	c->job.size = size;
	return rpc_pool_submit(pool, &c->job);
}

/* Submits jobs of one queue until there is no room. Returns how many. */
static unsigned int
fill(struct rpc_pool *pool, struct counted *list, unsigned int queue,
    size_t size)
{
	unsigned int n = 0;

	while (n < JOBS && submit(pool, &list[n], queue, size))
		n++;
	return n;
}

static void
wait_finished(struct event_base *base, unsigned int n)
{
	while (finished < n)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

static void
open_gate(struct event_base *base, struct rpc_pool *pool, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		(void)sem_post(&gate);
	wait_finished(base, n);
	rpc_pool_free(pool);
	(void)sem_destroy(&gate);
}

static struct rpc_pool *
gated_pool(struct event_base *base, size_t queue_max)
{
	(void)sem_init(&gate, 0, 0);
	atomic_store(&entered, 0);
	finished = 0;
	return rpc_pool_new(base, THREADS, queue_max, NULL, NULL);
}

/* An export that hangs leaves threads to the others. */
static void
test_queues(struct event_base *base)
{
	struct counted slow[6], quick;
	struct rpc_pool *pool = gated_pool(base, QUEUE);
	unsigned int i;

	for (i = 0; i < 6; i++)
		(void)submit(pool, &slow[i], 1, 0);
	(void)submit(pool, &quick, 0, 0);
	wait_finished(base, 1);
	cmp_ok(quick.done, "==", 1, "a job of another queue overtakes");
	cmp_ok(atomic_load(&entered), "<=", 3,
	    "one queue occupies three of four threads");
	finished = 0;
	open_gate(base, pool, 6);
	cmp_ok(atomic_load(&entered), "==", 6, "all jobs run in the end");
}

/* An export that hangs leaves places for the calls of others. */
static void
test_places(struct event_base *base)
{
	struct counted other[QUEUE];
	struct rpc_pool *pool = gated_pool(base, QUEUE);
	unsigned int i, n, slow, room;

	slow = fill(pool, jobs, 1, 0);
	ok(slow >= QUEUE / 2 && slow < QUEUE,
	    "one queue does not take all places (%u of %u)", slow, QUEUE);
	for (i = n = 0; i < QUEUE; i++) {
		/* 65 shares its place in the table with 1, but not the queue */
		n += submit(pool, &other[i], 65, 0);
		wait_finished(base, n);
	}
	cmp_ok(n, "==", QUEUE, "the jobs of another are all accepted and run");
	room = 0;
	for (i = 2; i < 6; i++)
		room += rpc_pool_has_room(pool, i, 0, 0);
	cmp_ok(room, "==", 4, "so are those of further ones");
	finished = 0;
	open_gate(base, pool, slow);
}

/* The memory of waiting calls has one bound for all exports. */
static void
test_bytes(struct event_base *base)
{
	static struct counted all[8][128];
	struct rpc_pool *pool = gated_pool(base, 4096);
	size_t mib = 1024 * 1024;
	unsigned int i, n[8], sum = 0;

	for (i = 0; i < 8; i++) {
		n[i] = fill(pool, all[i], 1 + 64 * i, mib);
		sum += n[i];
	}
	ok(n[0] >= 32 && n[0] * mib < RPC_POOL_BYTES_MAX,
	    "one queue does not take all memory (%u MiB)", n[0]);
	ok(n[1] > 0 && n[2] > 0, "two more get some (%u, %u)", n[1], n[2]);
	cmp_ok(sum * mib, "<=", RPC_POOL_BYTES_MAX,
	    "eight queues together keep the bound of the process");
	open_gate(base, pool, n[0]);
}

static unsigned int order[JOBS], norder;
static atomic_uint together, most;

/* Only one thread at a time runs this, so order needs no lock. */
static void
run_in_turn(struct rpc_job *job, unsigned int thread)
{
	unsigned int n = atomic_fetch_add(&together, 1) + 1;

	if (n > atomic_load(&most))
		atomic_store(&most, n);
	if (norder == 0) {
		atomic_fetch_add(&entered, 1);
		while (sem_wait(&gate) == -1)
			;
	}
	order[norder++] = (unsigned int)((struct counted *)(void *)job - jobs);
	run(job, thread);
	atomic_fetch_sub(&together, 1);
}

/* Jobs in turn run one after the other; the other jobs do not wait for them. */
static void
test_in_turn(struct event_base *base)
{
	struct rpc_pool *pool = gated_pool(base, JOBS * 2);
	struct counted other;
	unsigned int i, bad;

	for (i = 0; i < JOBS; i++) {
		jobs[i] = (struct counted){ .ran = 0 };
		jobs[i].job.run = run_in_turn;
		jobs[i].job.done = done;
		jobs[i].job.queue = 2;
		jobs[i].job.turn = 1;
		(void)rpc_pool_submit(pool, &jobs[i].job);
	}
	while (atomic_load(&entered) == 0)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)submit(pool, &other, 2, 0);
	wait_finished(base, 1);
	cmp_ok(other.done, "==", 1, "a job that is not in turn overtakes");
	(void)sem_post(&gate);
	wait_finished(base, JOBS + 1);
	for (i = bad = 0; i < JOBS; i++)
		bad += order[i] != i || jobs[i].done != 1;
	cmp_ok(bad, "==", 0, "jobs in turn run once each and in order");
	cmp_ok(atomic_load(&most), "==", 1, "never two of them together");
	rpc_pool_free(pool);
	(void)sem_destroy(&gate);
}

int
main(void)
{
	struct event_base *base;
	struct rpc_pool *pool;
	unsigned int i, bad;

	plan(NO_PLAN);
	base = event_base_new();
	pool = rpc_pool_new(base, THREADS, QUEUE, init, &inits);
	cmp_ok(atomic_load(&inits), "==", THREADS, "init ran on every thread");
	for (i = 0; i < JOBS; i++) {
		jobs[i].job.run = run;
		jobs[i].job.done = done;
		while (!rpc_pool_submit(pool, &jobs[i].job))
			(void)event_base_loop(base, EVLOOP_NONBLOCK);
	}
	while (finished < JOBS - QUEUE)
		(void)event_base_loop(base, EVLOOP_ONCE);
	rpc_pool_free(pool);
	cmp_ok(finished, "==", JOBS,
	    "all jobs finish before the pool is freed");
	for (i = bad = 0; i < JOBS; i++)
		if (jobs[i].ran != 1 || jobs[i].done != 1 ||
		    jobs[i].thread < 1 || jobs[i].thread > THREADS)
			bad++;
	cmp_ok(bad, "==", 0,
	    "each job ran once, on a thread with a valid number");
	test_queues(base);
	test_places(base);
	test_bytes(base);
	test_in_turn(base);
	rpc_pool_free(NULL);
	dies_ok(rpc_pool_new(base, 0, 1, NULL, NULL),
	    "a pool without threads is fatal");
	dies_ok(rpc_pool_new(base, RPC_POOL_THREADS_MAX + 1, 1, NULL, NULL),
	    "a pool with too many threads is fatal");
	event_base_free(base);
	done_testing();
}
