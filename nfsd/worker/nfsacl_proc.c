/* SPDX-License-Identifier: ISC */
/*
 * NFSACL versions 2 and 3: one row per procedure. Clients find the program on
 * the port of NFS.
 * Runs in: nfsd worker, tests.
 */
#include "base/util.h"
#include "nfsd/ops/ops.h"
#include "nfsd/wire/nfs2_xdr.h"
#include "nfsd/wire/nfsacl_xdr.h"
#include "rpc/server.h"

/* clang-format off */
const struct rpc_proc nfsacl2_procs[NFSACLPROC2_COUNT] = {
	[NFSACLPROC_NULL]     = { "NULL",    rpc_get_void,       rpc_run_void, rpc_put_void,       0 },
	[NFSACLPROC_GETACL]   = { "GETACL",  nfsacl2_get_getacl, op_getacl,    nfsacl2_put_getacl, 0 },
	[NFSACLPROC_SETACL]   = { "SETACL",  nfsacl2_get_setacl, op_setacl,    nfs2_put_getattr,   RPC_CACHED },
	[NFSACLPROC2_GETATTR] = { "GETATTR", nfs2_get_object,    op_getattr,   nfs2_put_getattr,   0 },
	[NFSACLPROC2_ACCESS]  = { "ACCESS",  nfsacl2_get_access, op_access,    nfsacl2_put_access, 0 },
};

const struct rpc_proc nfsacl3_procs[NFSACLPROC3_COUNT] = {
	[NFSACLPROC_NULL]   = { "NULL",   rpc_get_void,       rpc_run_void, rpc_put_void,       0 },
	[NFSACLPROC_GETACL] = { "GETACL", nfsacl3_get_getacl, op_getacl,    nfsacl3_put_getacl, 0 },
	[NFSACLPROC_SETACL] = { "SETACL", nfsacl3_get_setacl, op_setacl,    nfsacl3_put_setacl, RPC_CACHED },
};

static const struct rpc_vers versions[] = {
	{ 2, NFSACLPROC2_COUNT, nfsacl2_procs },
	{ 3, NFSACLPROC3_COUNT, nfsacl3_procs },
};
/* clang-format on */

const struct rpc_prog nfsacl_program = {
	.name = "nfsacl",
	.prog = NFSACL_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
