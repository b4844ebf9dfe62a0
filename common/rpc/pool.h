/* SPDX-License-Identifier: ISC */
/*
 * File threads run work that may wait for a disk. The event loop is told when a
 * job is done. The queue is bounded: a transport that finds it full must stop
 * reading.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_POOL_H
#define RPC_POOL_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

#define RPC_POOL_THREADS_MAX 256
#define RPC_POOL_QUEUES	     64

struct event_base;
struct rpc_pool;

/*
 * Embedded in the struct of the caller. Owned by the pool until done is called.
 */
struct rpc_job {
	STAILQ_ENTRY(rpc_job) entry;
	void (*run)(struct rpc_job *, unsigned int thread); /* file thread */
	void (*done)(struct rpc_job *); /* event loop, after run */
	/*
	 * Jobs of one queue (an export) may all hang on one disk. They use at
	 * most three quarters of the threads; further jobs wait.
	 */
	unsigned int queue;
};

/*
 * Starts threads 1 to threads. If init is not NULL, each thread first calls it
 * with its number. Returns when all threads have done so.
 */
struct rpc_pool *rpc_pool_new(struct event_base *, unsigned int threads,
    size_t queue_max, void (*init)(void *arg, unsigned int thread), void *arg);
/*
 * Queues a job. Returns false if queue_max jobs are waiting. Event loop only.
 */
bool rpc_pool_submit(struct rpc_pool *, struct rpc_job *);
/* Waits for all jobs, calls done for them, and ends the threads. */
void rpc_pool_free(struct rpc_pool *);

#endif
