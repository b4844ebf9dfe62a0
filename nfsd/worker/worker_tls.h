/* SPDX-License-Identifier: ISC */
/*
 * The worker's side of TLS: hands connections to the tls role, keeps the limits
 * of handshakes, and believes or refuses the verdicts. If the role ends or
 * breaks the rules, its connections end and nothing else. TLS is not offered
 * until the parent has connected another role.
 * Runs in: nfsd worker, event loop only.
 */
#ifndef WORKER_TLS_H
#define WORKER_TLS_H

#include <sys/queue.h>

#include "base/hash.h"
#include "nfsd/nfsd.h"
#include "nfsd/stats.h"
#include "nfsd/tls/proto.h"
#include "nfsd/worker/handshakes.h"

struct event;
struct event_base;

/* A message that the role's socket did not take at once. */
struct worker_tls_message {
	TAILQ_ENTRY(worker_tls_message) entry;
	uint32_t type;
	uint64_t id;
	int fd; /* of TLS_BEGIN; the connection's own */
};

struct worker_tls {
	struct event_base *base; /* NULL: not serving yet */
	struct rpc_server *server;
	struct rpc_streams *streams;
	struct proven *proven; /* shared with the other workers */
	const struct nfsd_tls_limits *limits;
	int parent; /* channel to the parent */
	int channel; /* to the role; -1: none */
	struct event *on_message, *on_room, *on_second;
	TAILQ_HEAD(, worker_tls_message) outbox;
	struct handshakes waiting;
	struct hash_key secret; /* of identity keys; the worker sets it */
	uint64_t handshakes, sessions, failures[TLS_FAILURES];
};

void worker_tls_init(struct worker_tls *, int parent,
    const struct nfsd_tls_limits *);
/* Takes over a non-blocking channel to the role, the first one or another. */
void worker_tls_connect(struct worker_tls *, int channel);
/* To be called when the worker begins to serve. */
void worker_tls_start(struct worker_tls *, struct event_base *,
    struct rpc_server *, struct rpc_streams *, struct proven *);
/* Copies the counters. */
void worker_tls_stats(const struct worker_tls *, struct stats *);
/*
 * Checks a verdict, and makes the identity of the connection from it. Returns
 * NULL and *id (NULL if the handshake failed), or which rule it breaks.
 */
const char *worker_tls_judge(const struct worker_tls *,
    const struct tls_verdict *, size_t nfds, struct peer_identity **id);

#endif
