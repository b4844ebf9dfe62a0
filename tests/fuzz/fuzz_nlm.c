/* SPDX-License-Identifier: ISC */
/*
 * Whole calls to the nlm role. The first byte chooses the transport and what is
 * behind it, the rest is the message. Every reply must keep its limit and have
 * its shape. Only an answer to a call-back reaches the table unasked. Links: nfsd
 * Runs in: fuzzers and their replay.
 */
#include <stdlib.h>

#include "../wire/nlm_fixture.h"
#include "../wire/reply_shape.h"
#include "rpc/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char *const setups[] = { "", "holder", "nolocks", "gone", "stat 1",
	"stat 5", "stat 3", "" };

/* The shape of a reply to this call. NULL: it must be an error. */
static const struct reply_shape *
shape_of(const uint8_t *call, size_t size)
{
	uint32_t prog, vers, proc;
	struct xdr_in in;

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
	static uint8_t reply[NLM_REPLY_MAX];
	struct rpc_origin from = { .peer.max_reply = sizeof(reply) };
	struct rpc_server *server;
	size_t len = 0;

	if (size == 0)
		return 0;
	server = nlm_fixture_begin(setups[data[0] & 7]);
	from.peer.kind = data[0] & 0x10 ? RPC_UDP : RPC_TCP;
	(void)addr_parse(&from.peer.from,
	    data[0] & 0x20 ? "192.0.2.9:700" : "[2001:db8::9]:7000");
	(void)addr_parse(&from.peer.to,
	    data[0] & 0x20 ? "192.0.2.1:4045" : "[2001:db8::1]:4045");
	if (from.peer.kind == RPC_UDP)
		from.peer.max_reply = (uint32_t)((size - 1) * 3 / 2);
	if (rpc_serve(server, &from, data + 1, size - 1, reply, sizeof(reply),
		&len) == RPC_ANSWERED &&
	    (len > from.peer.max_reply ||
		!reply_is_whole(reply, len, shape_of(data + 1, size - 1))))
		abort();
	/* A datagram frees nothing, nor does a user's port. */
	if (nlm_fixture_sent.freed > 0 &&
	    (from.peer.kind == RPC_UDP || from.peer.from.port >= 1024))
		abort();
	nlm_fixture_end(server);
	return 0;
}
