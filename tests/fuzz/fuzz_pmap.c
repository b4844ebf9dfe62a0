/* SPDX-License-Identifier: ISC */
/*
 * Whole calls to portmapd. The first byte chooses socket and transport, the
 * rest is the message. Every reply must keep its limit and have the shape of
 * its RFC. Links: portmapd
 * Runs in: fuzzers and their replay.
 */
#include <stdlib.h>

#include "../wire/reply_shape.h"
#include "portmapd/pmap.h"
#include "rpc/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct portmap pm;
static struct rpc_server *servers[PMAP_SOCKETS];

static void
set_up(void)
{
	struct addr at;
	enum pmap_socket d;

	pm.map = pmap_map_new();
	policy_init(&pm.policy);
	for (d = 0; d < PMAP_SOCKETS; d++)
		servers[d] = pmap_server_new(&pm, d);
	(void)addr_parse(&at, "0.0.0.0:111");
	pmap_serve_self(&pm, &at, true);
	(void)addr_parse(&at, "[::]:111");
	pmap_serve_self(&pm, &at, false);
	pmap_serve_self_local(&pm, "/run/rpcbind.sock");
}

/* The shape of a reply to this call. NULL: it must be an error. */
static const struct reply_shape *
shape_of(const uint8_t *call, size_t size)
{
	struct xdr_in in;
	uint32_t prog, vers, proc;

	xdr_in_init(&in, call, size);
	(void)xdr_get_u64(&in);
	(void)xdr_get_u32(&in);
	prog = xdr_get_u32(&in);
	vers = xdr_get_u32(&in);
	proc = xdr_get_u32(&in);
	return reply_shape_find(prog, vers, proc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t reply[PMAP_REPLY_MAX];
	struct rpc_origin from = { .peer.max_reply = sizeof(reply) };
	enum pmap_socket via;
	size_t len = 0;

	if (pm.map == NULL)
		set_up();
	if (size == 0)
		return 0;
	via = data[0] % PMAP_SOCKETS;
	from.peer.kind = data[0] & 0x10 ? RPC_UDP : RPC_TCP;
	(void)addr_parse(&from.peer.from, "192.0.2.9:700");
	(void)addr_parse(&from.peer.to,
	    data[0] & 0x20 ? "[2001:db8::1]:111" : "192.0.2.1:111");
	if (via != SOCKET_NET) {
		from.peer.kind = RPC_UNIX;
		from.peer.id = data[0];
		from.peer.uid = data[0] & 0x40 ? 1000 : 0;
	} else if (from.peer.kind == RPC_UDP) {
		from.peer.max_reply = (uint32_t)((size - 1) * 3 / 2);
	}
	if (rpc_serve(servers[via], &from, data + 1, size - 1, reply,
		sizeof(reply), &len) == RPC_ANSWERED &&
	    (len > from.peer.max_reply ||
		!reply_is_whole(reply, len, shape_of(data + 1, size - 1))))
		abort();
	if (via == SOCKET_REGISTER)
		(void)pmap_map_drop(pm.map, from.peer.id);
	if (pmap_map_count(pm.map) > PMAP_ENTRIES_MAX)
		abort();
	return 0;
}
