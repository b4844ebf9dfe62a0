/* SPDX-License-Identifier: ISC */
/*
 * One call, one reply, with a deadline: what tests and benchmarks need.
 * The reply is hostile until decoded: same cursor, same limits.
 * Runs in: tests.
 */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/rpc.h"

struct rpc_target {
	int fd; /* connected: datagram or stream */
	bool stream;
	uint32_t prog, vers;
	const struct rpc_cred *cred; /* NULL: AUTH_NONE */
	int timeout_ms;
	uint32_t xid; /* of a call that is sent again; 0: a new one */
};

/*
 * Sends the call (args: encoded arguments) and waits for the reply with its
 * xid. NULL: *res covers the result bytes in buf. Else the reason: "timed out",
 * "program unavailable", "connection closed", ...
 */
const char *rpc_client_call(const struct rpc_target *, uint32_t procnum,
    const uint8_t *args, size_t args_len, uint8_t *buf, size_t buf_size,
    struct xdr_in *res);

/* A connected unix stream socket, or -1 with errno. */
int rpc_client_unix(const char *path);

#endif
