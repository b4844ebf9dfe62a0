/* SPDX-License-Identifier: ISC */
/*
 * RQUOTA versions 1 and 2: one row per procedure. Clients find the program on
 * the port of NFS. quota(1) runs without privilege, so these calls may come from
 * any port, whatever the export demands of NFS.
 * Runs in: nfsd worker, tests.
 */
#include "base/util.h"
#include "nfsd/ops/ops.h"
#include "nfsd/wire/rquota_xdr.h"
#include "rpc/server.h"

/* clang-format off */
const struct rpc_proc rquota1_procs[RQUOTAPROC_COUNT] = {
	[RQUOTAPROC_NULL]           = { "NULL",           rpc_get_void,         rpc_run_void, rpc_put_void,     0 },
	[RQUOTAPROC_GETQUOTA]       = { "GETQUOTA",       rquota1_get_getquota, op_getquota,  rquota_put_quota, RPC_ANY_PORT },
	[RQUOTAPROC_GETACTIVEQUOTA] = { "GETACTIVEQUOTA", rquota1_get_getquota, op_getquota,  rquota_put_quota, RPC_ANY_PORT },
	[RQUOTAPROC_SETQUOTA]       = { "SETQUOTA",       rquota1_get_setquota, op_setquota,  rquota_put_quota, 0 },
	[RQUOTAPROC_SETACTIVEQUOTA] = { "SETACTIVEQUOTA", rquota1_get_setquota, op_setquota,  rquota_put_quota, 0 },
};

const struct rpc_proc rquota2_procs[RQUOTAPROC_COUNT] = {
	[RQUOTAPROC_NULL]           = { "NULL",           rpc_get_void,         rpc_run_void, rpc_put_void,     0 },
	[RQUOTAPROC_GETQUOTA]       = { "GETQUOTA",       rquota2_get_getquota, op_getquota,  rquota_put_quota, RPC_ANY_PORT },
	[RQUOTAPROC_GETACTIVEQUOTA] = { "GETACTIVEQUOTA", rquota2_get_getquota, op_getquota,  rquota_put_quota, RPC_ANY_PORT },
	[RQUOTAPROC_SETQUOTA]       = { "SETQUOTA",       rquota2_get_setquota, op_setquota,  rquota_put_quota, 0 },
	[RQUOTAPROC_SETACTIVEQUOTA] = { "SETACTIVEQUOTA", rquota2_get_setquota, op_setquota,  rquota_put_quota, 0 },
};

static const struct rpc_vers versions[] = {
	{ 1, RQUOTAPROC_COUNT, rquota1_procs },
	{ 2, RQUOTAPROC_COUNT, rquota2_procs },
};
/* clang-format on */

const struct rpc_prog rquota_program = {
	.name = "rquota",
	.prog = RQUOTA_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
