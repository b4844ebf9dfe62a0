/* SPDX-License-Identifier: ISC */
/*
 * Late jobs: what they leave for the end of their batch is done once for all of
 * them, by the thread that ran them, before any of them is done.
 * Runs in: tests.
 */
#include <stdatomic.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/util.h"
#include "pool/pool.h"
#include "tap.h"

#define THREADS 3
#define JOBS	60
#define ENDS_NS 30000000000u

struct tardy {
	struct rpc_job job;
	struct rpc_errand errand;
	bool late, needy;
	unsigned int ran_on; /* a thread */
	unsigned int ran, again, ends, done;
};

static struct event_base *base;
static struct rpc_pool *pool;
static struct tardy jobs[JOBS];
static unsigned int finished;
static atomic_uint ends, wrong, errands;

static int
run_errand(struct rpc_errand *e, unsigned int thread)
{
	const struct tardy *t = e->arg;

	(void)thread;
	atomic_fetch_add(&wrong, t->late && t->ends == 0);
	atomic_fetch_add(&errands, 1);
	return 0;
}

static void
run(struct rpc_job *job, unsigned int thread)
{
	struct tardy *t = (struct tardy *)(void *)job;

	if (job->held) {
		t->again++;
		return;
	}
	t->ran++;
	t->ran_on = thread;
	job->late = t->late;
	if (t->needy) {
		t->errand = (struct rpc_errand){
			.run = run_errand, .object = t, .arg = t
		};
		job->errands = &t->errand;
		job->nerrands = 1;
	}
}

/* Ends all late jobs that this thread has run and not ended. */
static void
end_batch(void *arg, unsigned int thread)
{
	unsigned int i, n = 0;

	(void)arg;
	atomic_fetch_add(&ends, 1);
	for (i = 0; i < JOBS; i++) {
		struct tardy *t = &jobs[i];

		if (t->ran == 0 || !t->late || t->ends > 0 ||
		    t->ran_on != thread)
			continue;
		t->ends++;
		n++;
	}
	atomic_fetch_add(&wrong, n == 0);
}

static void
done(struct rpc_job *job)
{
	((struct tardy *)(void *)job)->done++;
	if (++finished == JOBS)
		event_base_loopexit(base, NULL);
}

/* In turn: one thread takes those that wait, and no two run at once. */
static void
submit(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++) {
		jobs[i] =
		    (struct tardy){ .late = i % 3 != 0, .needy = i % 5 == 0 };
		jobs[i].job.run = run;
		jobs[i].job.done = done;
		jobs[i].job.queue = 1;
		jobs[i].job.turn = POOL_TURN_SHORT;
		(void)rpc_pool_submit(pool, &jobs[i].job);
	}
}

static void
check(const char *where)
{
	unsigned int i, bad = 0;

	for (i = 0; i < JOBS; i++) {
		const struct tardy *t = &jobs[i];

		bad += t->ran != 1 || t->done != 1 ||
		    t->ends != (unsigned int)t->late ||
		    t->again != (unsigned int)(t->late || t->needy);
	}
	cmp_ok(bad, "==", 0, "%s: each late job is ended once and runs again",
	    where);
	cmp_ok(atomic_load(&wrong), "==", 0,
	    "%s: by its thread, and before its errands begin", where);
	cmp_ok(atomic_load(&errands), "==", JOBS / 5, "%s: all errands run",
	    where);
	ok(atomic_load(&ends) > 0 && atomic_load(&ends) < JOBS / 3,
	    "%s: jobs of a batch are ended together (%u)", where,
	    atomic_load(&ends));
}

static void
begin(void)
{
	pool = rpc_pool_new(base, THREADS, JOBS * 4, NULL, NULL);
	rpc_pool_at_batch_end(pool, end_batch, NULL);
	finished = 0;
	atomic_store(&ends, 0);
	atomic_store(&wrong, 0);
	atomic_store(&errands, 0);
}

/* On a file thread. */
static void
test_thread(void)
{
	uint64_t until = clock_ns() + ENDS_NS;

	begin();
	submit(-1, 0, NULL);
	while (finished < JOBS && clock_ns() < until)
		(void)event_base_loop(base, EVLOOP_ONCE);
	check("on a file thread");
	rpc_pool_free(pool);
}

/* On the thread of the event loop, which leaves the loop for them. */
static void
test_loop(void)
{
	const struct timeval now = { 0 };

	begin();
	(void)event_base_once(base, -1, EV_TIMEOUT, submit, NULL, &now);
	rpc_pool_dispatch(pool);
	check("outside of the loop");
	rpc_pool_free(pool);
}

int
main(void)
{
	plan(NO_PLAN);
	base = event_base_new();
	test_thread();
	test_loop();
	event_base_free(base);
	done_testing();
}
