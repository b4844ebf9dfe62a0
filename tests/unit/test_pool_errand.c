/* SPDX-License-Identifier: ISC */
/*
 * Jobs that leave errands: those that need the same object share one, none uses one
 * that began before it had run, and a job is done when all of its own have ended.
 * Runs in: tests.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/util.h"
#include "own_malloc.h"
#include "pool/pool.h"
#include "tap.h"

#define THREADS	 4
#define JOBS	 200
#define PLACES	 64
#define OBJECTS	 8
#define ROUNDS	 3000
#define NEEDS	 2
#define ENDS_MAX 600 /* seconds; an emulated machine is slow */

#if OWN_MALLOC
static atomic_bool no_memory;

static bool
fails(void)
{
	return atomic_load(&no_memory);
}

#include "../alloc_hooks.h" /* here: it asks fails() */
#endif

/* What is synced, say. An errand of it waits at the gate, if there is one. */
struct object {
	sem_t gate;
	bool gated;
	int result;
	atomic_uint begun, ended, running;
	atomic_uint changes; /* by jobs */
	atomic_uint synced; /* of these, with the last errand that ended */
};

struct needy {
	struct rpc_job job;
	struct rpc_errand errands[NEEDS];
	struct object *needs[NEEDS];
	sem_t *lingers; /* it ends when this is posted; NULL: at once */
	unsigned int change[NEEDS]; /* its own of the object */
	unsigned int ran, again, done;
	int results[NEEDS];
};

static struct event_base *base;
static struct rpc_pool *pool;
static struct object objects[OBJECTS];
static struct needy jobs[JOBS];
static struct object *slow; /* jobs without a need wait at its gate */
static unsigned int finished;
static atomic_uint early, crowded;

static int
run_errand(struct rpc_errand *e, unsigned int thread)
{
	struct object *o = e->object;
	unsigned int has = atomic_load(&o->changes);

	(void)thread;
	atomic_fetch_add(&crowded, atomic_fetch_add(&o->running, 1) > 0);
	atomic_fetch_add(&o->begun, 1);
	while (o->gated && sem_wait(&o->gate) == -1)
		;
	if (o->result == 0)
		atomic_store(&o->synced, has);
	atomic_fetch_sub(&o->running, 1);
	atomic_fetch_add(&o->ended, 1);
	/* A disk tells EIO once, perhaps about a later change. */
	e->lasting = o->result == EIO ? EIO : 0;
	return o->result;
}

/* First it changes its objects. When these are synced it looks what it got. */
static void
run(struct rpc_job *job, unsigned int thread)
{
	struct needy *n = (struct needy *)(void *)job;
	unsigned int i;

	(void)thread;
	if (!job->held) {
		n->ran++;
		job->errands = n->errands;
		for (i = 0; i < NEEDS && n->needs[i] != NULL; i++) {
			n->change[i] =
			    atomic_fetch_add(&n->needs[i]->changes, 1) + 1;
			n->errands[i] = (struct rpc_errand){ .run = run_errand,
				.object = n->needs[i] };
		}
		job->nerrands = i;
		while (n->lingers != NULL && sem_wait(n->lingers) == -1)
			;
		if (i == 0 && slow != NULL) {
			atomic_fetch_add(&slow->begun, 1);
			while (sem_wait(&slow->gate) == -1)
				;
		}
		return;
	}
	n->again++;
	for (i = 0; i < job->nerrands; i++) {
		n->results[i] = n->errands[i].result;
		if (n->results[i] == 0 &&
		    atomic_load(&n->needs[i]->synced) < n->change[i])
			atomic_fetch_add(&early, 1);
	}
}

static void
done(struct rpc_job *job)
{
	((struct needy *)(void *)job)->done++;
	finished++;
}

static void
begin(size_t places)
{
	unsigned int i;

	pool = rpc_pool_new(base, THREADS, places, NULL, NULL);
	memset(objects, 0, sizeof(objects));
	for (i = 0; i < OBJECTS; i++)
		(void)sem_init(&objects[i].gate, 0, 0);
	finished = 0;
	atomic_store(&early, 0);
	atomic_store(&crowded, 0);
}

static bool
submit(struct needy *n, struct object *one, struct object *two,
    unsigned int queue, unsigned int turn)
{
	*n = (struct needy){ .needs = { one, two } };
	n->job.run = run;
	n->job.done = done;
	n->job.queue = queue;
	n->job.turn = turn;
	return rpc_pool_submit(pool, &n->job);
}

static void
wait_finished(unsigned int n)
{
	while (finished < n)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

static void
wait_for(atomic_uint *what, unsigned int n)
{
	while (atomic_load(what) < n)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
run_nothing(struct rpc_job *job, unsigned int thread)
{
	(void)job;
	(void)thread;
}

static bool passed;

static void
on_passed(struct rpc_job *job)
{
	(void)job;
	passed = true;
}

/* Waits until the jobs in turn of a queue have run, and are held if they need it. */
static void
wait_ran(unsigned int queue)
{
	struct rpc_job last = {
		.run = run_nothing, .done = on_passed, .queue = queue, .turn = 1
	};

	passed = false;
	(void)rpc_pool_submit(pool, &last);
	while (!passed)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

static void
end(void)
{
	unsigned int i;

	rpc_pool_free(pool);
	cmp_ok(atomic_load(&early), "==", 0,
	    "no job used an errand that began before it had run");
	cmp_ok(atomic_load(&crowded), "==", 0,
	    "nor did two errands of one object run together");
	for (i = 0; i < OBJECTS; i++)
		(void)sem_destroy(&objects[i].gate);
}

/* One runs while others come, which share the next one. */
static void
test_shared(void)
{
	struct object *o = &objects[0];
	unsigned int i;

	begin(JOBS * 2);
	o->gated = true;
	(void)submit(&jobs[0], o, NULL, 1, 1);
	wait_for(&o->begun, 1);
	for (i = 1; i < 50; i++)
		(void)submit(&jobs[i], o, NULL, 1, 1);
	wait_ran(1);
	ok(finished == 0, "jobs in turn run behind one that is held");
	(void)sem_post(&o->gate);
	wait_finished(1);
	ok(jobs[0].done == 1 && jobs[0].again == 1,
	    "a job whose errand has ended runs once more and is done");
	wait_for(&o->begun, 2);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	cmp_ok(finished, "==", 1, "those that came meanwhile do not use that");
	(void)sem_post(&o->gate);
	wait_finished(50);
	cmp_ok(atomic_load(&o->begun), "==", 2,
	    "49 jobs shared the next errand");
	end();
}

/* An error is of all jobs that waited for the errand, and of no others. */
static void
test_errors(void)
{
	struct object *o = &objects[0];
	unsigned int i, bad = 0;

	begin(JOBS * 2);
	o->gated = true;
	(void)submit(&jobs[0], o, NULL, 1, 1);
	wait_for(&o->begun, 1);
	for (i = 1; i < 10; i++)
		(void)submit(&jobs[i], o, NULL, 1, 1);
	wait_ran(1);
	(void)sem_post(&o->gate);
	wait_finished(1);
	wait_for(&o->begun, 2);
	o->result = EIO;
	(void)submit(&jobs[10], o, NULL, 1, 1);
	(void)submit(&jobs[11], &objects[1], o, 1, 1);
	wait_ran(1);
	(void)sem_post(&o->gate);
	wait_finished(10);
	wait_for(&o->begun, 3);
	o->result = 0;
	(void)submit(&jobs[12], o, NULL, 1, 1);
	wait_ran(1);
	(void)sem_post(&o->gate);
	wait_finished(12);
	(void)sem_post(&o->gate);
	wait_finished(13);
	for (i = 1; i < 10; i++)
		bad += jobs[i].results[0] != EIO;
	cmp_ok(bad, "==", 0, "all that waited for an errand get its error");
	ok(jobs[0].results[0] == 0 && jobs[12].results[0] == 0,
	    "not one that came before, or after it");
	ok(jobs[10].results[0] == EIO && jobs[11].results[1] == EIO,
	    "but those that came while it ran: the kernel tells it once");
	cmp_ok(jobs[11].results[0], "==", 0, "another object has no error");
	end();
}

/* It made its change while the errand ran, and left its own only after that. */
static void
test_late(void)
{
	struct object *o = &objects[0], *another = &objects[1];
	sem_t lingers;

	(void)sem_init(&lingers, 0, 0);
	begin(JOBS);
	o->gated = true;
	o->result = EIO;
	(void)submit(&jobs[0], o, NULL, 1, 1);
	wait_for(&o->begun, 1);
	(void)submit(&jobs[1], o, another, 1, 1);
	jobs[1].lingers = &lingers;
	wait_for(&another->changes, 1);
	(void)sem_post(&o->gate);
	wait_finished(1);
	o->result = 0;
	(void)sem_post(&lingers);
	(void)sem_post(&o->gate);
	wait_finished(2);
	cmp_ok(jobs[1].results[0], "==", EIO,
	    "a job that ran as the disk failed has its error");
	cmp_ok(jobs[1].results[1], "==", 0, "of that object only");
	(void)submit(&jobs[2], o, NULL, 1, 1);
	(void)sem_post(&o->gate);
	wait_finished(3);
	cmp_ok(jobs[2].results[0], "==", 0, "one that came later has not");
	end();
	(void)sem_destroy(&lingers);
}

static void
test_two_objects(void)
{
	struct object *a = &objects[0], *b = &objects[1];

	begin(JOBS);
	a->gated = b->gated = true;
	(void)submit(&jobs[0], a, b, 1, 1);
	wait_for(&a->begun, 1);
	wait_for(&b->begun, 1);
	pass("errands of two objects run side by side");
	(void)sem_post(&b->gate);
	wait_for(&b->ended, 1);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	cmp_ok(finished, "==", 0, "the job waits for both");
	(void)sem_post(&a->gate);
	wait_finished(1);
	(void)submit(&jobs[0], a, b, 1, 1);
	jobs[0].job.in_order = true;
	wait_for(&a->begun, 2);
	(void)submit(&jobs[1], NULL, NULL, 1, 0);
	wait_finished(2);
	cmp_ok(atomic_load(&b->begun), "==", 1,
	    "in order, the second does not begin before the first ends");
	(void)sem_post(&a->gate);
	wait_for(&b->begun, 2);
	(void)sem_post(&b->gate);
	wait_finished(3);
	pass("but then");
	end();
}

/* An export whose disk hangs. */
static void
test_hung(void)
{
	struct object *good = &objects[OBJECTS - 1];
	unsigned int i, k, n = 0, sum;

	begin(PLACES);
	for (i = 0; i < OBJECTS; i++)
		objects[i].gated = &objects[i] != good;
	for (i = 0; i < JOBS; i++) {
		n += submit(&jobs[n], &objects[i % (OBJECTS - 1)], NULL, 1, 1);
		for (sum = 0; sum < n;) { /* until all of them are held */
			(void)event_base_loop(base, EVLOOP_NONBLOCK);
			for (sum = k = 0; k < OBJECTS - 1; k++)
				sum += atomic_load(&objects[k].changes);
		}
	}
	ok(n >= PLACES / 2 && n < PLACES,
	    "held jobs of one queue do not take all places (%u of %u)", n,
	    PLACES);
	for (i = 0; i < 5; i++) {
		ok(submit(&jobs[n], good, NULL, 2, 1), "another has one left");
		wait_finished(1 + i);
	}
	cmp_ok(atomic_load(&good->ended), "==", 5, "and a thread");
	for (i = 0; i < n * (OBJECTS - 1); i++)
		(void)sem_post(&objects[i % (OBJECTS - 1)].gate);
	wait_finished(n + 5);
	end();
}

/*
 * The same export, by a burst: jobs in turn come while one of them runs. They are
 * taken and held all at once, each with an errand of its own.
 */
static void
test_burst(void)
{
	static struct object many[PLACES];
	struct object *good = &objects[OBJECTS - 1];
	unsigned int i, n = 1;

	begin(PLACES);
	slow = &objects[0];
	for (i = 0; i < PLACES; i++) {
		(void)sem_init(&many[i].gate, 0, 0);
		many[i].gated = true;
	}
	(void)submit(&jobs[0], NULL, NULL, 1, 1);
	wait_for(&slow->begun, 1);
	while (submit(&jobs[n], &many[n], NULL, 1, 1))
		n++;
	(void)sem_post(&slow->gate);
	for (i = 1; i < n; i++)
		wait_for(&many[i].changes, 1);
	slow = NULL;
	wait_finished(1);
	if (submit(&jobs[n], &many[0], NULL, 1, 1))
		n++;
	ok(n < PLACES, "nor do they if they come at once (%u of %u)", n,
	    PLACES);
	ok(submit(&jobs[n], good, NULL, 2, 1), "another has one left");
	wait_finished(2);
	for (i = 0; i < PLACES; i++)
		(void)sem_post(&many[i].gate);
	wait_finished(n + 1);
	end();
}

/* rpc_pool_dispatch(): the thread of the loop runs the jobs, others the errands. */
static unsigned int submitted, seed, refused;

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct needy *n;
	unsigned int i, k;

	(void)fd;
	(void)what;
	(void)arg;
	for (i = 0; i < 7 && submitted < ROUNDS; i++) {
		n = &jobs[submitted % JOBS];
		if (submitted >= JOBS && n->done == 0)
			break;
		seed = seed * 1103515245 + 12345;
		k = seed >> 16;
		if (!submit(n, k % 5 == 0 ? NULL : &objects[k % OBJECTS],
			k % 3 == 0 ? &objects[(k + 1) % OBJECTS] : NULL,
			1 + k % 2, k % 7 == 0 ? 0 : POOL_TURN_SHORT)) {
			refused++;
			n->done = 1;
			break;
		}
		submitted++;
	}
	if (finished == ROUNDS)
		(void)event_base_loopexit(base, NULL);
}

static void
test_dispatch(void)
{
	const struct timeval often = { 0, 300 };
	struct event *tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	unsigned int i, sum = 0, changes = 0;

	begin(JOBS * 2);
	memset(jobs, 0, sizeof(jobs));
	submitted = 0;
	(void)event_add(tick, &often);
	alarm(ENDS_MAX);
	rpc_pool_dispatch(pool);
	alarm(0);
	event_free(tick);
	for (i = 0; i < OBJECTS; i++) {
		sum += atomic_load(&objects[i].begun);
		changes += atomic_load(&objects[i].changes);
	}
	cmp_ok(finished, "==", ROUNDS, "%d jobs ran and were done", ROUNDS);
	ok(sum > 0 && sum <= changes, "%u errands for %u changes", sum,
	    changes);
	end();
}

#if OWN_MALLOC
/* Errands have a queue of their own, for which there may be no memory. */
static void
test_no_memory(void)
{
	struct object *o = &objects[0];
	uint64_t until = clock_ms() + 10000;

	begin(JOBS);
	o->gated = true;
	(void)submit(&jobs[0], o, NULL, 1, 1);
	atomic_store(&no_memory, true);
	wait_for(&o->begun, 1);
	atomic_store(&no_memory, false);
	(void)submit(&jobs[1], NULL, NULL, 1, 1);
	while (finished == 0 && clock_ms() < until)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	cmp_ok(finished, "==", 1,
	    "without memory for it, an errand still delays no job in turn");
	(void)sem_post(&o->gate);
	wait_finished(2);
	end();
}
#endif

static void
test_free(void)
{
	unsigned int i, bad = 0;

	begin(JOBS);
	for (i = 0; i < JOBS / 2; i++)
		(void)submit(&jobs[i], &objects[i % 3], &objects[3 + i % 2],
		    1 + i % 2, i % 2);
	end(); /* without a turn of the loop */
	for (i = 0; i < JOBS / 2; i++)
		bad +=
		    jobs[i].ran != 1 || jobs[i].again != 1 || jobs[i].done != 1;
	cmp_ok(bad, "==", 0, "a pool ends when all errands have");
}

int
main(void)
{
	plan(NO_PLAN);
	base = event_base_new();
	test_shared();
	test_errors();
	test_late();
	test_two_objects();
	test_hung();
	test_burst();
	test_dispatch();
#if OWN_MALLOC
	test_no_memory();
#endif
	test_free();
	event_base_free(base);
	done_testing();
}
