/* SPDX-License-Identifier: ISC */
/*
 * Any message into mountd's pipeline on a scratch directory: decoders, access
 * decisions, the walk below an export, the parent's seal, encoders. A handle in
 * a reply must be one of an export, never that of the file outside. Every reply
 * must keep its limit and have the shape of its RFC.
 * Links: mountd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "../wire/mount_fixture.h"
#include "../wire/reply_shape.h"
#include "mountd/mount.h"

#define REPLY_SMALL 400

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A word of a message. */
static uint32_t
word(const uint8_t *msg, size_t n)
{
	struct xdr_in in;

	xdr_in_init(&in, msg + 4 * n, 4);
	return xdr_get_u32(&in);
}

static void
check(const uint8_t *call, const uint8_t *reply, size_t len)
{
	uint32_t vers = word(call, 4), proc = word(call, 5);
	struct fh fh;

	if (!reply_is_whole(reply, len,
		reply_shape_find(MOUNT_PROGRAM, vers, proc)))
		abort();
	/* an error of RPC or of MOUNT has no handle */
	if (proc != MOUNTPROC_MNT || len <= 28 || word(reply, 5) != RPC_SUCCESS)
		return;
	memcpy(&fh, reply + (vers == 3 ? 32 : 28), sizeof(fh));
	if (!mount_fixture_gave(&fh))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct rpc_server *server;
	static uint8_t out[8192];
	struct rpc_origin origin = { .peer.from.family = AF_INET };
	size_t outlen = 0;

	if (server == NULL)
		server = mount_fixture_new();
	/* calls of odd length are datagrams with little room */
	origin.peer.kind = len % 2 != 0 ? RPC_UDP : RPC_TCP;
	origin.peer.max_reply = len % 2 != 0 ? REPLY_SMALL : sizeof(out);
	if (rpc_serve(server, &origin, data, len, out, sizeof(out), &outlen) !=
	    RPC_ANSWERED)
		return 0;
	if (outlen > origin.peer.max_reply)
		abort();
	if (len >= RPC_HEADER_MIN)
		check(data, out, outlen);
	return 0;
}
