/* SPDX-License-Identifier: ISC */
/*
 * Whole calls to a whole server on a scratch directory. Each piece of the input
 * is how, procedure, length and arguments, where "\xfe" and a letter stand for
 * a valid handle. The server must not read or change a file outside of the
 * exports, and must answer every call, in the limit and shape of its protocol.
 * Links: nfsd
 * Runs in: fuzzer, test program.
 */
#include <stdlib.h>
#include <string.h>

#include "../wire/nfs_fixture.h"
#include "../wire/outside.h"
#include "../wire/reply_shape.h"
#include "base/util.h"
#include "rpc/msg.h"
#include "rpc/reply_cache.h"

#define ROUNDS	    500 /* before the directory is made again */
#define CALL_MAX    8192 /* 255 bytes, and all of them handles */
#define REPLY_SMALL 600

/* Bits of how; four more are the xid. */
enum { HOW_V3 = 1, HOW_USER = 2, HOW_SMALL = 4, HOW_NONE = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const names[] = { "root", "file", "sub", "empty", "link",
	"fifo", "big", "open", "other", "player", "gone", "forged" };
static struct fh handles[nitems(names)];
static struct nfs_fixture *fixture;
static struct reply_cache *replies;

static void
clean_up(void)
{
	nfs_fixture_free(fixture);
	reply_cache_free(replies);
}

static void
renew(void)
{
	size_t i;

	if (fixture == NULL)
		(void)atexit(clean_up);
	clean_up();
	fixture = nfs_fixture_new("");
	replies = reply_cache_new(64, NULL, NULL);
	rpc_server_set_cache(nfs_fixture_server(fixture), replies);
	outside_put(nfs_fixture_dir(fixture));
	for (i = 0; i < nitems(names); i++)
		handles[i] = nfs_fixture_handle(fixture, names[i]);
}

/* Copies arguments and inserts handles. */
static void
put_args(struct xdr_out *x, const uint8_t *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (data[i] == 0xfe && i + 1 < len && data[i + 1] >= 'a' &&
		    data[i + 1] < 'a' + nitems(names))
			xdr_put_fixed(x, handles[data[++i] - 'a'].bytes,
			    FH_SIZE);
		else
			x->base[x->len++] = data[i];
}

static void
call(uint8_t how, uint32_t proc, const uint8_t *data, size_t len)
{
	static uint8_t msg[CALL_MAX], reply[NFS_RECORD_MAX];
	struct rpc_cred cred = { .flavor = how & HOW_NONE ? 0 : AUTH_SYS };
	const uint32_t quota = proc >= 224 ? RQUOTA_PROGRAM : 0;
	const uint32_t other = proc >= 240 ? NFSACL_PROGRAM : quota;
	struct rpc_head head = { .xid = how >> 4,
		.prog = other == 0 ? NFS_PROGRAM : other,
		.proc = proc % (other == 0 ? 24 : 16),
		.vers = (how & HOW_V3 ? 3u : 2u) - (other == RQUOTA_PROGRAM) };
	struct rpc_origin from = { .peer.max_reply = sizeof(reply) };
	struct xdr_out out;
	size_t got = 0;

	cred.uid = cred.gid = how & HOW_USER ? 1000 : 0;
	from.peer.kind = how & HOW_SMALL ? RPC_UDP : RPC_TCP;
	if (from.peer.kind == RPC_UDP)
		from.peer.max_reply = REPLY_SMALL;
	(void)addr_parse(&from.peer.from, "127.0.0.1:700");
	xdr_out_init(&out, msg, sizeof(msg));
	rpc_put_call(&out, &head, &cred);
	put_args(&out, data, len);
	if (rpc_serve(nfs_fixture_server(fixture), &from, msg, out.len, reply,
		sizeof(reply), &got) != RPC_ANSWERED)
		abort();
	if (got > from.peer.max_reply || outside_is_in(reply, got) ||
	    !reply_is_whole(reply, got,
		reply_shape_find(head.prog, head.vers, head.proc)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static unsigned int rounds;
	size_t size;

	if (rounds++ % ROUNDS == 0)
		renew();
	for (; len > 3; data += 3 + size, len -= 3 + size) {
		size = data[2] < len - 3 ? data[2] : len - 3;
		call(data[0], data[1], data + 3, size);
	}
	if (!outside_is_whole())
		abort();
	return 0;
}
