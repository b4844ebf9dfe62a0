/* SPDX-License-Identifier: ISC */
/*
 * One stream connection: reads, serves records, sends replies. Private to the
 * stream transport (rpc_tcp.c accepts and limits, rpc_conn.c serves).
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

#include "rpc_record.h"
#include "rpc_transport.h"

#define RPC_CONN_READ	 (128 * 1024) /* bytes read per wake-up */
#define RPC_CONN_RECORDS 128 /* records served per wake-up */
#define RPC_CONN_BYTES	 (1024 * 1024) /* reply bytes per wake-up */
#define RPC_CONN_FLUSH	 (256 * 1024) /* replies sent with one call */
#define RPC_CONN_BUSY	 2000 /* microseconds, when file threads are full */
#define RPC_CONN_SWAP	 (64 * 1024) /* unsent: keep the buffer, no copy */

/* Bytes waiting: input not yet looked at, or output not yet sent. */
struct rpc_bytes {
	uint8_t *buf;
	size_t at, len, cap; /* buf[at..len) waits */
};

struct rpc_host;

struct rpc_conn {
	TAILQ_ENTRY(rpc_conn) age; /* in tcp->conns, least active first */
	TAILQ_ENTRY(rpc_conn) own; /* in host->conns, likewise */
	TAILQ_ENTRY(rpc_conn) watch; /* when watched */
	TAILQ_ENTRY(rpc_conn) again; /* when it has input to go on with */
	LIST_ENTRY(rpc_conn) by_id;
	struct rpc_tcp *tcp;
	struct rpc_host *host;
	struct rpc_origin origin;
	struct event readable, writable;
	struct rpc_record record;
	struct rpc_bytes held; /* input beyond what could be served */
	struct rpc_bytes unsent;
	size_t partial; /* what it adds to shared.partial */
	unsigned int late; /* calls on file threads */
	uint32_t active; /* seconds: last input */
	uint32_t record_since; /* seconds: start of incomplete record */
	uint32_t unsent_since; /* seconds: last progress in sending */
	int fd;
	bool eof, reading, writing, watched, queued, busy, dead;
};

TAILQ_HEAD(rpc_conn_list, rpc_conn);

#define RPC_CONN_IDS 1024 /* buckets; any number of connections */

/* What all connections of the process share. */
struct rpc_streams {
	struct event_base *base;
	unsigned int users; /* listeners */
	uint8_t *in; /* RPC_CONN_READ bytes */
	uint8_t *out; /* replies of the connection being served */
	uint8_t *spare; /* one more like it, or NULL */
	size_t out_cap, out_len;
	size_t partial, unsent; /* sums over all connections */
	struct rpc_conn_list watched; /* incomplete or unsent: on the clock */
	struct rpc_conn_list again;
	struct event *again_event;
	struct event *tick; /* once a second while something is watched */
	LIST_HEAD(, rpc_conn) ids[RPC_CONN_IDS];
	uint64_t last_id;
};

extern struct rpc_streams rpc_streams;

/* Seconds of the monotonic clock. */
uint32_t rpc_seconds(void);
/* Takes over a connected socket; origin.peer is filled. NULL: no memory. */
struct rpc_conn *rpc_conn_new(struct rpc_tcp *, int fd,
    const struct rpc_peer *);
/* Closes and frees it, after telling rpc_tcp_forget(). */
void rpc_conn_close(struct rpc_conn *);
bool rpc_conn_is_idle(const struct rpc_conn *);
/* Serves what lies ready after a pause. */
void rpc_conn_resume(struct rpc_conn *);

/* In rpc_tcp.c: a connection ends; was active; found a limit. */
void rpc_tcp_forget(struct rpc_tcp *, struct rpc_conn *);
void rpc_tcp_touch(struct rpc_tcp *, struct rpc_conn *);
void rpc_tcp_refused(const struct rpc_peer *, const char *what,
    const char *option);
const struct rpc_limits *rpc_tcp_limits(const struct rpc_tcp *);
struct rpc_server *rpc_tcp_server(const struct rpc_tcp *);

#endif
