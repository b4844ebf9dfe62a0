/* SPDX-License-Identifier: ISC */
/*
 * Vectors of RPC itself, against a program with two rows under the numbers of
 * NFS version 2: NULL, and ECHO that returns its opaque argument.
 * Runs in: tests.
 */
#include "base/util.h"
#include "replay.h"

struct call_ctx {
	char unused;
};

struct call_args {
	struct slice data;
};

struct call_res {
	struct slice data;
};

static void
get_echo(struct xdr_in *x, struct call_args *args)
{
	args->data = xdr_get_opaque(x, 1024);
}

static void
run_echo(struct call_ctx *ctx UNUSED, const struct call_args *args,
    struct call_res *res)
{
	res->data = args->data;
}

static void
put_echo(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_opaque(x, res->data.data, res->data.len);
}

static const struct rpc_proc rows[] = {
	{ "NULL", rpc_get_void, rpc_run_void, rpc_put_void, 0 },
	{ "ECHO", get_echo, run_echo, put_echo, 0 },
};

static const struct rpc_vers versions[] = {
	{ .vers = 2, .nprocs = nitems(rows), .procs = rows },
};

static const struct rpc_prog prog = { "stub", 100003, nitems(versions),
	versions };
static const struct rpc_prog *const progs[] = { &prog };

static const struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
	.args_size = sizeof(struct call_args),
	.res_size = sizeof(struct call_res) };

static struct rpc_server *
begin(const char *setup UNUSED)
{
	return rpc_server_new(progs, nitems(progs), &hooks);
}

static const struct replay_fixture stub = { .progs = progs,
	.no_rfc = true,
	.nprogs = nitems(progs),
	.begin = begin,
	.end = rpc_server_free };

int
main(void)
{
	return replay_main(&stub);
}
