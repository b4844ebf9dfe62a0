/* SPDX-License-Identifier: ISC */
/*
 * NFS version 2: one row per procedure of RFC 1094.
 * Runs in: nfsd worker, tests.
 */
#include "nfsd/ops/ops.h"
#include "nfsd/wire/nfs2_xdr.h"
#include "rpc/server.h"

/* clang-format off */
const struct rpc_proc nfs2_procs[NFSPROC2_COUNT] = {
	[NFSPROC2_NULL]       = { "NULL",       rpc_get_void,     rpc_run_void, rpc_put_void,      0 },
	[NFSPROC2_GETATTR]    = { "GETATTR",    nfs2_get_object,  op_getattr,   nfs2_put_getattr,  0 },
	[NFSPROC2_SETATTR]    = { "SETATTR",    nfs2_get_setattr, op_setattr,   nfs2_put_changed,  RPC_CACHED },
	[NFSPROC2_ROOT]       = { "ROOT",       rpc_get_void,     rpc_run_void, rpc_put_void,      0 },
	[NFSPROC2_LOOKUP]     = { "LOOKUP",     nfs2_get_place,   op_lookup,    nfs2_put_dirop,    0 },
	[NFSPROC2_READLINK]   = { "READLINK",   nfs2_get_object,  op_readlink,  nfs2_put_readlink, 0 },
	[NFSPROC2_READ]       = { "READ",       nfs2_get_read,    op_read,      nfs2_put_read,     0 },
	[NFSPROC2_WRITECACHE] = { "WRITECACHE", rpc_get_void,     rpc_run_void, rpc_put_void,      0 },
	[NFSPROC2_WRITE]      = { "WRITE",      nfs2_get_write,   op_write,     nfs2_put_changed,  0 },
	[NFSPROC2_CREATE]     = { "CREATE",     nfs2_get_create,  op_create,    nfs2_put_dirop,    RPC_CACHED },
	[NFSPROC2_REMOVE]     = { "REMOVE",     nfs2_get_place,   op_remove,    nfs2_put_status,   RPC_CACHED },
	[NFSPROC2_RENAME]     = { "RENAME",     nfs2_get_rename,  op_rename,    nfs2_put_status,   RPC_CACHED },
	[NFSPROC2_LINK]       = { "LINK",       nfs2_get_link,    op_link,      nfs2_put_status,   RPC_CACHED },
	[NFSPROC2_SYMLINK]    = { "SYMLINK",    nfs2_get_symlink, op_symlink,   nfs2_put_status,   RPC_CACHED },
	[NFSPROC2_MKDIR]      = { "MKDIR",      nfs2_get_mkdir,   op_mkdir,     nfs2_put_dirop,    RPC_CACHED },
	[NFSPROC2_RMDIR]      = { "RMDIR",      nfs2_get_place,   op_rmdir,     nfs2_put_status,   RPC_CACHED },
	[NFSPROC2_READDIR]    = { "READDIR",    nfs2_get_readdir, op_readdir,   nfs2_put_readdir,  0 },
	[NFSPROC2_STATFS]     = { "STATFS",     nfs2_get_object,  op_fsstat,    nfs2_put_statfs,   0 },
};
/* clang-format on */
