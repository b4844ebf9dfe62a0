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
	if (job->queue == 1) {
		atomic_fetch_add(&entered, 1);
		while (sem_wait(&gate) == -1)
			;
	}
	run(job, thread);
}

/* An export that hangs leaves threads to the others. */
static void
test_queues(struct event_base *base)
{
	struct counted slow[6] = { 0 }, quick = { .ran = 0 };
	struct rpc_pool *pool;
	unsigned int i;

	(void)sem_init(&gate, 0, 0);
	finished = 0;
	pool = rpc_pool_new(base, THREADS, QUEUE, NULL, NULL);
	for (i = 0; i < 6; i++) {
		slow[i].job = (struct rpc_job){
			.run = run_gated, .done = done, .queue = 1
		};
		(void)rpc_pool_submit(pool, &slow[i].job);
	}
	quick.job = (struct rpc_job){ .run = run_gated, .done = done };
	(void)rpc_pool_submit(pool, &quick.job);
	while (finished == 0)
		(void)event_base_loop(base, EVLOOP_ONCE);
	cmp_ok(quick.done, "==", 1, "a job of another queue overtakes");
	cmp_ok(atomic_load(&entered), "<=", 3,
	    "one queue occupies three of four threads");
	for (i = 0; i < 6; i++)
		(void)sem_post(&gate);
	while (finished < 7)
		(void)event_base_loop(base, EVLOOP_ONCE);
	cmp_ok(atomic_load(&entered), "==", 6, "all jobs run in the end");
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
	rpc_pool_free(NULL);
	dies_ok(rpc_pool_new(base, 0, 1, NULL, NULL),
	    "a pool without threads is fatal");
	dies_ok(rpc_pool_new(base, RPC_POOL_THREADS_MAX + 1, 1, NULL, NULL),
	    "a pool with too many threads is fatal");
	event_base_free(base);
	done_testing();
}
