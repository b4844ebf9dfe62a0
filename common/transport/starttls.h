/* SPDX-License-Identifier: ISC */
/*
 * The way of a connection to TLS (RFC 9289): question, answer, hand-over. The
 * handshake itself is made in another process. A connection that fails on the
 * way is closed and never served in the clear again. Private to the stream
 * transport.
 * Runs in: the process that reads the network.
 */
#ifndef TRANSPORT_STARTTLS_H
#define TRANSPORT_STARTTLS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer_identity;
struct rpc_conn;
struct rpc_streams;

enum rpc_stage {
	RPC_PLAIN,
	RPC_ASKED, /* asked for TLS: earlier calls are answered first */
	RPC_HANDED, /* answered; the handshake is made elsewhere */
	RPC_SECURE /* peer.identity is set */
};

#define RPC_ANSWER_MAX 44 /* PROG_MISMATCH with the token, and its mark */

struct rpc_answer {
	size_t len;
	uint8_t bytes[RPC_ANSWER_MAX];
};

struct rpc_starttls {
	uint8_t stage; /* enum rpc_stage */
	bool kernel; /* RPC_SECURE: the kernel has the keys */
	struct rpc_answer *answer; /* RPC_ASKED: the reply to send */
};

/* May records be read? */
static inline bool
rpc_starttls_is_open(const struct rpc_starttls *tls)
{
	return tls->stage == RPC_PLAIN || tls->stage == RPC_SECURE;
}

/*
 * Keeps the answer for a connection that asks for TLS. Returns false if the
 * connection must end.
 */
bool rpc_starttls_ask(struct rpc_conn *, const uint8_t *answer, size_t len);
/*
 * Sends the answer and hands the connection over, when nothing else is left to
 * send. Returns false if the connection must end.
 */
bool rpc_starttls_step(struct rpc_conn *);
/*
 * Sends to a client that is open, as send(2) does, and counts what goes through
 * TLS. mark, of RPC_MARK_SIZE bytes or NULL, goes first.
 */
ssize_t rpc_starttls_send(struct rpc_conn *, const uint8_t *mark,
    const uint8_t *data, size_t len);
/* Called when a connection of any stage ends, before its descriptor closes. */
void rpc_starttls_end(struct rpc_conn *);

/*
 * transport/conn.c. Called after every change. Sets the events that the connection
 * waits for, or closes and frees it.
 */
void rpc_conn_update(struct rpc_conn *);
/* Its handshake is done; see rpc_streams_secured(). May close and free it. */
void rpc_conn_secure(struct rpc_conn *, int fd, struct peer_identity *);
/* Returns the connection of this number; NULL if it has ended. */
struct rpc_conn *rpc_conn_find(struct rpc_streams *, uint64_t id);

#endif
