/* SPDX-License-Identifier: ISC */
/*
 * File threads: work that may wait for a disk is run here, and its end is
 * reported in the event loop. The queue is bounded; who finds it full must
 * stop taking in work.
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

/* Embedded in what the work is about; owned by the pool until done. */
struct rpc_job {
	STAILQ_ENTRY(rpc_job) entry;
	void (*run)(struct rpc_job *, unsigned int thread); /* file thread */
	void (*done)(struct rpc_job *); /* event loop, after run */
	/*
	 * Jobs of one queue may all hang in the same place (an export): they
	 * get at most three quarters of the threads, the others wait.
	 */
	unsigned int queue;
};

/*
 * Starts threads numbered 1 to threads. init, when not NULL, runs first in
 * each, with its number; rpc_pool_new() returns when all have run it.
 */
struct rpc_pool *rpc_pool_new(struct event_base *, unsigned int threads,
    size_t queue_max, void (*init)(void *arg, unsigned int thread), void *arg);
/* False when queue_max jobs wait already. Event loop only. */
bool rpc_pool_submit(struct rpc_pool *, struct rpc_job *);
/* Lets the jobs finish, reports them, ends the threads. */
void rpc_pool_free(struct rpc_pool *);

#endif
