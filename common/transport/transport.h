/* SPDX-License-Identifier: ISC */
/*
 * Datagrams and record-marked streams on libevent. Both pass records to
 * rpc_serve() and know nothing of their contents. Every use of memory that a
 * peer can cause has a limit here.
 * Runs in: the process that reads the network.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/server.h"

struct event_base;
struct proofs;
struct rpc_streams;
struct rpc_udp;
struct rpc_tcp;

#define RPC_UDP_FREE(n) ((n) + (n) / 2) /* reply that any sender may get */

struct rpc_limits {
	size_t record_max; /* longest legal call of the programs */
	size_t reply_max; /* longest reply on a stream */
	size_t datagram_reply_max; /* longest reply in a datagram */
	unsigned int fragments_max; /* of a record */
	unsigned int connections_max, connections_per_host;
	size_t queue_max; /* unsent bytes of a connection: stop reading */
	size_t unsent_max; /* memory of all unsent replies */
	size_t partial_max; /* memory of all incomplete records */
	unsigned int deferred_max; /* deferred calls of a connection */
	unsigned int record_seconds; /* time for an incomplete record */
	unsigned int stall_seconds; /* time for a peer to read replies */
	unsigned int idle_seconds; /* 0: no limit */
	/*
	 * UDP, for peers that are not local; 0: no limit. The largest reply in
	 * percent of the request. Calls per second of one client. Bytes per
	 * second by which replies to one client exceed RPC_UDP_FREE times their
	 * calls, unless a TCP connection has proven its address.
	 */
	unsigned int amplification_percent, datagrams_per_second;
	unsigned int datagram_bytes_per_second;
};

/* Defaults of the fields above, for nfsd. Other daemons lower them. */
extern const struct rpc_limits rpc_limits_default;
/* Sets a limit by its option name ("connections-max"). Returns NULL, or the
 * error, "too small" for example: then nothing changes. */
const char *rpc_limits_set(struct rpc_limits *, const char *name,
    const char *value);
/* Returns the name of limit i, or NULL after the last. Each is in tern(7). */
const char *rpc_limits_name(size_t);

/* Takes over a bound datagram socket (v4 or v6). */
struct rpc_udp *rpc_udp_new(struct event_base *, struct rpc_server *, int fd,
    const struct rpc_limits *);
/* Call only when rpc_server_in_flight() is 0. */
void rpc_udp_free(struct rpc_udp *);
typedef void rpc_reply_fn(void *arg, const struct rpc_peer *,
    const uint8_t *msg, size_t len);
/* Passes on each message that says it is a reply, perhaps a forged one. */
void rpc_udp_on_reply(struct rpc_udp *, rpc_reply_fn *, void *arg);
/* Sends from peer->to to peer->from, not while a call is served. May fail. */
bool rpc_udp_send(struct rpc_udp *, const struct rpc_peer *, const uint8_t *,
    size_t);

/*
 * Addresses in proofs are not limited in bytes. rpc_streams_prove() adds those
 * that have connected. Both may be NULL.
 */
void rpc_udp_prove(struct rpc_udp *, struct proofs *);
void rpc_streams_prove(struct rpc_streams *, struct proofs *);

/* State shared by the listening sockets of an event loop. */
struct rpc_streams *rpc_streams_new(struct event_base *);
/* Returns the memory of unsent replies; 0 if all are sent. */
size_t rpc_streams_unsent(const struct rpc_streams *);
/* Call only when every socket of it is freed. */
void rpc_streams_free(struct rpc_streams *);

/*
 * TLS is made outside of the transport, by another process. begin gets each
 * connection that has asked for TLS and got the answer. It passes a copy of fd
 * on, and says later what came of it, by the number of the connection. It
 * returns false to close the connection at once. used is told of each
 * connection with TLS that sends calls, once in a second. ended is told of each
 * connection whose begin returned true.
 */
struct rpc_tls_hooks {
	bool (*begin)(void *arg, const struct rpc_peer *, int fd);
	void (*used)(void *arg, const struct rpc_peer *);
	void (*ended)(void *arg, const struct rpc_peer *);
	void *arg;
};

struct rpc_tls_bytes {
	uint64_t in, out; /* after decryption, before encryption */
};

void rpc_streams_set_tls(struct rpc_streams *, const struct rpc_tls_hooks *);
/*
 * The handshake of a connection is done. It is served through fd from now on;
 * -1: through its own descriptor, since the kernel has the keys. Takes over fd
 * and one hold of the identity. Does nothing else if the connection has ended.
 */
void rpc_streams_secured(struct rpc_streams *, uint64_t id, int fd,
    struct peer_identity *);
/* Returns the peer of a connection; NULL if it has ended. */
const struct rpc_peer *rpc_streams_peer(struct rpc_streams *, uint64_t id);
/* On which processor do its packets arrive? UINT32_MAX: unknown. */
uint32_t rpc_streams_processor(struct rpc_streams *, uint64_t id);
/* Closes a connection that uses TLS or waits for it. False if there is none. */
bool rpc_streams_end_tls(struct rpc_streams *, uint64_t id);
/* Closes all of them, since what makes TLS has failed. */
void rpc_streams_end_all_tls(struct rpc_streams *);
/* Closes connections of a client, or to an address that left. Says how many. */
unsigned int rpc_streams_end_host(struct rpc_streams *, const struct addr *);
unsigned int rpc_streams_end_local(struct rpc_streams *, const struct addr *);
const struct rpc_tls_bytes *rpc_streams_tls_bytes(const struct rpc_streams *);

/*
 * Takes over a listening stream socket: v4, v6, or unix (then peer.uid is set).
 * closed, if not NULL, is called with the peer.id of each connection that ends.
 */
struct rpc_tcp *rpc_tcp_new(struct rpc_streams *, struct rpc_server *, int fd,
    const struct rpc_limits *, void (*closed)(void *arg, uint64_t id),
    void *arg);
/*
 * If no descriptor is left for a connection, make_room is called before another
 * connection is closed. It returns true if some are free now, or soon.
 */
void rpc_tcp_on_shortage(struct rpc_tcp *, bool (*make_room)(void *arg),
    void *arg);
/*
 * Says which users of a unix socket keep every connection. The others may hold a
 * quarter of the places, and lose connections as other machines do. Without it
 * every user keeps them.
 */
void rpc_tcp_trust(struct rpc_tcp *,
    bool (*is_trusted)(void *arg, uint32_t uid), void *arg);
/* Stops accepting. Existing connections are served. */
void rpc_tcp_stop_accepting(struct rpc_tcp *);
unsigned int rpc_tcp_connections(const struct rpc_tcp *);
/* Closes all connections. Call only when rpc_server_in_flight() is 0. */
void rpc_tcp_free(struct rpc_tcp *);

#endif
