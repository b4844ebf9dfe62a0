/* SPDX-License-Identifier: ISC */
/*
 * NFS version 3: one row per procedure of RFC 1813. Also the program with both
 * its versions.
 * Runs in: nfsd worker, tests.
 */
#include "base/util.h"
#include "nfsd/ops/ops.h"
#include "nfsd/wire/nfs2_xdr.h"
#include "nfsd/wire/nfs3_xdr.h"
#include "rpc/server.h"

/* clang-format off */
const struct rpc_proc nfs3_procs[NFSPROC3_COUNT] = {
	[NFSPROC3_NULL]        = { "NULL",        rpc_get_void,         rpc_run_void,   rpc_put_void,         0 },
	[NFSPROC3_GETATTR]     = { "GETATTR",     nfs3_get_object,      op_getattr,     nfs3_put_getattr,     0 },
	[NFSPROC3_SETATTR]     = { "SETATTR",     nfs3_get_setattr,     op_setattr,     nfs3_put_wcc,         RPC_CACHED },
	[NFSPROC3_LOOKUP]      = { "LOOKUP",      nfs3_get_place,       op_lookup,      nfs3_put_lookup,      0 },
	[NFSPROC3_ACCESS]      = { "ACCESS",      nfs3_get_access,      op_access,      nfs3_put_access,      0 },
	[NFSPROC3_READLINK]    = { "READLINK",    nfs3_get_object,      op_readlink,    nfs3_put_readlink,    0 },
	[NFSPROC3_READ]        = { "READ",        nfs3_get_read,        op_read,        nfs3_put_read,        0 },
	[NFSPROC3_WRITE]       = { "WRITE",       nfs3_get_write,       op_write,       nfs3_put_write,       0 },
	[NFSPROC3_CREATE]      = { "CREATE",      nfs3_get_create,      op_create,      nfs3_put_made,        RPC_CACHED },
	[NFSPROC3_MKDIR]       = { "MKDIR",       nfs3_get_mkdir,       op_mkdir,       nfs3_put_made,        RPC_CACHED },
	[NFSPROC3_SYMLINK]     = { "SYMLINK",     nfs3_get_symlink,     op_symlink,     nfs3_put_made,        RPC_CACHED },
	[NFSPROC3_MKNOD]       = { "MKNOD",       nfs3_get_mknod,       op_mknod,       nfs3_put_made,        RPC_CACHED },
	[NFSPROC3_REMOVE]      = { "REMOVE",      nfs3_get_place,       op_remove,      nfs3_put_wcc,         RPC_CACHED },
	[NFSPROC3_RMDIR]       = { "RMDIR",       nfs3_get_place,       op_rmdir,       nfs3_put_wcc,         RPC_CACHED },
	[NFSPROC3_RENAME]      = { "RENAME",      nfs3_get_rename,      op_rename,      nfs3_put_rename,      RPC_CACHED },
	[NFSPROC3_LINK]        = { "LINK",        nfs3_get_link,        op_link,        nfs3_put_link,        RPC_CACHED },
	[NFSPROC3_READDIR]     = { "READDIR",     nfs3_get_readdir,     op_readdir,     nfs3_put_readdir,     0 },
	[NFSPROC3_READDIRPLUS] = { "READDIRPLUS", nfs3_get_readdirplus, op_readdirplus, nfs3_put_readdirplus, 0 },
	[NFSPROC3_FSSTAT]      = { "FSSTAT",      nfs3_get_object,      op_fsstat,      nfs3_put_fsstat,      0 },
	[NFSPROC3_FSINFO]      = { "FSINFO",      nfs3_get_object,      op_fsinfo,      nfs3_put_fsinfo,      0 },
	[NFSPROC3_PATHCONF]    = { "PATHCONF",    nfs3_get_object,      op_pathconf,    nfs3_put_pathconf,    0 },
	[NFSPROC3_COMMIT]      = { "COMMIT",      nfs3_get_commit,      op_commit,      nfs3_put_commit,      0 },
};

static const struct rpc_vers versions[] = {
	{ 2, NFSPROC2_COUNT, nfs2_procs },
	{ 3, NFSPROC3_COUNT, nfs3_procs },
};
/* clang-format on */

const struct rpc_prog nfs_program = {
	.name = "nfs",
	.prog = NFS_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
