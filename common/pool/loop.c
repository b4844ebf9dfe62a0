/* SPDX-License-Identifier: ISC */
/*
 * The thread of the event loop leaves the loop and runs short jobs itself, while
 * another thread watches. Jobs mostly end at once, and the loop goes on: no thread
 * was woken. If a job has not ended after two looks, the watch goes on with the
 * loop. The thread that left is an ordinary file thread from then on.
 *
 * So the event loop waits for no job for longer than two looks. State of the event
 * loop needs no lock of its own: a thread that leaves it, comes back to it or goes
 * on with it holds the lock of the pool in between.
 * Runs in: the process that reads the network.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "pool/state.h"

#define HERE_JOBS_MAX (64 * 1024) /* bytes of jobs that run here */
#define HERE_NS	      1000000 /* after that, the rest goes to another thread */
#define WATCH_MS      4 /* between two looks of the watch */
#define WATCH_QUIET   25 /* it ends after so many without a job */
#define PAUSE_NS_MIN  16000000u /* after the loop had to change its thread */
#define PAUSE_NS_MAX  1000000000u /* if it had to do so again and again */

/* May the thread of the event loop run jobs? Another must be free to watch it. */
bool
pool_may_leave(const struct rpc_pool *p)
{
	return p->runner != NULL &&
	    (p->watcher != NULL || !LIST_EMPTY(&p->idle)) &&
	    clock_ns() >= p->not_before;
}

/* Makes an idle thread the watch. Called with the lock held. */
static void
set_watch(struct rpc_pool *p)
{
	struct rpc_seat *seat = LIST_FIRST(&p->idle);

	if (p->watcher != NULL || seat == NULL)
		return;
	LIST_REMOVE(seat, entry);
	p->watcher = seat;
	seat->watches = true;
	sem_post(&seat->called);
}

/*
 * The runner takes short jobs in turn. All other jobs that are ready go to other
 * threads. Called with the lock held.
 */
static void
leave_loop(struct rpc_pool *p, struct rpc_seat *seat)
{
	struct rpc_queue *q;

	TAILQ_FOREACH (q, &p->waiting, entry)
		if (q->turn == POOL_TURN_SHORT && pool_is_ready(p, q) &&
		    q->bytes - q->held_bytes <= HERE_JOBS_MAX)
			break;
	if (q != NULL)
		set_watch(p);
	if (q != NULL && p->watcher != NULL) {
		seat->queue = q;
		pool_take_jobs(p, q, &seat->jobs);
		p->running--; /* the runner is none of the file threads */
		p->section++;
		p->away = true;
	}
	pool_assign_all(p);
}

/*
 * The runner comes back to the event loop, with the jobs that are done. Returns
 * false if the watch runs that by now. Called with the lock held.
 */
static bool
come_back(struct rpc_pool *p, struct rpc_seat *seat, struct job_list *ran,
    struct job_list *finished)
{
	struct rpc_job *job;

	if (p->runner != seat)
		return false;
	p->away = false;
	seat->queue->running--;
	pool_sort_out(p, ran, finished); /* no errand was among them */
	pool_put_back(p, seat->queue, &seat->jobs);
	seat->queue = NULL;
	STAILQ_FOREACH (job, finished, entry)
		pool_forget(p, job);
	pool_assign_all(p);
	return true;
}

/* Runs jobs for HERE_NS at most. At least one job waits. */
static void
run_some(const struct rpc_pool *p, struct rpc_seat *seat, struct job_list *ran)
{
	uint64_t end = clock_ns() + HERE_NS;
	struct rpc_job *job;

	do {
		job = STAILQ_FIRST(&seat->jobs);
		STAILQ_REMOVE_HEAD(&seat->jobs, entry);
		pool_run(p, job, seat->number);
		STAILQ_INSERT_TAIL(ran, job, entry);
	} while (!STAILQ_EMPTY(&seat->jobs) && clock_ns() < end);
	pool_end_batch(p, ran, seat->number);
}

/*
 * Runs jobs on the thread of the event loop, outside of it. Returns false if
 * another thread has gone on with the loop.
 */
static bool
run_here(struct rpc_pool *p, struct rpc_seat *seat)
{
	struct job_list finished = STAILQ_HEAD_INITIALIZER(finished);
	struct job_list ran = STAILQ_HEAD_INITIALIZER(ran);
	bool back, wake = false;

	pthread_mutex_lock(&p->lock);
	leave_loop(p, seat);
	pthread_mutex_unlock(&p->lock);
	if (seat->queue == NULL)
		return true;
	run_some(p, seat, &ran);
	pthread_mutex_lock(&p->lock);
	back = come_back(p, seat, &ran, &finished);
	if (!back) {
		wake = pool_hand_back(p, &ran);
		pool_assign_all(p);
	}
	pthread_mutex_unlock(&p->lock);
	if (back)
		pool_finish(&finished);
	if (wake)
		pool_wake_loop(p);
	return back;
}

/* Runs the event loop until it ends, or until another thread runs it. */
void
pool_run_loop(struct rpc_pool *p, struct rpc_seat *seat)
{
	do {
		(void)event_base_loop(p->base, 0);
		if (event_base_got_break(p->base))
			continue;
		pthread_mutex_lock(&p->lock);
		p->over = true;
		p->runner = NULL;
		pool_wake_all(p); /* the one that began it ends */
		pthread_mutex_unlock(&p->lock);
		seat->runs = false;
		return;
	} while (run_here(p, seat));
	seat->runs = false;
}

/* Waits until the seat is called. Returns false after WATCH_MS. */
static bool
wait_for_call(struct rpc_seat *seat)
{
	struct timespec end = clock_after(WATCH_MS);
	int r;

	while ((r = sem_clockwait(&seat->called, CLOCK_MONOTONIC, &end)) ==
		-1 &&
	    errno == EINTR)
		continue;
	return r == 0;
}

/* Jobs have waited. If that happens often, they go to other threads for longer. */
static void
pause_here(struct rpc_pool *p, uint64_t now)
{
	if (now > p->not_before + 2 * PAUSE_NS_MAX)
		p->pause_ns = PAUSE_NS_MIN;
	else if (p->pause_ns < PAUSE_NS_MAX)
		p->pause_ns *= 2;
	p->not_before = now + p->pause_ns;
}

/*
 * Looks after the runner. Returns true if the watch goes on: it was not called
 * away, need not take over, and there was work lately.
 */
static bool
look(struct rpc_pool *p, struct rpc_seat *seat, uint64_t *seen,
    unsigned int *quiet)
{
	if (p->away && p->section == *seen) {
		/* The thread that left is a file thread from now on. */
		p->running++;
		p->away = false;
		p->runner = seat;
		p->watcher = NULL;
		pause_here(p, clock_ns());
		seat->runs = true;
		return false;
	}
	*quiet = p->section == *seen ? *quiet + 1 : 0;
	*seen = p->section;
	if (*quiet < WATCH_QUIET)
		return true;
	p->watcher = NULL;
	return false;
}

void
pool_watch(struct rpc_pool *p, struct rpc_seat *seat)
{
	unsigned int quiet = 0;
	uint64_t seen = 0;
	bool called, taken, goes_on;

	do {
		called = wait_for_call(seat);
		pthread_mutex_lock(&p->lock);
		taken = p->watcher != seat;
		goes_on = !taken && look(p, seat, &seen, &quiet);
		pthread_mutex_unlock(&p->lock);
	} while (goes_on);
	if (taken && !called)
		pool_wait(seat); /* it came late, but it comes */
}

unsigned int
rpc_pool_loop_thread(const struct rpc_pool *p)
{
	return p->runner == NULL ? 0 : p->runner->number;
}
