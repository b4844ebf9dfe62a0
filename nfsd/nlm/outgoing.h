/* SPDX-License-Identifier: ISC */
/*
 * Calls to clients, as datagrams from the bound sockets of NLM and NSM. The port
 * is asked of the client's portmapper. No socket is made and none is connected.
 *
 * A sender can be forged, so that what Tern sends hits another machine. Hence
 * the limits: one unanswered lookup for an address in 10 s, 4 datagrams a second
 * to one address, 200 in all. An address is not limited once it has proved that
 * it asks: by a TCP connection, or by an answer that only the receiver of a
 * call-back can give. What it does not answer is limited all the same.
 * Runs in: nfsd nlm (event loop).
 */
#ifndef NLM_OUTGOING_H
#define NLM_OUTGOING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/meter.h"
#include "rpc/rpc.h"
#include "transport/transport.h"
#include "rpc/xdr.h"

#define OUTGOING_HOSTS_MAX  4096 /* clients that are remembered */
#define OUTGOING_CALLS_MAX  4096 /* calls that wait; a power of two */
#define OUTGOING_PER_HOST   64 /* of them, to one client */
#define OUTGOING_MAX	    5120 /* bytes of one call */
#define OUTGOING_EXTRA	    128 /* bytes beyond the call that caused it */
#define OUTGOING_ANSWER_MS  10000 /* later answers are dropped */
#define OUTGOING_PER_SECOND 4 /* to one client */
#define OUTGOING_ALL_SECOND 200

struct event_base;
struct locks_stats;
struct outgoing;

/* One call. Arguments stand apart. */
struct outgoing_call {
	struct addr to; /* its port is not used */
	struct addr from; /* the address by which the client knows us */
	uint32_t prog, vers, proc;
	size_t max; /* longest message; 0: any, since no call caused it */
	/*
	 * Gets the results; NULL: the call was refused. If the callback itself
	 * is NULL, no answer is expected.
	 */
	void (*answered)(void *arg, uint64_t tag, struct xdr_in *results);
	void *arg;
	uint64_t tag;
};

/* proofs may be NULL: which addresses have a TCP connection. */
struct outgoing *outgoing_new(struct event_base *, struct proofs *,
    struct locks_stats *);
void outgoing_free(struct outgoing *);
/* Calls of this program are sent from there. Takes its replies. */
void outgoing_add_socket(struct outgoing *, uint32_t prog, struct rpc_udp *,
    const struct addr *at);
/*
 * Sends a call, from the next turn of the event loop on. Returns false if a
 * limit forbids it now.
 */
bool outgoing_send(struct outgoing *, const struct outgoing_call *,
    const uint8_t *args, size_t len);
/* The port may have changed: asks for it again, if that is permitted. */
void outgoing_forget_port(struct outgoing *, const struct addr *, uint32_t prog,
    uint32_t vers);
/* The address has shown that it asks for call-backs. */
void outgoing_prove(struct outgoing *, const struct addr *);
/* Has it, or has it a connection? */
bool outgoing_is_proven(struct outgoing *, const struct addr *);
/* A message of a socket that says it is a reply. */
void outgoing_reply(void *out, const struct rpc_peer *, const uint8_t *msg,
    size_t len);

#endif
