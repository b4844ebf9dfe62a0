/* SPDX-License-Identifier: ISC */
/*
 * What the three files of the pipeline share. Private to them: rpc/server.c finds
 * the row of a message, rpc/attempt.c serves it once, rpc/deferred.c keeps it to
 * serve it again.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_PIPELINE_H
#define RPC_PIPELINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"

/* One attempt to serve a call. */
struct work {
	struct rpc_call call;
	struct call_ctx *ctx;
	struct call_args *args;
	struct call_res *res;
	struct xdr_in in; /* at the arguments */
	struct xdr_out out;
	struct reply_cache_entry *entry; /* NULL: not cached */
	bool begun; /* hooks.end must be called */
};

#define SPARES_MAX 8 /* reply buffers kept for file threads */
#define LEFT_MAX   16 /* addresses that left lately */

struct rpc_server {
	const struct rpc_prog *const *progs;
	size_t nprogs;
	struct rpc_hooks hooks;
	size_t structs_size; /* of the call_* structs together */
	size_t zeroed; /* the same without hooks.args_raw */
	struct reply_cache *cache;
	struct rpc_pool *pool;
	bool offers_tls;
	size_t in_flight;
	uint64_t now_ns; /* while a batch is served; else 0 */
	struct work work; /* of the event loop */
	struct rpc_errand errands[RPC_ERRANDS]; /* the same */
	pthread_mutex_t lock; /* protects what follows */
	uint8_t *spares[SPARES_MAX];
	unsigned int nspares;
	size_t spare_cap; /* size of a spare buffer */
	atomic_uint nleft; /* read without the lock too */
	struct addr left[LEFT_MAX]; /* number n is at n % LEFT_MAX */
};

/*
 * attempt.c. Places the call_* structs in one block of memory. Returns its size.
 * memory NULL: only that.
 */
size_t attempt_lay_out(const struct rpc_hooks *, uint8_t *memory,
    struct work *);
/*
 * Decodes, runs, encodes. Returns false if the operation must run again on a file
 * thread. If it leaves errands, the caller sees to them and concludes the call.
 */
bool attempt_run(struct rpc_server *, struct work *);
/* The header of a reply to a call that succeeds. */
void attempt_begin_reply(struct work *);
/* The operation has run, and what it left has been done. Encodes the result. */
void attempt_conclude(struct rpc_server *, struct work *);
/*
 * Keeps the reply for repeats, on the thread that ran the call: the worker may be
 * killed before its event loop goes on.
 */
void attempt_keep_reply(struct work *);
/* Calls hooks.end. Event loop only. */
void attempt_finish(struct rpc_server *, struct work *);
/* A call of a batch begins when the one before it has ended. */
static inline uint64_t
attempt_started_at(const struct rpc_server *s)
{
	return s->now_ns != 0 ? s->now_ns : clock_ns();
}

static inline uint64_t
attempt_ended_at(struct rpc_server *s)
{
	uint64_t now_ns = clock_ns();

	if (s->now_ns != 0)
		s->now_ns = now_ns;
	return now_ns;
}

/*
 * deferred.c. Keeps a copy of the call that was attempted last for the file threads,
 * or until it is resumed. args: its arguments, from their start.
 */
enum rpc_verdict deferred_add(struct rpc_server *, const struct rpc_origin *,
    const struct xdr_in *args);
/* The call, which still runs, has come again. NULL: it is not deferred. */
enum rpc_verdict deferred_repeat(struct deferred *, const struct rpc_origin *);
/* Frees the spare buffers. */
void deferred_free_spares(struct rpc_server *);

#endif
