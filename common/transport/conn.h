/* SPDX-License-Identifier: ISC */
/*
 * One stream connection: reads, serves records, sends replies. Private to the
 * stream transport: transport/tcp.c accepts and applies the limits, transport/conn.c serves
 * a connection, transport/host.c counts connections by host.
 *
 * An idle connection owns only this struct. Input is read into one buffer and
 * output collected in another. All connections of an event loop share both.
 * Runs in: the process that reads the network.
 */
#ifndef TRANSPORT_CONN_H
#define TRANSPORT_CONN_H

#include <sys/queue.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "transport/give.h"
#include "transport/host.h"
#include "transport/record.h"
#include "transport/starttls.h"
#include "transport/transport.h"

#define RPC_CONN_READ	(320 * 1024) /* per wake-up: some WRITEs of 64 KiB */
#define RPC_CONN_FLUSH	(256 * 1024) /* bytes of replies sent with one call */
#define RPC_CONN_SPARES 4 /* buffers kept: new pages are expensive */

struct rpc_conn {
	TAILQ_ENTRY(rpc_conn) age; /* in tcp->conns */
	TAILQ_ENTRY(rpc_conn) own; /* in host->conns */
	TAILQ_ENTRY(rpc_conn) incomplete; /* when record_since is set */
	TAILQ_ENTRY(rpc_conn) unfinished; /* the same, in host->unfinished */
	TAILQ_ENTRY(rpc_conn) stalled; /* when unsent_since is set */
	TAILQ_ENTRY(rpc_conn) again; /* in turn, when that is set */
	LIST_ENTRY(rpc_conn) by_id;
	struct rpc_tcp *tcp;
	struct rpc_host *host;
	struct rpc_turns *turn; /* the list it waits in for its turn, or NULL */
	struct rpc_origin origin;
	struct event readable, writable;
	struct rpc_record record;
	struct rpc_bytes held; /* input not yet served */
	struct rpc_bytes unsent;
	size_t partial, owed; /* its part of the sums of all */
	size_t awaited; /* bytes that deferred calls may answer */
	unsigned int deferred; /* calls on file threads */
	uint32_t active; /* ms / 1000: last input */
	uint64_t record_since; /* ms: start of an incomplete record, or 0 */
	uint64_t unsent_since; /* ms: last progress in sending, or 0 */
	int fd;
	struct rpc_starttls tls;
	bool eof, dead;
	bool reading, writing; /* events that are set */
	bool skipped; /* it has input, but its host had no time left */
	bool busy; /* no file thread or memory was free */
	struct rpc_chosen chosen;
};

/* A listening socket and its connections. */
struct rpc_tcp {
	struct rpc_streams *streams;
	struct rpc_server *server;
	struct rpc_limits limits;
	LIST_ENTRY(rpc_tcp) entry;
	int fd;
	int reserve; /* descriptor to close when none is left */
	struct event *acceptable;
	struct event *pause;
	struct rpc_conn_list conns; /* least active first */
	unsigned int count;
	bool local; /* a unix socket */
	void (*closed)(void *, uint64_t);
	void *arg;
	bool (*make_room)(void *);
	void *room_arg;
	bool (*is_trusted)(void *, uint32_t uid); /* NULL: every local user */
	void *trust_arg;
};

#define RPC_CONN_IDS 1024 /* buckets; connections are not limited by it */

/* State shared by all connections of an event loop. */
struct rpc_streams {
	struct event_base *base;
	LIST_HEAD(, rpc_tcp) listeners;
	struct rpc_host_bucket hosts[RPC_HOSTS];
	struct rpc_crowd crowds[RPC_CROWDS];
	struct proofs *proofs; /* NULL: none are kept */
	uint64_t chance; /* state of the random numbers of early drops */
	uint8_t *in; /* RPC_CONN_READ bytes */
	uint8_t *out; /* replies of the connection being served */
	uint8_t *spares[RPC_CONN_SPARES]; /* unused, as large as out */
	unsigned int nspares;
	size_t out_cap, out_len;
	size_t partial; /* memory of all incomplete records */
	size_t owed; /* memory of all unsent replies and held input */
	struct rpc_conn_list incomplete; /* oldest record first */
	struct rpc_conn_list stalled; /* least recent progress first */
	/*
	 * Connections that go on at the next turn of the loop. Those that were
	 * not served in the last one, since their host had no time left, are
	 * first. So the connections of a host are served by rotation. So are
	 * those for whose calls the file threads had no room, if their host got
	 * none. So one host cannot keep the others out.
	 */
	struct rpc_turns first, again;
	uint64_t turn; /* its number: in each, every host has time again */
	struct event *again_event;
	struct rpc_conn *late; /* out has late replies of it, if anything */
	struct event *late_event; /* sends them */
	struct event *tick; /* once a second while there are deadlines */
	LIST_HEAD(, rpc_conn) ids[RPC_CONN_IDS];
	uint64_t last_id;
	struct rpc_tls_hooks tls;
	struct rpc_tls_bytes tls_bytes;
	struct rpc_giving giving;
};

/* transport/conn.c. Serves the connections that wait, each once at most. */
void rpc_conn_turn(struct rpc_streams *);
/* Sends the replies of file threads that were collected. */
void rpc_conn_send_late(struct rpc_streams *);
/*
 * Applies the limits over all connections: closes those that have made no
 * progress for longest. Must not be called while a connection is served.
 */
void rpc_conn_relieve(struct rpc_streams *);
/*
 * Takes over a connected socket. Returns NULL if there is no memory or the
 * kernel watches no more descriptors.
 */
struct rpc_conn *rpc_conn_new(struct rpc_tcp *, int fd,
    const struct rpc_peer *);
/* Closes and frees the connection. */
void rpc_conn_close(struct rpc_conn *);
/* Logs that a limit closes a connection, and which option raises it. */
void rpc_conn_log_limit(const struct rpc_peer *, const char *what,
    const char *option);

/* Is there nothing to read, to do or to send? */
static inline bool
rpc_conn_is_idle(const struct rpc_conn *c)
{
	return c->deferred == 0 && c->unsent.buf == NULL &&
	    c->held.buf == NULL && !rpc_record_partial(&c->record) &&
	    rpc_starttls_is_open(&c->tls);
}

#endif
