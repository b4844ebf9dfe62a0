/* SPDX-License-Identifier: ISC */
/*
 * One stream connection: reads, serves records, sends replies. Private to the
 * stream transport (rpc/tcp.c accepts and limits, rpc/conn.c serves).
 *
 * An idle connection owns this struct and nothing else. Input is read into one
 * buffer and output collected in one buffer, both shared by all connections of
 * the process, which is why everything here runs in one event loop.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_CONN_H
#define RPC_CONN_H

#include <sys/queue.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "rpc/record.h"
#include "rpc/transport.h"

#define RPC_CONN_READ	  (320 * 1024) /* per wake-up: some WRITEs of 64 KiB */
#define RPC_CONN_SHORT	  4096 /* the same, when memory is short */
#define RPC_CONN_RECORDS  128 /* records served per wake-up */
#define RPC_CONN_BYTES	  (1024 * 1024) /* reply bytes per wake-up */
#define RPC_CONN_FLUSH	  (256 * 1024) /* replies sent with one call */
#define RPC_CONN_PAUSE	  2000 /* microseconds, when there is no room */
#define RPC_CONN_PATIENCE 3000 /* ms without progress, beyond a limit */
#define RPC_CONN_HASTE	  1000 /* the same, far beyond a limit */
#define RPC_CONN_SPARES	  4 /* buffers kept: fresh pages are dear */
#define RPC_CONN_SWAP	  (256 * 1024) /* unsent: keep the buffer, no copy */

/* Bytes waiting: input not yet looked at, or output not yet sent. */
struct rpc_bytes {
	uint8_t *buf;
	size_t at, len, cap; /* buf[at..len) waits */
};

struct rpc_host;

struct rpc_conn {
	TAILQ_ENTRY(rpc_conn) age; /* in tcp->conns, least active first */
	TAILQ_ENTRY(rpc_conn) own; /* in host->conns, likewise */
	TAILQ_ENTRY(rpc_conn) incomplete; /* when record_since is set */
	TAILQ_ENTRY(rpc_conn) stalled; /* when unsent_since is set */
	TAILQ_ENTRY(rpc_conn) again; /* when queued */
	LIST_ENTRY(rpc_conn) by_id;
	struct rpc_tcp *tcp;
	struct rpc_host *host;
	struct rpc_origin origin;
	struct event readable, writable;
	struct rpc_record record;
	struct rpc_bytes held; /* input beyond what could be served */
	struct rpc_bytes unsent;
	size_t partial, owed; /* what it adds to the sums of all */
	unsigned int deferred; /* calls on file threads */
	uint32_t active; /* ms / 1000: last input */
	uint64_t record_since; /* ms: start of an incomplete record, or 0 */
	uint64_t unsent_since; /* ms: last progress in sending, or 0 */
	int fd;
	bool eof, dead;
	bool reading, writing; /* events that are set */
	bool queued; /* in the list of those that go on */
	bool busy; /* there was no room: of file threads, or memory */
};

TAILQ_HEAD(rpc_conn_list, rpc_conn);

#define RPC_CONN_IDS 1024 /* buckets; any number of connections */

/* What all connections of the process share. */
struct rpc_streams {
	struct event_base *base;
	unsigned int users; /* listeners */
	uint8_t *in; /* RPC_CONN_READ bytes */
	uint8_t *out; /* replies of the connection being served */
	uint8_t *spares[RPC_CONN_SPARES]; /* more like it */
	unsigned int nspares;
	size_t out_cap, out_len;
	size_t partial; /* memory of incomplete records of all */
	size_t owed; /* memory of unsent replies and held input of all */
	struct rpc_conn_list incomplete; /* oldest record first */
	struct rpc_conn_list stalled; /* least recent progress first */
	struct rpc_conn_list again; /* go on at the next turn of the loop */
	unsigned int nagain;
	struct event *again_event;
	struct event *tick; /* once a second while there are deadlines */
	LIST_HEAD(, rpc_conn) ids[RPC_CONN_IDS];
	uint64_t last_id;
};

extern struct rpc_streams rpc_streams;

/* One turn for each connection that has input to go on with. */
void rpc_conn_turn(void);
/*
 * Applies the limits over all connections: whoever keeps us waiting longest
 * is closed. Call when no connection is being served.
 */
void rpc_conn_relieve(void);
/* Takes over a connected socket; origin.peer is filled. NULL: no memory, or
 * the kernel watches no more. */
struct rpc_conn *rpc_conn_new(struct rpc_tcp *, int fd,
    const struct rpc_peer *);
/* Closes and frees it, and tells rpc_tcp_forget(). */
void rpc_conn_close(struct rpc_conn *);
bool rpc_conn_is_idle(const struct rpc_conn *);

/* In rpc/tcp.c: a connection ends; was active; found a limit. */
void rpc_tcp_forget(struct rpc_tcp *, struct rpc_conn *);
void rpc_tcp_touch(struct rpc_tcp *, struct rpc_conn *);
void rpc_tcp_refused(const struct rpc_peer *, const char *what,
    const char *option);
const struct rpc_limits *rpc_tcp_limits(const struct rpc_tcp *);
struct rpc_server *rpc_tcp_server(const struct rpc_tcp *);

#endif
