/* SPDX-License-Identifier: ISC */
/*
 * The connections of the tls role. Each begins with a handshake and gets one
 * verdict. Then either the kernel has its keys and only the certificate is
 * remembered, or the role relays it: it decrypts what the client sends, and
 * encrypts what the worker writes into a socket pair.
 * Runs in: nfsd tls.
 */
#ifndef TLS_SESSION_H
#define TLS_SESSION_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/ipc.h"
#include "nfsd/tls/context.h"
#include "nfsd/tls/kernel.h"
#include "nfsd/tls/proto.h"
#include "nfsd/tls/record.h"

#define TLS_SESSION_IDS 1024 /* buckets; sessions are not limited by it */
#define TLS_PLAIN	(128 * 1024) /* bytes that are moved at once */
#define TLS_WIRE	(TLS_PLAIN + TLS_PLAIN / 8) /* encrypted, in short records */
#define TLS_KEPT_MAX	(64 * 1024 * 1024) /* all bytes that clients do not read */

/* Bytes that a socket did not accept yet. */
struct tls_bytes {
	uint8_t *buf;
	size_t at, len; /* buf[at..len) waits */
};

enum tls_state {
	TLS_SHAKING,
	TLS_RELAYED,
	TLS_CLOSING, /* the worker has closed: the last bytes go out */
	TLS_IN_KERNEL /* no socket; kept for its certificate */
};

struct tls_session {
	LIST_ENTRY(tls_session) by_id;
	LIST_ENTRY(tls_session) all;
	struct tls_server *server;
	uint64_t id;
	enum tls_state state;
	int net, pair; /* to the client, to the worker; -1: none */
	SSL *ssl; /* of the handshake; NULL afterwards */
	struct tls_records records; /* TLS_RELAYED: the keys */
	struct event net_in, net_out, pair_in, pair_out;
	bool in, out; /* bytes of the client, of the worker can be moved */
	unsigned int idle; /* the client's last records that had no data */
	struct tls_bytes part; /* of a record of the client */
	struct tls_bytes wire; /* for the client, encrypted */
	struct tls_bytes plain; /* for the worker */
	size_t shaken; /* bytes of the handshake that were read */
	uint64_t close_by; /* ms: the client must have read all; 0: no end */
	bool half_closed; /* the client has sent close_notify */
	X509 *cert; /* of the client; NULL: none */
	STACK_OF(X509) * chain;
	const char *cert_error; /* what is wrong with it */
	struct tls_secrets secrets; /* until they are used */
};

/* Everything that the role holds. */
struct tls_server {
	struct event_base *base;
	struct tls_context context; /* ctx NULL: none yet */
	BIO_METHOD *bio;
	bool kernel; /* keys go to the kernel */
	int channel; /* to the worker, blocking; -1: none */
	LIST_HEAD(tls_session_list, tls_session) ids[TLS_SESSION_IDS];
	struct tls_session_list all;
	size_t kept; /* sum of part, wire and plain of all */
	uint8_t in[TLS_PLAIN]; /* encrypted, of a client */
	uint8_t plain[TLS_PLAIN];
	uint8_t wire[TLS_WIRE];
	size_t wire_len; /* in use, by the session that runs */
};

/* Fatal without memory. */
struct tls_server *tls_server_new(struct event_base *, bool kernel);
/*
 * Takes over a context. Connections whose certificate no longer verifies are
 * ended.
 */
void tls_server_use(struct tls_server *, struct tls_context *);
/* Takes over the channel to a new worker and ends all connections of the old. */
void tls_server_connect(struct tls_server *, int channel);
/* What a worker says; the argument is the server. Any worker may be compromised. */
extern const struct ipc_table tls_server_messages;

/* relay.c: makes the BIO of all sessions. NULL without memory. */
BIO_METHOD *tls_relay_bio(void);
/* Sends what OpenSSL has written. Returns false if the connection is broken. */
bool tls_relay_flush(struct tls_session *);
/*
 * Moves what has arrived, as far as the other side takes it, and sets the events
 * of the session. Returns false if it must end.
 */
bool tls_relay_run(struct tls_session *);
/*
 * The worker has closed: the client gets what it wrote, if it reads that in some
 * seconds. Returns false if the session must end now.
 */
bool tls_relay_end(struct tls_session *);
/* Frees what the session keeps. */
void tls_relay_clear(struct tls_session *);

#endif
