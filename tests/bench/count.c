/* SPDX-License-Identifier: ISC */
/*
 * Serves one operation a number of times in memory, through the whole pipeline
 * and door, so that its instructions can be counted:
 *
 *	count OPERATION TIMES
 *
 * Two runs of different length differ by the cost of the operation alone.
 * Links: nfsd
 * Runs in: the instruction guard (tests/system/60-instructions.t).
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire/nfs_fixture.h"
#include "base/clock.h"
#include "base/util.h"
#include "rpc/msg.h"

static struct nfs_fixture *fixture;
static struct fh dir, file, large;

static void
put_fh(struct xdr_out *x, const struct fh *fh)
{
	xdr_put_opaque(x, fh->bytes, FH_SIZE);
}

static void
put_nothing(struct xdr_out *x)
{
	(void)x;
}

static void
put_file(struct xdr_out *x)
{
	put_fh(x, &file);
}

static void
put_lookup(struct xdr_out *x)
{
	put_fh(x, &dir);
	xdr_put_string(x, "b");
}

static void
put_access(struct xdr_out *x)
{
	put_fh(x, &file);
	xdr_put_u32(x, 0x3f);
}

static void
put_read(struct xdr_out *x)
{
	put_fh(x, &large);
	xdr_put_u64(x, 4096);
	xdr_put_u32(x, 4096);
}

static void
put_write(struct xdr_out *x)
{
	static const uint8_t data[4096];

	put_fh(x, &file);
	xdr_put_u64(x, 0);
	xdr_put_u32(x, sizeof(data));
	xdr_put_u32(x, 0);
	xdr_put_opaque(x, data, sizeof(data));
}

static void
put_list(struct xdr_out *x)
{
	put_fh(x, &dir);
	xdr_put_u64(x, 0);
	xdr_put_u64(x, 0);
	xdr_put_u32(x, 8192);
	xdr_put_u32(x, 8192);
}

/* Renames to another name and back. */
static void
put_rename(struct xdr_out *x)
{
	static unsigned int turn;
	const char *names[2] = { "a", "z" };

	put_fh(x, &dir);
	xdr_put_string(x, names[turn % 2]);
	put_fh(x, &dir);
	xdr_put_string(x, names[++turn % 2]);
}

/* clang-format off */
static const struct {
	const char *name;
	uint32_t proc;
	void (*put)(struct xdr_out *);
} operations[] = {
	{ "null",        NFSPROC3_NULL,        put_nothing },
	{ "getattr",     NFSPROC3_GETATTR,     put_file },
	{ "lookup",      NFSPROC3_LOOKUP,      put_lookup },
	{ "access",      NFSPROC3_ACCESS,      put_access },
	{ "read4k",      NFSPROC3_READ,        put_read },
	{ "write4k",     NFSPROC3_WRITE,       put_write },
	{ "rename",      NFSPROC3_RENAME,      put_rename },
	{ "readdirplus", NFSPROC3_READDIRPLUS, put_list },
};
/* clang-format on */

/* Writes the call with its header, once for each of two turns. */
static size_t
make_call(size_t op, uint8_t *buf, size_t cap)
{
	const struct rpc_cred cred = { .flavor = AUTH_SYS };
	const struct rpc_head head = { .xid = 7,
		.prog = NFS_PROGRAM,
		.vers = 3,
		.proc = operations[op].proc };
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	rpc_put_call(&x, &head, &cred);
	operations[op].put(&x);
	return x.len;
}

static void
serve(size_t op, unsigned long times)
{
	static uint8_t calls[2][8192], reply[65536];
	struct rpc_server *server = nfs_fixture_server(fixture);
	struct rpc_origin origin = { .peer.kind = RPC_TCP,
		.peer.id = 1,
		.peer.max_reply = sizeof(reply) };
	size_t len[2], got;
	unsigned long i;

	(void)addr_parse(&origin.peer.from, "127.0.0.1:700");
	(void)addr_parse(&origin.peer.to, "127.0.0.1:2049");
	len[0] = make_call(op, calls[0], sizeof(calls[0]));
	len[1] = make_call(op, calls[1], sizeof(calls[1]));
	rpc_server_begin(server, clock_ns());
	for (i = 0; i < times; i++) {
		if (rpc_serve(server, &origin, calls[i % 2], len[i % 2], reply,
			sizeof(reply), &got) != RPC_ANSWERED ||
		    memcmp(reply + 20, "\0\0\0\0\0\0\0\0", op == 0 ? 4 : 8) !=
			0)
			errx(1, "%s failed", operations[op].name);
	}
	(void)rpc_server_end(server);
}

int
main(int argc, char *argv[])
{
	size_t op;

	if (argc != 3)
		errx(2, "usage: count OPERATION TIMES");
	for (op = 0; op < nitems(operations); op++)
		if (strcmp(operations[op].name, argv[1]) == 0)
			break;
	if (op == nitems(operations))
		errx(2, "no operation %s", argv[1]);
	if ((fixture = nfs_fixture_new("")) == NULL)
		errx(1, "no fixture");
	dir = nfs_fixture_handle(fixture, "sub");
	file = nfs_fixture_handle(fixture, "file");
	large = nfs_fixture_handle(fixture, "large");
	serve(op, strtoul(argv[2], NULL, 10));
	nfs_fixture_free(fixture);
	return 0;
}
