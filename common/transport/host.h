/* SPDX-License-Identifier: ISC */
/*
 * The stream connections of each host, and of each kind of peers. They decide
 * which connection is closed when there is no place for another, and how much
 * time of the event loop a host gets. Private to the stream transport.
 * Runs in: the process that reads the network.
 */
#ifndef TRANSPORT_HOST_H
#define TRANSPORT_HOST_H

#include <sys/queue.h>

#include "base/rank.h"
#include "transport/transport.h"

struct rpc_conn;

#define RPC_HOSTS   1024 /* buckets; hosts are not limited by it */
#define RPC_HOST_NS 1000000u /* time of the event loop per turn */

TAILQ_HEAD(rpc_conn_list, rpc_conn);
LIST_HEAD(rpc_host_bucket, rpc_host);

/* Connections that wait for their turn, and how many. */
struct rpc_turns {
	struct rpc_conn_list conns;
	unsigned int n;
};

/*
 * Kinds of peers: other machines, local users, and local users who may
 * register. The last never lose a connection, since the entries of portmapd
 * live as long as the connection that made them.
 */
enum rpc_crowd_kind { RPC_REMOTE, RPC_LOCAL, RPC_TRUSTED, RPC_CROWDS };

/* All connections of one kind of peers. */
struct rpc_crowd {
	unsigned int count;
	unsigned int unfinished; /* connections with an incomplete record */
	struct rank by_count, by_unfinished; /* hosts */
};

/* The connections of one IPv4 address, IPv6 network (/64) or local user. */
struct rpc_host {
	LIST_ENTRY(rpc_host) entry;
	struct addr addr;
	struct rpc_crowd *crowd;
	struct rank_member count, unfinished;
	struct rpc_conn_list conns; /* least active first */
	struct rpc_conn_list incomplete; /* oldest record first */
	struct rpc_streams *streams;
	uint64_t turn; /* the last one in which it was served */
	uint64_t spent_ns; /* in that turn */
	uint64_t got; /* the last turn in which a call of it was deferred */
};

/*
 * From rpc_host_add() to rpc_host_remove(), a connection belongs to its listener
 * and to a host. rpc_host_remove() calls tcp->closed.
 */
bool rpc_host_add(struct rpc_conn *);
void rpc_host_remove(struct rpc_conn *);
/* Called on input: c is the most active of its listener and host. */
void rpc_host_touch(struct rpc_conn *);
/* Called when c begins (or ends) to wait for the rest of a record. */
void rpc_host_unfinished(struct rpc_conn *, bool);
/* Returns the host of a peer; NULL if it has no connection. */
struct rpc_host *rpc_host_find(struct rpc_streams *, const struct rpc_peer *);
/*
 * The time of the event loop that a host has left in this turn; and spends it.
 * The connections of a host share it, so that many get no more than one.
 */
uint64_t rpc_host_time(const struct rpc_host *);
void rpc_host_spend(struct rpc_host *, uint64_t ns);
/* Moves a connection to the end of a list; NULL: it waits for no turn. */
void rpc_host_queue(struct rpc_conn *, struct rpc_turns *);
struct rpc_crowd *rpc_crowd_of(struct rpc_tcp *, const struct rpc_peer *);
/*
 * Return the connection that is closed to make room for another one; NULL if
 * every one is at work. While most connections wait for the rest of a record,
 * it is the one of them that waits longest, of the host with most such
 * connections. Otherwise it is the least active idle one of the host with most
 * connections.
 */
struct rpc_conn *rpc_host_victim(const struct rpc_host *);
struct rpc_conn *rpc_crowd_victim(const struct rpc_streams *,
    const struct rpc_crowd *);

#endif
