/* SPDX-License-Identifier: ISC */
/*
 * What the files of this folder share: queues, threads, the event loop. One lock
 * protects all of it, unless a comment says otherwise.
 * Runs in: the process that reads the network.
 */
#ifndef POOL_STATE_H
#define POOL_STATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

#include <event2/event.h>

#include "pool/pool.h"

#define BUCKETS 128 /* queues are not limited by it */

STAILQ_HEAD(job_list, rpc_job);

/* The jobs of one queue number and turn. It exists while it has jobs or threads. */
struct rpc_queue {
	LIST_ENTRY(rpc_queue) bucket;
	TAILQ_ENTRY(rpc_queue) entry; /* when jobs wait */
	unsigned int number;
	unsigned int turn;
	size_t jobs; /* not yet done */
	size_t places; /* that they take: errands take none */
	size_t bytes; /* of them */
	size_t held_bytes; /* of these, jobs that wait for errands */
	size_t nwaiting;
	unsigned int running; /* threads that serve it */
	struct job_list waiting;
};

/* A thread, and what it is woken with. */
struct rpc_seat {
	LIST_ENTRY(rpc_seat) entry; /* in idle */
	sem_t called;
	unsigned int number;
	bool runs; /* the event loop; only its own thread uses this */
	bool watches;
	struct rpc_queue *queue; /* of its jobs; NULL: none */
	struct job_list jobs;
};

struct rpc_pool {
	pthread_mutex_t lock;
	pthread_cond_t ready; /* a thread has run init */
	LIST_HEAD(queue_bucket, rpc_queue) queues[BUCKETS];
	struct rpc_queue resort; /* the last one, of errands; see queue.c */
	TAILQ_HEAD(, rpc_queue) waiting; /* the next one to be served first */
	struct job_list finished;
	LIST_HEAD(errand_bucket, rpc_errand) errands[BUCKETS]; /* leaders */
	/* The last lasting errors, and their numbers: the first one has 1. */
	int failures[BUCKETS];
	unsigned int failure_numbers[BUCKETS];
	atomic_uint nfailures; /* read without the lock */
	size_t places, bytes; /* of all queues */
	size_t queue_max;
	LIST_HEAD(, rpc_seat) idle; /* threads without a job, the last first */
	bool closing;
	unsigned int started, nthreads;
	unsigned int running; /* threads with a job */
	pthread_t threads[RPC_POOL_THREADS_MAX];
	/* The event loop; see rpc_pool_dispatch(). */
	struct event_base *base;
	struct rpc_seat first; /* of the thread that began it */
	struct rpc_seat *runner; /* runs it; NULL: not by rpc_pool_dispatch() */
	struct rpc_seat *watcher; /* or NULL */
	bool away; /* the runner runs jobs */
	bool over; /* the event loop has ended */
	uint64_t section; /* how often it did so */
	uint64_t not_before; /* clock_ns(): until then it does not */
	uint64_t pause_ns; /* the last pause that ended then */
	int wake; /* eventfd */
	struct event *event;
	struct event *kick; /* wakes a thread at the end of the turn */
	void (*init)(void *, unsigned int);
	void *arg;
	void (*end)(void *,
	    unsigned int); /* of a batch; NULL: no job is late */
	void *end_arg;
};

/* queue.c. To be called with the lock held, except where it says otherwise. */
bool pool_has_room(const struct rpc_pool *, const struct rpc_queue *,
    size_t size);
struct rpc_queue *pool_find_queue(struct rpc_pool *, unsigned int number,
    unsigned int turn);
void pool_init_resort(struct rpc_queue *);
/* Adds a job to its queue. Returns false if there is no room. */
bool pool_add(struct rpc_pool *, struct rpc_job *);
/* Adds an errand. If there is no memory for its queue, to the last resort. */
void pool_add_errand(struct rpc_pool *, struct rpc_job *);
/* A job is done. */
void pool_forget(struct rpc_pool *, const struct rpc_job *);
/* May one more thread serve the queue? */
bool pool_is_ready(const struct rpc_pool *, const struct rpc_queue *);
/* Returns a queue whose first job may run now, or NULL. */
struct rpc_queue *pool_ready_queue(struct rpc_pool *);
/*
 * Takes the first job of a queue, or all that run in turn. The queue is then the
 * last to be served.
 */
void pool_take_jobs(struct rpc_pool *, struct rpc_queue *, struct job_list *);
/* The jobs that were not run wait again, before those that came later. */
void pool_put_back(struct rpc_pool *, struct rpc_queue *, struct job_list *);
/* The thread has no more jobs of its queue. */
void pool_leave_queue(struct rpc_pool *, struct rpc_seat *);
/* Is there a thread that can be woken? */
bool pool_has_seat(const struct rpc_pool *);
/* Gives jobs that are ready to such a thread, to be posted. NULL: none, or no job. */
struct rpc_seat *pool_assign(struct rpc_pool *);
/* Wakes threads for all jobs that are ready. */
void pool_assign_all(struct rpc_pool *);
void pool_wake_all(struct rpc_pool *);
/* Without the lock. */
void pool_wake_loop(const struct rpc_pool *);
void pool_wait(struct rpc_seat *);
/* These jobs of one batch have run, on this thread: ends what they left for now. */
void pool_end_batch(const struct rpc_pool *, const struct job_list *,
    unsigned int thread);
/* Calls done for all, without the lock. Event loop only. */
void pool_finish(struct job_list *);

/* errand.c. Runs a job, without the lock. */
void pool_run(const struct rpc_pool *, struct rpc_job *, unsigned int thread);
/*
 * Sorts jobs that have run: those that leave no errands are done, those that do
 * are held. Jobs whose errands have just ended are all that remains in the list.
 */
void pool_sort_out(struct rpc_pool *, struct job_list *jobs,
    struct job_list *done);
/*
 * Gives the jobs that are done to the event loop. Returns true if it must be woken.
 * Jobs that remain in the list are to be run once more.
 */
bool pool_hand_back(struct rpc_pool *, struct job_list *);

/* loop.c. May the thread of the event loop leave it? With the lock. */
bool pool_may_leave(const struct rpc_pool *);
/* Runs the event loop until it ends, or until another thread runs it. */
void pool_run_loop(struct rpc_pool *, struct rpc_seat *);
/* Looks after the runner until it has to take over, or is called away. */
void pool_watch(struct rpc_pool *, struct rpc_seat *);

#endif
