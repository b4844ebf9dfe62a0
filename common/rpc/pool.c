/* SPDX-License-Identifier: ISC */
/*
 * The file threads: see rpc/pool.h. One lock protects all lists. Threads serve
 * the queues by rotation. A finished job wakes the event loop through an eventfd,
 * once for any number of jobs. Jobs that run in turn are many and short. They
 * share the cost of waking: a thread is woken once for all that the event loop
 * submits between two waits, and takes them together.
 * Runs in: the process that reads the network.
 */
#include <sys/eventfd.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/pool.h"

#define QUEUES	128 /* with jobs at the same time; further ones share */
#define SHARE	3 /* a queue may have so much for each 1 it leaves free */
#define KEEP_NS 500000 /* a thread keeps finished jobs for so long, at most */

STAILQ_HEAD(job_list, rpc_job);

/* The jobs of one queue number and turn. */
struct rpc_queue {
	TAILQ_ENTRY(rpc_queue) entry; /* when jobs wait */
	unsigned int number;
	unsigned int turn;
	size_t jobs; /* not yet done; 0: the queue is not in use */
	size_t bytes; /* of them */
	size_t nwaiting;
	unsigned int running; /* threads that serve it */
	struct job_list waiting;
};

struct rpc_pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* a job waits, or closing */
	pthread_cond_t ready; /* a thread has run init */
	struct rpc_queue queues[QUEUES];
	TAILQ_HEAD(, rpc_queue) waiting; /* the next one to be served first */
	struct job_list finished;
	size_t nwaiting, bytes; /* of all queues */
	size_t queue_max;
	unsigned int idle; /* threads without a job */
	bool closing;
	unsigned int started;
	unsigned int nthreads;
	unsigned int running; /* threads with a job */
	pthread_t threads[RPC_POOL_THREADS_MAX];
	int wake; /* eventfd */
	struct event *event;
	struct event *kick; /* wakes a thread at the end of the turn */
	void (*init)(void *, unsigned int);
	void *arg;
};

/*
 * May a queue that has some of a thing take more of what is left of it? One
 * queue gets three quarters, the next one three quarters of the rest: what a
 * hung export holds never keeps another from its first.
 */
static bool
is_fair(size_t has, size_t more, size_t left)
{
	return more <= left &&
	    (has == 0 || has + more <= SHARE * (left - more));
}

/*
 * Returns the queue of a number: the one that has its jobs, else an unused one,
 * else one that it must share.
 */
static struct rpc_queue *
find_queue(struct rpc_pool *p, unsigned int number, unsigned int turn)
{
	unsigned int i, first = number * 4 + turn;
	struct rpc_queue *q, *unused = NULL;

	for (i = 0; i < QUEUES; i++) {
		q = &p->queues[(first + i) % QUEUES];
		if (q->jobs > 0 && q->number == number && q->turn == turn)
			return q;
		if (q->jobs == 0 && unused == NULL)
			unused = q;
	}
	if (unused == NULL)
		return &p->queues[first % QUEUES];
	unused->number = number;
	unused->turn = turn;
	return unused;
}

/* May one more thread serve the queue? */
static bool
is_ready(const struct rpc_pool *p, const struct rpc_queue *q)
{
	if (q->turn != 0)
		return q->running == 0;
	return p->closing || is_fair(q->running, 1, p->nthreads - p->running);
}

/* Returns a queue whose first job may run now, or NULL. */
static struct rpc_queue *
ready_queue(struct rpc_pool *p)
{
	struct rpc_queue *q;

	TAILQ_FOREACH (q, &p->waiting, entry)
		if (is_ready(p, q))
			break;
	return q;
}

/*
 * Takes the first job of a queue, or all that run in turn. The queue is then the
 * last to be served.
 */
static void
take_jobs(struct rpc_pool *p, struct rpc_queue *q, struct job_list *jobs)
{
	struct rpc_job *job;

	TAILQ_REMOVE(&p->waiting, q, entry);
	do {
		job = STAILQ_FIRST(&q->waiting);
		STAILQ_REMOVE_HEAD(&q->waiting, entry);
		STAILQ_INSERT_TAIL(jobs, job, entry);
		q->nwaiting--;
		p->nwaiting--;
	} while (q->turn != 0 && q->nwaiting > 0);
	if (q->nwaiting > 0)
		TAILQ_INSERT_TAIL(&p->waiting, q, entry);
	q->running++;
	p->running++;
	/* A job that ended may have made room for more than this one. */
	if (p->idle > 0 && ready_queue(p) != NULL)
		pthread_cond_signal(&p->work);
}

/*
 * Waits for jobs and takes some of a queue. Returns NULL if the pool closes and
 * none is left. Called with the lock held.
 */
static struct rpc_queue *
next_jobs(struct rpc_pool *p, struct job_list *jobs)
{
	struct rpc_queue *q;

	while ((q = ready_queue(p)) == NULL &&
	    !(p->closing && TAILQ_EMPTY(&p->waiting))) {
		p->idle++;
		pthread_cond_wait(&p->work, &p->lock);
		p->idle--;
	}
	if (q != NULL)
		take_jobs(p, q, jobs);
	return q;
}

/* Gives finished jobs to the event loop. Called with the lock held. */
static void
hand_back(struct rpc_pool *p, struct job_list *jobs)
{
	uint64_t one = 1;
	bool first;

	first = STAILQ_EMPTY(&p->finished);
	STAILQ_CONCAT(&p->finished, jobs);
	if (!first)
		return;
	pthread_mutex_unlock(&p->lock);
	while (write(p->wake, &one, sizeof(one)) == -1)
		if (errno != EINTR) /* the job would never be done */
			fatal("file thread: waking the event loop");
	pthread_mutex_lock(&p->lock);
}

/* Runs jobs. The first ones do not wait long for the last to be handed back. */
static void
run_jobs(struct rpc_pool *p, struct job_list *jobs, unsigned int number)
{
	struct job_list finished = STAILQ_HEAD_INITIALIZER(finished);
	uint64_t since = 0, now;
	struct rpc_job *job;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, entry);
		job->run(job, number);
		STAILQ_INSERT_TAIL(&finished, job, entry);
		if (STAILQ_EMPTY(jobs))
			break;
		now = clock_ns();
		if (since == 0)
			since = now;
		if (now - since < KEEP_NS)
			continue;
		since = now;
		pthread_mutex_lock(&p->lock);
		hand_back(p, &finished);
		pthread_mutex_unlock(&p->lock);
	}
	STAILQ_CONCAT(jobs, &finished);
}

static void *
thread_main(void *arg)
{
	struct job_list jobs = STAILQ_HEAD_INITIALIZER(jobs);
	struct rpc_pool *p = arg;
	struct rpc_queue *q;
	unsigned int number;

	pthread_mutex_lock(&p->lock);
	number = ++p->started;
	pthread_mutex_unlock(&p->lock);
	if (p->init != NULL)
		p->init(p->arg, number);
	pthread_mutex_lock(&p->lock);
	p->nthreads++;
	pthread_cond_signal(&p->ready);
	while ((q = next_jobs(p, &jobs)) != NULL) {
		pthread_mutex_unlock(&p->lock);
		run_jobs(p, &jobs, number);
		pthread_mutex_lock(&p->lock);
		q->running--;
		p->running--;
		hand_back(p, &jobs);
	}
	pthread_cond_broadcast(&p->work); /* the others end too */
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Wakes a thread for the jobs in turn of this turn of the loop. */
static void
kick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_pool *p = arg;
	bool wake;

	pthread_mutex_lock(&p->lock);
	wake = p->idle > 0 && ready_queue(p) != NULL;
	pthread_mutex_unlock(&p->lock);
	if (wake)
		pthread_cond_signal(&p->work);
}

static void
collect(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct rpc_pool *p = arg;
	struct job_list done = STAILQ_HEAD_INITIALIZER(done);
	struct rpc_job *job;
	uint64_t count;

	(void)!read(fd, &count, sizeof(count)); /* resets the eventfd */
	pthread_mutex_lock(&p->lock);
	STAILQ_CONCAT(&done, &p->finished);
	STAILQ_FOREACH (job, &done, entry) {
		job->in->jobs--;
		job->in->bytes -= job->size;
		p->bytes -= job->size;
	}
	pthread_mutex_unlock(&p->lock);
	while ((job = STAILQ_FIRST(&done)) != NULL) {
		STAILQ_REMOVE_HEAD(&done, entry);
		job->done(job);
	}
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
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->ready, NULL);
	for (i = 0; i < QUEUES; i++)
		STAILQ_INIT(&p->queues[i].waiting);
	TAILQ_INIT(&p->waiting);
	STAILQ_INIT(&p->finished);
	p->queue_max = queue_max;
	p->init = init;
	p->arg = arg;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake == -1)
		fatal("file threads: eventfd");
	p->event = event_new(base, p->wake, EV_READ | EV_PERSIST, collect, p);
	if (p->event == NULL || event_add(p->event, NULL) == -1)
		fatalx("file threads: event loop");
	p->kick = event_new(base, -1, 0, kick, p);
	if (p->kick == NULL)
		fatalx("file threads: event loop");
	start_threads(p, threads);
	return p;
}

/* Is there a place and memory for one more job of the queue? */
static bool
has_room(const struct rpc_pool *p, const struct rpc_queue *q, size_t size)
{
	return is_fair(q->nwaiting, 1, p->queue_max - p->nwaiting) &&
	    is_fair(q->bytes, size, RPC_POOL_BYTES_MAX - p->bytes);
}

bool
rpc_pool_has_room(struct rpc_pool *p, unsigned int queue, unsigned int turn,
    size_t size)
{
	bool room;

	pthread_mutex_lock(&p->lock);
	room = has_room(p, find_queue(p, queue, turn), size);
	pthread_mutex_unlock(&p->lock);
	return room;
}

bool
rpc_pool_submit(struct rpc_pool *p, struct rpc_job *job)
{
	struct rpc_queue *q;
	bool room, wake;

	pthread_mutex_lock(&p->lock);
	q = find_queue(p, job->queue, job->turn);
	room = has_room(p, q, job->size);
	wake = room && p->idle > 0;
	if (room) {
		job->in = q;
		q->jobs++;
		q->bytes += job->size;
		p->bytes += job->size;
		STAILQ_INSERT_TAIL(&q->waiting, job, entry);
		if (q->nwaiting++ == 0)
			TAILQ_INSERT_TAIL(&p->waiting, q, entry);
		p->nwaiting++;
	}
	pthread_mutex_unlock(&p->lock);
	if (wake && job->turn != 0)
		event_active(p->kick, EV_TIMEOUT, 0);
	else if (wake)
		pthread_cond_signal(&p->work);
	return room;
}

void
rpc_pool_free(struct rpc_pool *p)
{
	unsigned int i;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	collect(p->wake, EV_READ, p);
	event_free(p->event);
	event_free(p->kick);
	close(p->wake);
	free(p);
}
