/* SPDX-License-Identifier: ISC */
/*
 * The TLS handshakes of a worker that wait for their verdict, and the limits of
 * each client. A client is an IPv4 address or an IPv6 network (/64).
 * Runs in: nfsd worker, event loop only.
 */
#ifndef WORKER_HANDSHAKES_H
#define WORKER_HANDSHAKES_H

#include <sys/queue.h>

#include "base/hash.h"
#include "nfsd/nfsd.h"

#define HANDSHAKES_SETS 64 /* of counters; a random key chooses one */
#define HANDSHAKES_SET	8 /* clients that a set can count in one second */

struct handshake {
	TAILQ_ENTRY(handshake) entry;
	struct rpc_peer peer;
	uint64_t since_ms;
};

/* How many one client has begun in a second. */
struct handshake_rate {
	uint64_t client, second;
	unsigned int count;
};

struct handshakes {
	TAILQ_HEAD(, handshake) waiting; /* oldest first */
	unsigned int count;
	struct hash_key key;
	struct handshake_rate rates[HANDSHAKES_SETS][HANDSHAKES_SET];
};

void handshakes_init(struct handshakes *);
/* Counts one more of this client. Returns NULL, or which limit it breaks. */
const char *handshakes_refuse(struct handshakes *,
    const struct nfsd_tls_limits *, const struct addr *, uint64_t now_ms);
/* Returns false if there is no memory. */
bool handshakes_add(struct handshakes *, const struct rpc_peer *,
    uint64_t now_ms);
/* Returns the one of this connection; NULL: it does not wait. */
struct handshake *handshakes_find(struct handshakes *, uint64_t id);
void handshakes_remove(struct handshakes *, struct handshake *);

#endif
