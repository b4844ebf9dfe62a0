/* SPDX-License-Identifier: ISC */
/*
 * Connections that another process has accepted, for a struct rpc_tcp that was
 * made without a socket.
 * Runs in: nfsd worker.
 */
#ifndef RPC_TAKE_H
#define RPC_TAKE_H

#include "rpc/transport.h"

/*
 * Takes over a connection that another process has accepted. Its id is the
 * caller's: not 0, and unlike all others of these streams. False: it is closed.
 */
bool rpc_tcp_take(struct rpc_tcp *, int fd, uint64_t id);
/* A connection could not be received, since no descriptor was left for it. */
void rpc_tcp_shortage(struct rpc_tcp *);

#endif
