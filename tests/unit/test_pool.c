/* SPDX-License-Identifier: ISC */
/*
 * File threads: each job runs once and ends in the event loop, and the queue is
 * bounded. The loop goes on when a job keeps its thread.
 * Runs in: tests.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "pool/pool.h"
#include "tap.h"

#define THREADS 4
#define JOBS	1000
#define QUEUE	64
#define MANY	300 /* busy exports */

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

/* However many exports are busy, none of their jobs joins that of a hung one. */
static void
test_many(struct event_base *base)
{
	static struct counted all[MANY];
	struct rpc_pool *pool = gated_pool(base, 4096);
	unsigned int i, n = 0, shared = 0;

	for (i = 0; i < MANY; i++) {
		all[i] = (struct counted){ .ran = 0 };
		all[i].job.run = run_gated;
		all[i].job.done = done;
		all[i].job.queue = 1 + i;
		all[i].job.turn = 1;
		n += rpc_pool_submit(pool, &all[i].job);
		shared += i > 0 && all[i].job.in == all[0].job.in;
	}
	cmp_ok(n, "==", MANY, "%d queues have jobs at the same time", MANY);
	cmp_ok(shared, "==", 0, "no job joins the queue of a hung export");
	if (shared == 0)
		wait_finished(base, MANY - 1);
	ok(shared == 0 && all[0].done == 0, "so the others do not wait for it");
	(void)sem_post(&gate);
	wait_finished(base, MANY);
	rpc_pool_free(pool);
	(void)sem_destroy(&gate);
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

#define SENDERS 3

static uint64_t last_sender;
static unsigned int changes;

static void
done_of_sender(struct rpc_job *job)
{
	changes += job->sender != last_sender;
	last_sender = job->sender;
	done(job);
}

/* Jobs of three senders end together, in any order. */
static void
test_senders(struct event_base *base)
{
	struct rpc_pool *pool = gated_pool(base, QUEUE);
	unsigned int i;

	for (i = 0; i < QUEUE / 2; i++) {
		jobs[i] = (struct counted){ .ran = 0 };
		jobs[i].job.run = run;
		jobs[i].job.done = done_of_sender;
		jobs[i].job.sender = 1 + i % SENDERS;
		(void)rpc_pool_submit(pool, &jobs[i].job);
	}
	rpc_pool_free(pool); /* without a turn of the loop */
	cmp_ok(finished, "==", QUEUE / 2, "jobs of several senders are done");
	cmp_ok(changes, "==", SENDERS, "those of one sender together");
	(void)sem_destroy(&gate);
}

/* rpc_pool_dispatch(): the loop's thread runs short jobs. */
#define SHORT_JOBS  400
#define SLOW_EVERY  50 /* so many of them wait for longer than two looks */
#define SLOW_USEC   20000
#define SECONDS_MAX 60

static struct {
	struct event_base *base;
	struct rpc_pool *pool;
	struct event *tick;
	unsigned int submitted, ran, wrong, moved, on_loop, ticks;
	pthread_t began;
	_Atomic unsigned int hangs; /* jobs at the gate */
} loop;

static void
run_short(struct rpc_job *job, unsigned int thread)
{
	struct counted *c = (struct counted *)(void *)job;
	unsigned int number = (unsigned int)(c - jobs);

	loop.wrong += number != loop.ran++; /* in turn, so no lock */
	loop.on_loop += thread == 0;
	if (number % SLOW_EVERY == SLOW_EVERY - 1)
		(void)usleep(SLOW_USEC);
	c->ran++;
}

/* Submits a few jobs in each turn; ends the loop when all are done. */
static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct counted *c;
	unsigned int i;

	(void)fd;
	(void)what;
	(void)arg;
	loop.ticks++;
	loop.moved += rpc_pool_loop_thread(loop.pool) != 0;
	for (i = 0; i < 5 && loop.submitted < SHORT_JOBS; i++) {
		c = &jobs[loop.submitted];
		*c = (struct counted){ .ran = 0 };
		c->job.run = run_short;
		c->job.done = done;
		c->job.queue = 3;
		c->job.turn = POOL_TURN_SHORT;
		loop.submitted += rpc_pool_submit(loop.pool, &c->job);
	}
	if (finished == SHORT_JOBS)
		(void)event_base_loopexit(loop.base, NULL);
}

static void
start_loop(void (*tick)(evutil_socket_t, short, void *), unsigned int threads)
{
	const struct timeval often = { 0, 1000 };

	memset(&loop, 0, sizeof(loop));
	finished = 0;
	loop.began = pthread_self();
	loop.base = event_base_new();
	loop.pool = rpc_pool_new(loop.base, threads, QUEUE, NULL, NULL);
	loop.tick = event_new(loop.base, -1, EV_PERSIST, tick, NULL);
	(void)event_add(loop.tick, &often);
	alarm(SECONDS_MAX);
	rpc_pool_dispatch(loop.pool);
	alarm(0);
}

static void
end_loop(void)
{
	event_free(loop.tick);
	rpc_pool_free(loop.pool);
	event_base_free(loop.base);
}

static void
test_dispatch(unsigned int threads)
{
	unsigned int i, bad;

	start_loop(on_tick, threads);
	for (i = bad = 0; i < SHORT_JOBS; i++)
		bad += jobs[i].ran != 1 || jobs[i].done != 1;
	cmp_ok(bad, "==", 0, "%u threads: short jobs run and end once",
	    threads);
	cmp_ok(loop.wrong, "==", 0, "in their order");
	cmp_ok(loop.on_loop, ">", 0, "some on the thread of the loop");
	cmp_ok(loop.moved, ">", 0,
	    "when a job waits, another thread goes on with the loop");
	end_loop();
}

/* A disk that does not answer: the loop has its turns, other jobs run. */
static void
run_hung(struct rpc_job *job, unsigned int thread)
{
	(void)thread;
	atomic_fetch_add(&loop.hangs, 1);
	while (sem_wait(&gate) == -1)
		;
	((struct counted *)(void *)job)->ran++;
}

static void
on_hung_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (loop.ticks++ == 0) {
		jobs[0] = jobs[1] = (struct counted){ .ran = 0 };
		jobs[0].job.run = run_hung;
		jobs[1].job.run = run;
		jobs[0].job.done = jobs[1].job.done = done;
		jobs[0].job.turn = jobs[1].job.turn = POOL_TURN_SHORT;
		jobs[1].job.queue = 4;
		(void)rpc_pool_submit(loop.pool, &jobs[0].job);
	}
	if (atomic_load(&loop.hangs) == 1 && loop.submitted == 0 &&
	    rpc_pool_submit(loop.pool, &jobs[1].job))
		loop.submitted = 1;
	if (jobs[1].done == 1 && loop.moved++ == 0) {
		loop.wrong += jobs[0].done != 0;
		(void)sem_post(&gate);
	}
	if (finished == 2)
		(void)event_base_loopexit(loop.base, NULL);
}

static void
test_hung(void)
{
	(void)sem_init(&gate, 0, 0);
	start_loop(on_hung_tick, THREADS);
	ok(jobs[0].done == 1 && jobs[1].done == 1 && loop.wrong == 0,
	    "a job of another queue ends while one hangs on the loop's thread");
	ok(pthread_equal(loop.began, pthread_self()),
	    "rpc_pool_dispatch() returns where it was called");
	end_loop();
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
	test_many(base);
	test_bytes(base);
	test_in_turn(base);
	test_senders(base);
	test_dispatch(THREADS);
	test_dispatch(2);
	test_hung();
	rpc_pool_free(NULL);
	dies_ok(rpc_pool_new(base, 0, 1, NULL, NULL),
	    "a pool without threads is fatal");
	dies_ok(rpc_pool_new(base, RPC_POOL_THREADS_MAX + 1, 1, NULL, NULL),
	    "a pool with too many threads is fatal");
	event_base_free(base);
	done_testing();
}
