/* SPDX-License-Identifier: ISC */
/*
 * The lists of the file threads: see state.h. Queues share threads, places and
 * memory by one rule. A thread is woken with its jobs in hand: it neither asks for
 * the lock nor finds that another one was faster. The one that became idle last is
 * woken first, since its memory is still in the caches.
 * Runs in: the process that reads the network.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "pool/state.h"

#define SHARE 3 /* a queue may have so much for each 1 it leaves free */
#define LOOK  64 /* finished jobs looked at for one of the same sender */

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

static struct queue_bucket *
bucket_of(struct rpc_pool *p, unsigned int number, unsigned int turn)
{
	return &p->queues[(number * 4 + turn) % BUCKETS];
}

/* Returns the queue that has jobs of this number and turn; NULL if none has. */
struct rpc_queue *
pool_find_queue(struct rpc_pool *p, unsigned int number, unsigned int turn)
{
	struct rpc_queue *q;

	LIST_FOREACH (q, bucket_of(p, number, turn), bucket)
		if (q->number == number && q->turn == turn)
			break;
	return q;
}

/* Returns a queue without jobs; NULL if there is no memory. */
static struct rpc_queue *
new_queue(struct rpc_pool *p, unsigned int number, unsigned int turn)
{
	struct rpc_queue *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->number = number;
	q->turn = turn;
	STAILQ_INIT(&q->waiting);
	LIST_INSERT_HEAD(bucket_of(p, number, turn), q, bucket);
	return q;
}

/*
 * An errand must run, also if there is no memory for its queue. It must not be one
 * of the jobs in turn: those of its export would wait for it.
 */
void
pool_init_resort(struct rpc_queue *q)
{
	*q = (struct rpc_queue){ .jobs = 1 }; /* so it is never freed */
	STAILQ_INIT(&q->waiting);
}

static void
free_unused(struct rpc_queue *q)
{
	if (q->jobs > 0 || q->running > 0)
		return;
	LIST_REMOVE(q, bucket);
	free(q);
}

void
pool_forget(struct rpc_pool *p, const struct rpc_job *job)
{
	struct rpc_queue *q = job->in;

	p->bytes -= job->size;
	q->bytes -= job->size;
	q->jobs--;
	q->places -= !job->is_errand;
	p->places -= !job->is_errand;
	free_unused(q);
}

/* May one more thread serve the queue? */
bool
pool_is_ready(const struct rpc_pool *p, const struct rpc_queue *q)
{
	if (q->turn != 0)
		return q->running == 0;
	return p->closing || is_fair(q->running, 1, p->nthreads - p->running);
}

/* Returns a queue whose first job may run now, or NULL. */
struct rpc_queue *
pool_ready_queue(struct rpc_pool *p)
{
	struct rpc_queue *q;

	TAILQ_FOREACH (q, &p->waiting, entry)
		if (pool_is_ready(p, q))
			break;
	return q;
}

/*
 * Takes the first job of a queue, or all that run in turn. The queue is then the
 * last to be served.
 */
void
pool_take_jobs(struct rpc_pool *p, struct rpc_queue *q, struct job_list *jobs)
{
	struct rpc_job *job;

	TAILQ_REMOVE(&p->waiting, q, entry);
	do {
		job = STAILQ_FIRST(&q->waiting);
		STAILQ_REMOVE_HEAD(&q->waiting, entry);
		STAILQ_INSERT_TAIL(jobs, job, entry);
		job->begun = true;
		q->nwaiting--;
	} while (q->turn != 0 && q->nwaiting > 0);
	if (q->nwaiting > 0)
		TAILQ_INSERT_TAIL(&p->waiting, q, entry);
	q->running++;
	p->running++;
}

/* Takes a thread that can be woken. The watch is one while it has nothing to do. */
static struct rpc_seat *
take_seat(struct rpc_pool *p)
{
	struct rpc_seat *seat = LIST_FIRST(&p->idle);

	if (seat != NULL)
		LIST_REMOVE(seat, entry);
	else if (!p->away && p->watcher != NULL) {
		seat = p->watcher;
		p->watcher = NULL;
	}
	return seat;
}

bool
pool_has_seat(const struct rpc_pool *p)
{
	return !LIST_EMPTY(&p->idle) || (!p->away && p->watcher != NULL);
}

/* Gives the jobs that are ready to an idle thread. NULL: there is none, or no job. */
struct rpc_seat *
pool_assign(struct rpc_pool *p)
{
	struct rpc_queue *q = pool_has_seat(p) ? pool_ready_queue(p) : NULL;
	struct rpc_seat *seat;

	if (q == NULL)
		return NULL;
	seat = take_seat(p);
	seat->queue = q;
	pool_take_jobs(p, q, &seat->jobs);
	return seat;
}

void
pool_assign_all(struct rpc_pool *p)
{
	struct rpc_seat *seat;

	while ((seat = pool_assign(p)) != NULL)
		sem_post(&seat->called);
}

/* Called with the lock held. */
void
pool_wake_all(struct rpc_pool *p)
{
	struct rpc_seat *seat;

	while ((seat = take_seat(p)) != NULL) {
		seat->queue = NULL;
		sem_post(&seat->called);
	}
}

void
pool_wake_loop(const struct rpc_pool *p)
{
	uint64_t one = 1;

	while (write(p->wake, &one, sizeof(one)) == -1)
		if (errno != EINTR) /* the job would never be done */
			fatal("file thread: waking the event loop");
}

void
pool_wait(struct rpc_seat *seat)
{
	while (sem_wait(&seat->called) == -1)
		continue; /* EINTR */
}

void
pool_leave_queue(struct rpc_pool *p, struct rpc_seat *seat)
{
	p->running--;
	seat->queue->running--;
	free_unused(seat->queue);
	seat->queue = NULL;
}

/*
 * Takes the first job, or the first one of this sender if that is near. So the
 * replies of a connection are sent with one call.
 */
static struct rpc_job *
next_done(struct job_list *done, uint64_t sender)
{
	struct rpc_job *job = STAILQ_FIRST(done), *last = job;
	unsigned int n;

	for (n = 0; n < LOOK && job != NULL && job->sender != sender; n++) {
		last = job;
		job = STAILQ_NEXT(job, entry);
	}
	if (n == 0 || n == LOOK || job == NULL) {
		job = STAILQ_FIRST(done);
		STAILQ_REMOVE_HEAD(done, entry);
	} else
		STAILQ_REMOVE_AFTER(done, last, entry);
	return job;
}

/* Calls done for all. Event loop only. */
void
pool_finish(struct job_list *done)
{
	struct rpc_job *job;
	uint64_t sender = 0;

	while (!STAILQ_EMPTY(done)) {
		job = next_done(done, sender);
		sender = job->sender;
		job->done(job);
	}
}

void
pool_end_batch(const struct rpc_pool *p, const struct job_list *ran,
    unsigned int number)
{
	struct rpc_job *job;

	STAILQ_FOREACH (job, ran, entry)
		if (job->late)
			break;
	if (job == NULL)
		return;
	p->end(p->end_arg, number);
	for (; job != NULL; job = STAILQ_NEXT(job, entry)) {
		if (!job->late)
			continue;
		job->late = false;
		if (job->nerrands > 0)
			continue; /* it runs once more when these have ended */
		job->held = true;
		job->run(job, number);
	}
}

/* The jobs that were not run wait again, before those that came later. */
void
pool_put_back(struct rpc_pool *p, struct rpc_queue *q, struct job_list *jobs)
{
	struct rpc_job *job;

	if (STAILQ_EMPTY(jobs))
		return;
	if (q->nwaiting == 0)
		TAILQ_INSERT_TAIL(&p->waiting, q, entry);
	STAILQ_FOREACH (job, jobs, entry)
		q->nwaiting++;
	STAILQ_CONCAT(jobs, &q->waiting);
	STAILQ_CONCAT(&q->waiting, jobs);
}

/*
 * Is there a place and memory for one more job of the queue? NULL: a new one. A job
 * has its place until it is done, also while it is held.
 */
bool
pool_has_room(const struct rpc_pool *p, const struct rpc_queue *q, size_t size)
{
	return p->places < p->queue_max &&
	    is_fair(q == NULL ? 0 : q->places, 1, p->queue_max - p->places) &&
	    is_fair(q == NULL ? 0 : q->bytes, size,
		RPC_POOL_BYTES_MAX - p->bytes);
}

/* Adds a job at the end of its queue. */
static void
enqueue(struct rpc_pool *p, struct rpc_queue *q, struct rpc_job *job)
{
	job->in = q;
	q->jobs++;
	q->places += !job->is_errand;
	p->places += !job->is_errand;
	q->bytes += job->size;
	p->bytes += job->size;
	STAILQ_INSERT_TAIL(&q->waiting, job, entry);
	if (q->nwaiting++ == 0)
		TAILQ_INSERT_TAIL(&p->waiting, q, entry);
}

/* Adds a job to its queue. Returns false if there is no room. */
bool
pool_add(struct rpc_pool *p, struct rpc_job *job)
{
	struct rpc_queue *q = pool_find_queue(p, job->queue, job->turn);

	if (!pool_has_room(p, q, job->size))
		return false;
	if (q == NULL)
		q = new_queue(p, job->queue, job->turn);
	if (q == NULL)
		return false;
	enqueue(p, q, job);
	return true;
}

void
pool_add_errand(struct rpc_pool *p, struct rpc_job *job)
{
	struct rpc_queue *q = pool_find_queue(p, job->queue, job->turn);

	if (q == NULL)
		q = new_queue(p, job->queue, job->turn);
	enqueue(p, q != NULL ? q : &p->resort, job);
}
