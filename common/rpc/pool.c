/* SPDX-License-Identifier: ISC */
/*
 * The file threads: see rpc/pool.h. One lock protects two lists. A finished job
 * wakes the event loop through an eventfd, once for any number of jobs.
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

#include "base/log.h"
#include "rpc/pool.h"

STAILQ_HEAD(job_list, rpc_job);

struct rpc_pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* a job waits, or closing */
	pthread_cond_t ready; /* a thread has run init */
	struct job_list waiting;
	struct job_list finished;
	size_t nwaiting;
	size_t queue_max;
	unsigned int idle; /* threads without a job */
	bool closing;
	unsigned int started;
	unsigned int nthreads;
	unsigned int running[RPC_POOL_QUEUES]; /* jobs of each queue */
	pthread_t threads[RPC_POOL_THREADS_MAX];
	int wake; /* eventfd */
	struct event *event;
	void (*init)(void *, unsigned int);
	void *arg;
};

/* Returns the number of threads that one queue may use. */
static unsigned int
queue_share(const struct rpc_pool *p)
{
	unsigned int most = p->nthreads - (p->nthreads + 3) / 4;

	return most == 0 ? 1 : most;
}

/*
 * Returns the first waiting job whose queue may use another thread, or NULL.
 * While closing, every queue may.
 */
static struct rpc_job *
first_job(struct rpc_pool *p)
{
	struct rpc_job *job;

	STAILQ_FOREACH (job, &p->waiting, entry)
		if (p->closing ||
		    p->running[job->queue % RPC_POOL_QUEUES] < queue_share(p))
			break;
	return job;
}

/*
 * Waits for a job. Returns NULL if the pool closes and none is left. Called with
 * the lock held.
 */
static struct rpc_job *
next_job(struct rpc_pool *p)
{
	struct rpc_job *job;

	while ((job = first_job(p)) == NULL && !p->closing) {
		p->idle++;
		pthread_cond_wait(&p->work, &p->lock);
		p->idle--;
	}
	if (job != NULL) {
		STAILQ_REMOVE(&p->waiting, job, rpc_job, entry);
		p->nwaiting--;
		p->running[job->queue % RPC_POOL_QUEUES]++;
	}
	return job;
}

static void
hand_back(struct rpc_pool *p, struct rpc_job *job)
{
	uint64_t one = 1;
	bool first;

	first = STAILQ_EMPTY(&p->finished);
	STAILQ_INSERT_TAIL(&p->finished, job, entry);
	if (!first)
		return;
	pthread_mutex_unlock(&p->lock);
	while (write(p->wake, &one, sizeof(one)) == -1)
		if (errno != EINTR) /* the job would never be done */
			fatal("file thread: waking the event loop");
	pthread_mutex_lock(&p->lock);
}

static void *
thread_main(void *arg)
{
	struct rpc_pool *p = arg;
	struct rpc_job *job;
	unsigned int number;

	pthread_mutex_lock(&p->lock);
	number = ++p->started;
	pthread_mutex_unlock(&p->lock);
	if (p->init != NULL)
		p->init(p->arg, number);
	pthread_mutex_lock(&p->lock);
	p->nthreads++;
	pthread_cond_signal(&p->ready);
	while ((job = next_job(p)) != NULL) {
		pthread_mutex_unlock(&p->lock);
		job->run(job, number);
		pthread_mutex_lock(&p->lock);
		p->running[job->queue % RPC_POOL_QUEUES]--;
		hand_back(p, job);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
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

	if (threads == 0 || threads > RPC_POOL_THREADS_MAX)
		fatalx("%u file threads: a pool has 1 to %u", threads,
		    (unsigned int)RPC_POOL_THREADS_MAX);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		fatal("file threads");
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->ready, NULL);
	STAILQ_INIT(&p->waiting);
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
	start_threads(p, threads);
	return p;
}

bool
rpc_pool_submit(struct rpc_pool *p, struct rpc_job *job)
{
	bool room, wake;

	pthread_mutex_lock(&p->lock);
	room = p->nwaiting < p->queue_max;
	wake = room && p->idle > 0;
	if (room) {
		STAILQ_INSERT_TAIL(&p->waiting, job, entry);
		p->nwaiting++;
	}
	pthread_mutex_unlock(&p->lock);
	if (wake)
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
	close(p->wake);
	free(p);
}
