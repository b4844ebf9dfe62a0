/* SPDX-License-Identifier: ISC */
/*
 * Datagrams and record-marked streams on libevent. Both hand records to
 * rpc_serve() and know nothing about what is in them. Every way a peer could
 * make us grow has a limit here.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/server.h"

struct event_base;
struct rpc_streams;
struct rpc_udp;
struct rpc_tcp;

struct rpc_limits {
	size_t record_max; /* longest legal call of the programs */
	size_t reply_max; /* longest reply on a stream */
	size_t datagram_reply_max; /* longest reply in a datagram */
	unsigned int fragments_max;
	unsigned int connections_max;
	unsigned int connections_per_host;
	size_t queue_max; /* unsent bytes per connection: stop reading */
	size_t unsent_max; /* memory of unsent replies, of all */
	size_t partial_max; /* memory of incomplete records, of all */
	unsigned int deferred_max; /* calls on file threads per connection */
	unsigned int record_seconds; /* an incomplete record may take this */
	unsigned int stall_seconds; /* a peer may not read for this long */
	unsigned int idle_seconds; /* 0: connections may idle for ever */
	/* UDP: largest reply in percent of the request for peers that are not
	 * local; 0: no limit. And calls per second per source; 0: no limit. */
	unsigned int amplification_percent;
	unsigned int datagrams_per_second;
};

/* Defaults for the fields above: generous for nfsd, callers tighten them. */
extern const struct rpc_limits rpc_limits_default;
/*
 * Sets one by its option name ("connections-max"). NULL, or what is wrong:
 * "unknown limit", "too small", "too large", "invalid"; then nothing changes.
 */
const char *rpc_limits_set(struct rpc_limits *, const char *name,
    const char *value);
/* The names one after the other, then NULL; each is in tern(7). */
const char *rpc_limits_name(size_t);

/* Takes over a bound datagram socket (v4 or v6). */
struct rpc_udp *rpc_udp_new(struct event_base *, struct rpc_server *, int fd,
    const struct rpc_limits *);
/* Call when rpc_server_in_flight() is 0. */
void rpc_udp_free(struct rpc_udp *);

/* What the listening sockets of an event loop share: buffers and limits. */
struct rpc_streams *rpc_streams_new(struct event_base *);
/* Memory of replies that peers have yet to take; 0 when all are sent. */
size_t rpc_streams_unsent(const struct rpc_streams *);
/* Call when every socket of it is freed. */
void rpc_streams_free(struct rpc_streams *);

/*
 * Takes over a listening stream socket: v4, v6, or unix (then peer.uid is
 * set). closed, when not NULL, is told the peer.id of each connection that
 * ends.
 */
struct rpc_tcp *rpc_tcp_new(struct rpc_streams *, struct rpc_server *, int fd,
    const struct rpc_limits *, void (*closed)(void *arg, uint64_t id),
    void *arg);
/*
 * When no descriptor is left for a connection, make_room is called before
 * another connection is closed; true: it helped, or will soon.
 */
void rpc_tcp_on_shortage(struct rpc_tcp *, bool (*make_room)(void *arg),
    void *arg);
/* Stops accepting; connections go on. */
void rpc_tcp_stop_accepting(struct rpc_tcp *);
unsigned int rpc_tcp_connections(const struct rpc_tcp *);
/* Closes everything; call when rpc_server_in_flight() is 0. */
void rpc_tcp_free(struct rpc_tcp *);

#endif
