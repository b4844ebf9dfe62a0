/* SPDX-License-Identifier: ISC */
/*
 * The rows of MOUNT's procedures.
 * Runs in: mountd worker.
 */
#include "base/util.h"
#include "mountd/mount.h"
#include "rpc/server.h"

/* clang-format off */
static const struct rpc_proc mount2[] = {
	[MOUNTPROC_NULL]      = { "NULL",      rpc_get_void,   rpc_run_void, rpc_put_void,       0 },
	[MOUNTPROC_MNT]       = { "MNT",       mount_get_path, op_mnt,       mount_put_fhstatus, 0 },
	[MOUNTPROC_DUMP]      = { "DUMP",      rpc_get_void,   op_dump,      mount_put_mounts,   0 },
	[MOUNTPROC_UMNT]      = { "UMNT",      mount_get_path, op_umnt,      rpc_put_void,       0 },
	[MOUNTPROC_UMNTALL]   = { "UMNTALL",   rpc_get_void,   op_umntall,   rpc_put_void,       0 },
	[MOUNTPROC_EXPORT]    = { "EXPORT",    rpc_get_void,   op_export,    mount_put_exports,  0 },
	[MOUNTPROC_EXPORTALL] = { "EXPORTALL", rpc_get_void,   op_export,    mount_put_exports,  0 },
	[MOUNTPROC_PATHCONF]  = { "PATHCONF",  mount_get_path, op_pathconf,  mount_put_pathconf, 0 },
};

static const struct rpc_proc mount3[] = {
	[MOUNTPROC_NULL]      = { "NULL",      rpc_get_void,   rpc_run_void, rpc_put_void,        0 },
	[MOUNTPROC_MNT]       = { "MNT",       mount_get_path, op_mnt,       mount_put_mountres3, 0 },
	[MOUNTPROC_DUMP]      = { "DUMP",      rpc_get_void,   op_dump,      mount_put_mounts,    0 },
	[MOUNTPROC_UMNT]      = { "UMNT",      mount_get_path, op_umnt,      rpc_put_void,        0 },
	[MOUNTPROC_UMNTALL]   = { "UMNTALL",   rpc_get_void,   op_umntall,   rpc_put_void,        0 },
	[MOUNTPROC_EXPORT]    = { "EXPORT",    rpc_get_void,   op_export,    mount_put_exports3,  0 },
};

static const struct rpc_vers versions[] = {
	{ 1, MOUNTPROC_EXPORTALL + 1, mount2 }, /* all but PATHCONF */
	{ 2, nitems(mount2), mount2 },
	{ 3, nitems(mount3), mount3 },
};
/* clang-format on */

const struct rpc_prog mount_prog = {
	.name = "mount",
	.prog = MOUNT_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
