/* SPDX-License-Identifier: ISC */
/*
 * The amount of data in a READ: never more than the reply has room for, since
 * READ writes there before the reply is encoded.
 * Runs in: tests.
 */
#include "exports/exports.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/wire/nfs3_xdr.h"
#include "tap.h"

static uint32_t
read_max(size_t room, uint32_t configured)
{
	const struct export_options options = { .readsize = configured };
	struct rpc_call call = { .room_len = room };
	const struct call_ctx ctx = {
		.call = &call, .limits = &nfs3_limits, .options = &options
	};

	return ops_read_max(&ctx);
}

int
main(void)
{
	size_t at = nfs3_limits.read_at, room, bad = 0;

	plan(NO_PLAN);
	for (room = 0; room < 4096; room++)
		bad += read_max(room, 0) > (room < at ? 0 : room - at);
	cmp_ok(bad, "==", 0, "data never exceeds the room, however small");
	cmp_ok(read_max(65507 - 24, 0), "==", 32768,
	    "a datagram carries a power of two");
	cmp_ok(read_max(2 * NFS3_MAXDATA, 0), "==", NFS3_MAXDATA,
	    "a stream carries the maximum of the version");
	cmp_ok(read_max(2 * NFS3_MAXDATA, 16384), "==", 16384,
	    "or the readsize of the export");
	done_testing();
}
