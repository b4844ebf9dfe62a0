/* SPDX-License-Identifier: ISC */
/*
 * The pipeline from message to reply: header, credential, row, reply cache,
 * decode, run, encode. It knows neither sockets nor protocols.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

#include "rpc/rpc.h"

struct reply_cache;
struct rpc_job;
struct rpc_pool;
struct rpc_server;

/*
 * The sender of a deferred call. The transport fills it; the pipeline does not
 * read it.
 */
struct rpc_origin {
	/*
	 * Length 0: no reply is sent; the transport only decrements its count
	 * of pending calls.
	 */
	void (*reply)(const struct rpc_origin *, const uint8_t *, size_t);
	void *transport;
	uint64_t ticket; /* id of the connection, which may be closed by now */
	size_t awaited; /* the pipeline's: see RPC_DEFERRED */
	struct rpc_peer peer;
};

enum rpc_verdict {
	RPC_DROP, /* send nothing (a REPLY, a repeat of what is running) */
	RPC_ANSWERED, /* *outlen bytes are in out */
	/*
	 * A copy of origin is given to its reply later, in the event loop. *outlen
	 * bytes of data are awaited, and the copy says so.
	 */
	RPC_DEFERRED,
	RPC_HANGUP, /* not RPC: close a stream, ignore a datagram */
	RPC_BUSY, /* all queues are full: offer the message again later */
	RPC_STARTTLS /* the same as ANSWERED; then the connection changes to TLS */
};

/* progs: array of nprogs served programs. Never returns NULL. */
struct rpc_server *rpc_server_new(const struct rpc_prog *const *progs,
    size_t nprogs, const struct rpc_hooks *);
/* Sets the reply cache for RPC_CACHED rows. Without one, every call is run. */
void rpc_server_set_cache(struct rpc_server *, struct reply_cache *);
/*
 * Sets the file threads for deferred calls. Without them, operations may block.
 */
void rpc_server_set_pool(struct rpc_server *, struct rpc_pool *);
/*
 * Is TLS offered to a client that asks for it over TCP? Initially not: then the
 * question gets the answer of any NULL call.
 */
void rpc_server_offer_tls(struct rpc_server *, bool);
void rpc_server_free(struct rpc_server *);
/* Returns when the last operation began in the event loop (clock_ns()). */
uint64_t rpc_server_last_ns(const struct rpc_server *);
/*
 * The calls between these two follow each other without a pause: the clock is
 * read once for each of them. The second returns clock_ns(). Event loop only.
 */
void rpc_server_begin(struct rpc_server *, uint64_t now_ns);
uint64_t rpc_server_end(struct rpc_server *);
/*
 * This machine has the address no longer. Calls that were made to it are dropped
 * unless a thread has begun them. The machine that has it now is asked again, and
 * its client goes on: a call that is carried out here later would undo what follows.
 * Event loop only.
 */
void rpc_server_address_left(struct rpc_server *, const struct addr *);
/* Returns the number of calls on file threads, and of those that are parked. */
size_t rpc_server_in_flight(const struct rpc_server *);

/*
 * Serves one message. The reply is never longer than cap or peer->max_reply.
 * out must not overlap msg. Event loop only.
 */
enum rpc_verdict rpc_serve(struct rpc_server *, const struct rpc_origin *,
    const uint8_t *msg, size_t len, uint8_t *out, size_t cap, size_t *outlen);

/*
 * Runs a parked call again, from its start, and sends its reply. Returns false if
 * it defers itself now. Then rpc_server_queue() gives it to the file threads, or
 * returns false if they have no room. Event loop only, not while a call is served.
 */
bool rpc_server_resume(struct rpc_job *);
bool rpc_server_queue(struct rpc_job *);

/* For rows without arguments, work or results, such as NULL. */
void rpc_get_void(struct xdr_in *, struct call_args *);
void rpc_run_void(struct call_ctx *, const struct call_args *,
    struct call_res *);
void rpc_put_void(struct xdr_out *, const struct call_res *);

#endif
