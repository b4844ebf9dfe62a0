/* SPDX-License-Identifier: ISC */
/*
 * The file threads: see pool.h. Threads serve the queues by rotation. A finished
 * job wakes the event loop through an eventfd, once for any number of jobs. Jobs
 * that run in turn are many and short. They share the cost of waking: a thread is
 * woken once for all that the event loop submits between two waits, and takes them
 * together; or the event loop's own thread runs them (loop.c).
 * Runs in: the process that reads the network.
 */
#include <sys/eventfd.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "pool/state.h"

#define KEEP_NS 500000 /* a thread keeps finished jobs for so long, at most */

/*
 * Takes jobs, or else becomes idle. Returns false if the pool closes and no job
 * is left, or if the event loop that this thread began has ended.
 */
static bool
next_jobs(struct rpc_pool *p, struct rpc_seat *seat)
{
	if (seat == &p->first && p->over)
		return false;
	seat->queue = pool_ready_queue(p);
	if (seat->queue != NULL)
		pool_take_jobs(p, seat->queue, &seat->jobs);
	else if (p->closing && TAILQ_EMPTY(&p->waiting))
		return false;
	else
		LIST_INSERT_HEAD(&p->idle, seat, entry);
	/* A job that ended may have made room for more than this one. */
	if (seat->queue != NULL)
		pool_assign_all(p);
	return true;
}

/* Runs jobs. The first ones do not wait long for the last to be handed back. */
static void
run_jobs(struct rpc_pool *p, struct job_list *jobs, unsigned int number)
{
	struct job_list finished = STAILQ_HEAD_INITIALIZER(finished);
	uint64_t since = 0, now;
	struct rpc_job *job;
	bool wake;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, entry);
		pool_run(p, job, number);
		STAILQ_INSERT_TAIL(&finished, job, entry);
		if (STAILQ_EMPTY(jobs))
			break;
		now = clock_ns();
		if (since == 0)
			since = now;
		if (now - since < KEEP_NS)
			continue;
		since = now;
		pool_end_batch(p, &finished, number);
		pthread_mutex_lock(&p->lock);
		wake = pool_hand_back(p, &finished);
		pool_assign_all(p); /* their errands do not wait for the rest */
		pthread_mutex_unlock(&p->lock);
		if (wake)
			pool_wake_loop(p);
		STAILQ_CONCAT(jobs, &finished);
	}
	pool_end_batch(p, &finished, number);
	STAILQ_CONCAT(jobs, &finished);
}

/*
 * Hands the jobs of the seat back and gets others, perhaps after a wait: first
 * those whose errands it has run. Returns false if there are no more.
 */
static bool
change_jobs(struct rpc_pool *p, struct rpc_seat *seat)
{
	bool wake, more = true, idle;

	pthread_mutex_lock(&p->lock);
	wake = pool_hand_back(p, &seat->jobs);
	if (STAILQ_EMPTY(&seat->jobs)) {
		if (seat->queue != NULL)
			pool_leave_queue(p, seat);
		more = next_jobs(p, seat);
	}
	idle = more && seat->queue == NULL;
	if (!more && p->closing)
		pool_wake_all(p); /* the others end too */
	pthread_mutex_unlock(&p->lock);
	if (wake)
		pool_wake_loop(p);
	if (idle)
		pool_wait(seat);
	return more;
}

/*
 * At the end of a turn of the loop there are jobs in turn. The runner leaves the
 * loop for them, or threads are woken.
 */
static void
kick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_pool *p = arg;
	bool leave;

	pthread_mutex_lock(&p->lock);
	leave = pool_may_leave(p);
	if (!leave)
		pool_assign_all(p);
	pthread_mutex_unlock(&p->lock);
	if (leave)
		(void)event_base_loopbreak(p->base);
}

/* The eventfd is never read: each write is an event of its own (EV_ET). */
static void
collect(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_pool *p = arg;
	struct job_list done = STAILQ_HEAD_INITIALIZER(done);
	struct rpc_job *job;

	pthread_mutex_lock(&p->lock);
	STAILQ_CONCAT(&done, &p->finished);
	STAILQ_FOREACH (job, &done, entry)
		pool_forget(p, job);
	pthread_mutex_unlock(&p->lock);
	pool_finish(&done);
}

/* What a thread does: the event loop, the watch, or jobs. */
static void
take_part(struct rpc_pool *p, struct rpc_seat *seat)
{
	for (;;) {
		if (seat->runs)
			pool_run_loop(p, seat);
		/* If it lost the loop, the rest of its jobs. */
		run_jobs(p, &seat->jobs, seat->number);
		if (!change_jobs(p, seat))
			return;
		if (seat->watches)
			pool_watch(p, seat);
		seat->watches = false;
	}
}

static void
init_seat(struct rpc_seat *seat, unsigned int number)
{
	seat->number = number;
	STAILQ_INIT(&seat->jobs);
	(void)sem_init(&seat->called, 0, 0);
}

static void *
thread_main(void *arg)
{
	struct rpc_pool *p = arg;
	struct rpc_seat seat = { .queue = NULL };
	unsigned int number;

	pthread_mutex_lock(&p->lock);
	number = ++p->started;
	pthread_mutex_unlock(&p->lock);
	init_seat(&seat, number);
	if (p->init != NULL)
		p->init(p->arg, number);
	pthread_mutex_lock(&p->lock);
	p->nthreads++;
	pthread_cond_signal(&p->ready);
	pthread_mutex_unlock(&p->lock);
	take_part(p, &seat);
	(void)sem_destroy(&seat.called);
	return NULL;
}

/* Starts the threads with all signals blocked: the event loop handles them. */
static void
start_threads(struct rpc_pool *p, unsigned int threads)
{
	sigset_t all, old;
	unsigned int i;
	int error;

	(void)sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < threads; i++) {
		error = pthread_create(&p->threads[i], NULL, thread_main, p);
		if (error != 0)
			fatalx("file thread %u of %u: cannot start; allow "
			       "more tasks (TasksMax=) or use fewer (-t)",
			    i + 1, threads);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_mutex_lock(&p->lock);
	while (p->nthreads < threads)
		pthread_cond_wait(&p->ready, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

struct rpc_pool *
rpc_pool_new(struct event_base *base, unsigned int threads, size_t queue_max,
    void (*init)(void *, unsigned int), void *arg)
{
	struct rpc_pool *p;
	unsigned int i;

	if (threads == 0 || threads > RPC_POOL_THREADS_MAX)
		fatalx("%u file threads: a pool has 1 to %u", threads,
		    (unsigned int)RPC_POOL_THREADS_MAX);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		fatal("file threads");
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ready, NULL);
	for (i = 0; i < BUCKETS; i++) {
		LIST_INIT(&p->queues[i]);
		LIST_INIT(&p->errands[i]);
	}
	LIST_INIT(&p->idle);
	TAILQ_INIT(&p->waiting);
	STAILQ_INIT(&p->finished);
	pool_init_resort(&p->resort);
	init_seat(&p->first, 0);
	p->base = base;
	p->queue_max = queue_max;
	p->init = init;
	p->arg = arg;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake == -1)
		fatal("file threads: eventfd");
	p->event =
	    event_new(base, p->wake, EV_READ | EV_PERSIST | EV_ET, collect, p);
	if (p->event == NULL || event_add(p->event, NULL) == -1)
		fatalx("file threads: event loop");
	p->kick = event_new(base, -1, 0, kick, p);
	if (p->kick == NULL)
		fatalx("file threads: event loop");
	start_threads(p, threads);
	return p;
}

void
rpc_pool_at_batch_end(struct rpc_pool *p, void (*end)(void *, unsigned int),
    void *arg)
{
	p->end = end;
	p->end_arg = arg;
}

bool
rpc_pool_has_room(struct rpc_pool *p, unsigned int queue, unsigned int turn,
    size_t size)
{
	bool room;

	pthread_mutex_lock(&p->lock);
	room = pool_has_room(p, pool_find_queue(p, queue, turn), size);
	pthread_mutex_unlock(&p->lock);
	return room;
}

bool
rpc_pool_submit(struct rpc_pool *p, struct rpc_job *job)
{
	struct rpc_seat *seat = NULL;
	bool room, later = false;

	pthread_mutex_lock(&p->lock);
	room = pool_add(p, job);
	if (room && job->turn == 0)
		seat = pool_assign(p);
	else
		later = room && pool_has_seat(p);
	pthread_mutex_unlock(&p->lock);
	if (seat != NULL)
		sem_post(&seat->called);
	if (later)
		event_active(p->kick, EV_TIMEOUT, 0);
	return room;
}

void
rpc_pool_dispatch(struct rpc_pool *p)
{
	p->runner = &p->first;
	p->first.runs = true;
	take_part(p, &p->first);
}

void
rpc_pool_free(struct rpc_pool *p)
{
	unsigned int i;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pool_wake_all(p);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	collect(p->wake, EV_READ, p);
	event_free(p->event);
	event_free(p->kick);
	(void)sem_destroy(&p->first.called);
	close(p->wake);
	free(p);
}
