/* SPDX-License-Identifier: ISC */
/*
 * File threads run work that may wait for a disk. The event loop is told when a
 * job is done.
 *
 * Jobs have queues, one for each export, since all jobs of one export may hang on
 * one disk. Queues share the threads, the places for waiting jobs and the memory.
 * One queue gets at most three quarters of each, and the next one three quarters
 * of what is left. A transport that finds no room must stop reading.
 *
 * A job in turn runs after those before it that have the same queue and turn, on
 * one thread. That is for short work which can wait, but seldom does. With
 * POOL_TURN_SHORT this may be the thread of the event loop: it leaves the loop, and
 * if the job waits, another thread goes on with the loop.
 *
 * A job may leave errands when it has run: work that may wait for long, and that
 * many jobs can share. Errands of one object are one if none of them has begun. So
 * an errand begins after all jobs that it serves have run. The job is held
 * meanwhile: it keeps its place and its memory, but no thread, and the jobs in turn
 * behind it run. When its errands have ended, it runs once more and is done.
 *
 * A job may also be late: it has left something for the end of its batch, which are
 * the jobs that one thread takes together. There that is done for all late jobs of
 * the batch at once, on the same thread, before any of them is handed back.
 * Runs in: the process that reads the network.
 */
#ifndef POOL_H
#define POOL_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_TURN_SHORT	     1u
#define RPC_POOL_THREADS_MAX 256
#define RPC_POOL_BYTES_MAX   (64 * 1024 * 1024) /* of jobs not yet done */

struct event_base;
struct rpc_errand;
struct rpc_pool;
struct rpc_queue;

/*
 * Embedded in the struct of the caller. Owned by the pool until done is called.
 */
struct rpc_job {
	STAILQ_ENTRY(rpc_job) entry;
	void (*run)(struct rpc_job *, unsigned int thread); /* file thread */
	void (*done)(struct rpc_job *); /* event loop, after run */
	unsigned int queue; /* number of its queue */
	unsigned int turn; /* 0: side by side with the others */
	uint64_t sender; /* jobs of one that end together are done together */
	size_t size; /* bytes of memory that it holds until it is done */
	/* Set by run: the job is held for these. They stay valid until done. */
	struct rpc_errand *errands;
	unsigned int nerrands;
	bool in_order; /* one errand after the other, not side by side */
	/*
	 * Set by run: the job waits for the end of its batch. Without errands it then
	 * runs once more.
	 */
	bool late;
	/* The pool's. run may read held: what the job waited for has ended. */
	bool held;
	bool begun;
	bool is_errand;
	unsigned int nbegun, npending; /* errands */
	unsigned int known; /* lasting errors of errands before it ran */
	struct rpc_queue *in;
};

/* What has to be done for an object, by one of the jobs that need it. */
struct rpc_errand {
	struct rpc_job job; /* the pool's */
	int (*run)(struct rpc_errand *, unsigned int thread); /* file thread */
	void *object; /* the pool compares it and never follows it */
	void *arg; /* for run, as is the object */
	int result; /* of run, of whichever errand served this one */
	int lasting; /* set by run: an error of those too that came meanwhile */
	/* The pool's. */
	int earlier; /* such an error of one that ended after the job had begun */
	struct rpc_job *of;
	LIST_ENTRY(rpc_errand) bucket;
	STAILQ_ENTRY(rpc_errand) entry;
	STAILQ_HEAD(, rpc_errand) others; /* of a leader: those it serves too */
};

/*
 * Starts threads 1 to threads. If init is not NULL, each thread first calls it
 * with its number. Returns when all threads have done so.
 */
struct rpc_pool *rpc_pool_new(struct event_base *, unsigned int threads,
    size_t queue_max, void (*init)(void *arg, unsigned int thread), void *arg);
/*
 * Sets what is done at the end of a batch with late jobs, on the thread that ran it.
 * Before the first job.
 */
void rpc_pool_at_batch_end(struct rpc_pool *,
    void (*end)(void *arg, unsigned int thread), void *arg);
/*
 * Would rpc_pool_submit() accept such a job? Asked before a call is copied.
 * Event loop only.
 */
bool rpc_pool_has_room(struct rpc_pool *, unsigned int queue, unsigned int turn,
    size_t size);
/*
 * Queues a job. Returns false if queue_max jobs are not done yet, if its queue has its
 * share of places or of memory, or if there is no memory. Event loop only.
 */
bool rpc_pool_submit(struct rpc_pool *, struct rpc_job *);
/*
 * Runs the event loop until it ends, as event_base_dispatch() does, but not always
 * on the thread that calls. Blocks longer if that thread waits for a disk.
 */
void rpc_pool_dispatch(struct rpc_pool *);
/* The number of the thread that runs the event loop. Event loop only. */
unsigned int rpc_pool_loop_thread(const struct rpc_pool *);
/* Waits for all jobs, calls done for them, and ends the threads. */
void rpc_pool_free(struct rpc_pool *);

#endif
