/* SPDX-License-Identifier: ISC */
/*
 * FSSTAT (STATFS), FSINFO, PATHCONF: size and abilities of a filesystem.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/vfs.h>

#include <errno.h>

#include "exports/exports.h"
#include "handle/fstype.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/ops_util.h"

/*
 * Opens the object and sets its attributes and the facts of its filesystem. On
 * NFS_OK it stays open: ctx->options are those of an open object.
 */
static enum nfsstat
ask_statfs(struct call_ctx *ctx, const struct fh *fh, struct nfs_post *post,
    struct statfs *f, struct door_obj *obj)
{
	enum nfsstat status;

	status = door_open(ctx, fh, 0, obj);
	if (status != NFS_OK)
		return status;
	ops_post(post, obj, &obj->st);
	if (fstatfs(obj->fd, f) == 0)
		return NFS_OK;
	status = nfs_status(errno);
	door_close(obj);
	return status;
}

/*
 * Returns n, or 0 if n is above max. Some filesystems report negative free
 * space as a huge number.
 */
static uint64_t
at_most(uint64_t n, uint64_t max)
{
	return n > max ? 0 : n;
}

void
op_fsstat(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct nfs_fsstat *out = &res->fsstat;
	struct door_obj obj;
	struct statfs f;
	uint64_t block;

	res->status = ask_statfs(ctx, &args->object, &res->post, &f, &obj);
	if (res->status != NFS_OK)
		return;
	block = f.f_frsize > 0 ? (uint64_t)f.f_frsize : 512;
	out->block = (uint32_t)block;
	out->tbytes = f.f_blocks * block;
	out->fbytes = at_most(f.f_bfree, f.f_blocks) * block;
	out->abytes = at_most(f.f_bavail, f.f_blocks) * block;
	out->tfiles = f.f_files;
	out->ffiles = at_most(f.f_ffree, f.f_files);
	out->afiles = out->ffiles;
	door_close(&obj);
}

void
op_fsinfo(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct nfs_fsinfo *out = &res->fsinfo;
	const struct fstype *type;
	struct door_obj obj;
	struct statfs f;

	res->status = ask_statfs(ctx, &args->object, &res->post, &f, &obj);
	if (res->status != NFS_OK)
		return;
	type = fstype_find((uint32_t)f.f_type);
	out->rtmax = out->rtpref = ops_read_max(ctx);
	out->wtmax = out->wtpref = ops_write_max(ctx);
	out->rtmult = out->wtmult = 4096;
	out->dtpref =
	    out->rtmax < OPS_LISTING_MAX ? out->rtmax : OPS_LISTING_MAX;
	out->maxfilesize = type->size_max != 0 ?
	    type->size_max :
	    (uint64_t)UINT32_MAX * (uint64_t)f.f_bsize;
	out->time_delta.tv_sec = type->time_step / 1000000000;
	out->time_delta.tv_nsec = (long)(type->time_step % 1000000000);
	out->properties = FSF3_HOMOGENEOUS | FSF3_CANSETTIME;
	if ((type->traits & FSTYPE_NO_LINKS) == 0)
		out->properties |= FSF3_LINK | FSF3_SYMLINK;
	door_close(&obj);
}

void
op_pathconf(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct nfs_pathconf *out = &res->pathconf;
	const struct fstype *type;
	struct door_obj obj;
	struct statfs f;

	res->status = ask_statfs(ctx, &args->object, &res->post, &f, &obj);
	if (res->status != NFS_OK)
		return;
	type = fstype_find((uint32_t)f.f_type);
	out->linkmax = type->link_max;
	out->name_max = NFS_NAME_MAX;
	if (f.f_namelen > 0 && f.f_namelen < NFS_NAME_MAX)
		out->name_max = (uint32_t)f.f_namelen;
	out->no_trunc = true;
	out->chown_restricted = true;
	out->case_insensitive =
	    (type->traits & FSTYPE_CASE_FOLDS) != 0 || ctx->options->fold;
	out->case_preserving = true;
	door_close(&obj);
}
