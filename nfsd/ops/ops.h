/* SPDX-License-Identifier: ISC */
/*
 * The operations: what a procedure does, independent of the protocol version.
 * An operation opens its objects only through the door, makes its system calls
 * as the caller, and fills the neutral result.
 * Runs in: nfsd worker.
 */
#ifndef OPS_H
#define OPS_H

#include <stdint.h>

#include "nfsd/wire/call.h"

struct dirent64;

#define OPS_ENTRIES_MAX 1024 /* entries of one reply */
#define OPS_LISTING_MAX 65536 /* bytes from the kernel; bytes of names */

/* Memory of one thread for listings and link targets; never zeroed. */
struct ops_scratch {
	_Alignas(8) uint8_t dirents[OPS_LISTING_MAX]; /* from the kernel */
	uint8_t names[OPS_LISTING_MAX]; /* in the player dialect */
	struct nfs_dirent list[OPS_ENTRIES_MAX];
	const struct dirent64 *files[OPS_ENTRIES_MAX]; /* entry i in dirents */
	char target[NFS_TARGET_MAX + 1];
	struct nfs_acl access, dflt;
	struct nfs_acl old_dflt; /* before SETACL */
};

/*
 * Each operation fills res->status. Also on an error, it fills the weak cache
 * data that it knows. The umask of the process must be 0.
 */
/* ops_attr.c */
void op_getattr(struct call_ctx *, const struct call_args *, struct call_res *);
void op_setattr(struct call_ctx *, const struct call_args *, struct call_res *);
void op_access(struct call_ctx *, const struct call_args *, struct call_res *);
/* ops_acl.c */
void op_getacl(struct call_ctx *, const struct call_args *, struct call_res *);
void op_setacl(struct call_ctx *, const struct call_args *, struct call_res *);
/* ops_quota.c */
void op_getquota(struct call_ctx *, const struct call_args *,
    struct call_res *);
void op_setquota(struct call_ctx *, const struct call_args *,
    struct call_res *);
/* ops_name.c */
void op_lookup(struct call_ctx *, const struct call_args *, struct call_res *);
void op_remove(struct call_ctx *, const struct call_args *, struct call_res *);
void op_rmdir(struct call_ctx *, const struct call_args *, struct call_res *);
void op_rename(struct call_ctx *, const struct call_args *, struct call_res *);
void op_link(struct call_ctx *, const struct call_args *, struct call_res *);
/* ops_make.c */
void op_create(struct call_ctx *, const struct call_args *, struct call_res *);
void op_mkdir(struct call_ctx *, const struct call_args *, struct call_res *);
void op_mknod(struct call_ctx *, const struct call_args *, struct call_res *);
void op_symlink(struct call_ctx *, const struct call_args *, struct call_res *);
/* ops_io.c */
void op_read(struct call_ctx *, const struct call_args *, struct call_res *);
void op_write(struct call_ctx *, const struct call_args *, struct call_res *);
void op_commit(struct call_ctx *, const struct call_args *, struct call_res *);
void op_readlink(struct call_ctx *, const struct call_args *,
    struct call_res *);
/* ops_dir.c */
void op_readdir(struct call_ctx *, const struct call_args *, struct call_res *);
void op_readdirplus(struct call_ctx *, const struct call_args *,
    struct call_res *);
/* ops_fsys.c */
void op_fsstat(struct call_ctx *, const struct call_args *, struct call_res *);
void op_fsinfo(struct call_ctx *, const struct call_args *, struct call_res *);
void op_pathconf(struct call_ctx *, const struct call_args *,
    struct call_res *);

#endif
