/* SPDX-License-Identifier: ISC */
/*
 * What a worker and its tls role say to each other. The worker hands over a
 * connection right after it has answered STARTTLS. The role answers with one
 * verdict of fixed size for each.
 *
 * The worker trusts no message: a verdict counts only for a connection that
 * waits for one, and can say no more than that a client proved something. A
 * role that breaks the rules loses its connections and is restarted.
 * Runs in: nfsd worker, nfsd tls.
 */
#ifndef TLS_PROTO_H
#define TLS_PROTO_H

#include <stdint.h>

#include "rpc/identity.h"

#define TLS_WHY 160 /* bytes of a reason, with the final 0 */

enum tls_message {
	TLS_BEGIN, /* to the role: struct tls_connection and the socket */
	TLS_ENDED, /* to the role: struct tls_connection; forget it */
	TLS_VERDICT, /* to the worker; with a stream socket if TLS is relayed */
	TLS_REVOKED, /* to the worker: the certificate is no longer good */
	TLS_MESSAGES
};

/* Why there is no session. The worker counts them; see tls_failure_name(). */
enum tls_failure {
	TLS_DONE,
	TLS_BAD_PROTOCOL, /* no TLS 1.3, no common algorithm, other ALPN */
	TLS_BAD_CERTIFICATE, /* the client's does not verify */
	TLS_BAD_PEER, /* the client gave up or refused our certificate */
	TLS_BAD_HERE, /* no memory, or the kernel refused the keys */
	TLS_BAD_TIME, /* the worker's: not done in time */
	TLS_BAD_LIMIT, /* the worker's: too many handshakes */
	TLS_FAILURES
};

struct tls_connection {
	uint64_t id; /* of the connection, as the worker numbers them */
};

struct tls_verdict {
	uint64_t id;
	uint32_t failure; /* enum tls_failure */
	char why[TLS_WHY]; /* of a failure, for the log */
	/* Verified if there is no failure; else as the client sent it. */
	struct peer_identity identity;
};

struct tls_revoked {
	uint64_t id;
	char why[TLS_WHY];
};

#endif
