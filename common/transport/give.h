/* SPDX-License-Identifier: ISC */
/*
 * Connections that go from one process to another. Only one at rest goes: it owes no
 * reply and holds no byte of a call. What its client has sent meanwhile waits in the
 * kernel. Connections with TLS stay.
 * Runs in: the process that reads the network.
 */
#ifndef TRANSPORT_GIVE_H
#define TRANSPORT_GIVE_H

#include "transport/transport.h"

#define RPC_GIVE_MAX 64u /* connections that go at one request */
#define RPC_GIVE_MS  100u /* the time in which they should */

struct rpc_conn;

/*
 * For so many ms, gives half of the connections that send calls to another process,
 * each when it is at rest. One alone stays. give passes a copy of fd on; if it
 * returns false, this one and the others stay.
 */
void rpc_streams_give(struct rpc_streams *, unsigned int ms,
    bool (*give)(void *arg, int fd), void *arg);
/*
 * Takes over a connection that another process gave, as if it was accepted here.
 * from: its peer. Closes it if a limit is reached.
 */
void rpc_tcp_take(struct rpc_tcp *, int fd, const struct addr *from);

/* What follows is private to the stream transport. */

/* The last request. */
struct rpc_giving {
	unsigned int left; /* connections that may still go; 0: none */
	unsigned int seen; /* connections that were served since */
	uint32_t number; /* of the request */
	uint64_t until_ms;
	bool (*give)(void *arg, int fd);
	void *arg;
};

/* What it says of one connection. */
struct rpc_chosen {
	uint32_t number; /* of the request */
	bool goes;
};

/*
 * Gives c away if it goes and is at rest. True: the other process has it, and it
 * must be closed here. To be called when c was served.
 */
bool rpc_give(struct rpc_conn *);

#endif
