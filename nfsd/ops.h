/* SPDX-License-Identifier: ISC */
/*
 * The neutral form of NFS: what an operation is asked and what it answers,
 * whatever the version on the wire. Codecs fill and read these structs;
 * operations never learn the version.
 * Runs in: nfsd worker.
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "fhandle.h"
#include "nfs.h"
#include "rpc.h"

struct fs_thread;

/* Attributes as a client sees them (fattr, fattr3). */
struct nfs_attr {
	enum nfs_ftype type;
	uint32_t mode; /* permission bits only */
	uint32_t nlink, uid, gid;
	uint64_t size, used;
	uint32_t rdev_major, rdev_minor;
	uint64_t fsid, fileid;
	struct timespec atime, mtime, ctime;
};

/* One context per call, filled by begin. */
struct call_ctx {
	struct rpc_call *call;
	const struct nfs_limits *limits; /* of the version that was asked */
	struct fs_thread *thread; /* identity, broker channel */
	/* After fs_open: who the caller is here. */
	const struct export_options *options;
	uint32_t uid, gid;
};

#endif
