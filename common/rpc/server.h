/* SPDX-License-Identifier: ISC */
/*
 * The pipeline from message to reply: header, credential, row, reply cache,
 * get, run, put. Knows no socket and no protocol.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

#include "rpc/rpc.h"

struct reply_cache;
struct rpc_pool;
struct rpc_server;

/* Where a late reply goes; filled by the transport, opaque to the pipeline. */
struct rpc_origin {
	/* Length 0: there is no reply, the call just is not pending. */
	void (*reply)(const struct rpc_origin *, const uint8_t *, size_t);
	void *transport;
	uint64_t ticket; /* which connection; the transport checks it lives */
	struct rpc_peer peer;
};

enum rpc_verdict {
	RPC_DROP, /* nothing to send (a REPLY, a repeat in progress) */
	RPC_ANSWERED, /* *outlen bytes are in out */
	RPC_DEFERRED, /* origin->reply will be called from the event loop */
	RPC_HANGUP, /* not RPC at all: close a stream, ignore a datagram */
	RPC_BUSY /* no file thread has room: offer the same again later */
};

/* progs: array of nprogs programs this server answers for. Never NULL. */
struct rpc_server *rpc_server_new(const struct rpc_prog *const *progs,
    size_t nprogs, const struct rpc_hooks *);
/* Reply cache for RPC_CACHED rows; without one every call is executed. */
void rpc_server_set_cache(struct rpc_server *, struct reply_cache *);
/* File threads for operations that set `deferred`; without, they may block. */
void rpc_server_set_pool(struct rpc_server *, struct rpc_pool *);
void rpc_server_free(struct rpc_server *);
/* Calls on file threads that have not been answered yet. */
size_t rpc_server_in_flight(const struct rpc_server *);

/*
 * One message in. The reply is never longer than cap or peer->max_reply.
 * out must not overlap msg. Call from the event loop only.
 */
enum rpc_verdict rpc_serve(struct rpc_server *, const struct rpc_origin *,
    const uint8_t *msg, size_t len, uint8_t *out, size_t cap, size_t *outlen);

/* For rows without arguments, work or results, such as NULL. */
void rpc_get_void(struct xdr_in *, struct call_args *);
void rpc_run_void(struct call_ctx *, const struct call_args *,
    struct call_res *);
void rpc_put_void(struct xdr_out *, const struct call_res *);

#endif
