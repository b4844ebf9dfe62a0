/* SPDX-License-Identifier: ISC */
/*
 * See ops_util.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include "exports/exports.h"
#include "nfsd/door/batch.h"
#include "nfsd/door/door.h"
#include "nfsd/door/sync.h"
#include "nfsd/ops/ops_util.h"

void
ops_post(struct nfs_post *post, const struct door_obj *obj,
    const struct stat *st)
{
	door_attr(obj, obj->export, st, &post->attr);
	post->has = true;
}

void
ops_post_found(struct nfs_post *post, const struct door_obj *dir,
    const struct door_found *found)
{
	door_attr(dir, found->export, &found->st, &post->attr);
	post->has = true;
}

static void
wcc_before(struct nfs_wcc *wcc, const struct door_obj *obj)
{
	wcc->has_before = true;
	wcc->size = (uint64_t)obj->st.st_size;
	wcc->mtime = obj->st.st_mtim;
	wcc->ctime = obj->st.st_ctim;
}

void
ops_wcc_after(struct nfs_wcc *wcc, struct door_obj *obj)
{
	struct stat st;

	if (door_stat(obj, &st) == NFS_OK)
		ops_post(&wcc->after, obj, &st);
}

/*
 * The object was made. A client without its handle sends a LOOKUP, where the version
 * can say so. Else the call is dropped, and its repeat finds the object.
 */
static void
settle_handle(struct call_ctx *ctx, struct call_res *res)
{
	enum nfsstat status = door_came_of(ctx);

	if (status == NFSERR_JUKEBOX && ctx->limits->jukebox)
		res->no_fh = true;
	else
		res->status = status;
}

void
ops_settle(struct call_ctx *ctx, struct call_res *res)
{
	enum nfsstat status = door_settle(ctx);

	if (res->status != NFS_OK)
		return;
	res->status = status;
	if (status == NFS_OK && ctx->call->late)
		settle_handle(ctx, res);
}

enum nfsstat
ops_open(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj, struct nfs_post *post)
{
	enum nfsstat status = door_open(ctx, fh, want, obj);
	struct door_obj plain;

	if (status == NFS_OK || status == NFS_DEFERRED ||
	    status == NFSERR_BADHANDLE || status == NFSERR_STALE)
		return status;
	if (door_open(ctx, fh, 0, &plain) == NFS_OK) {
		ops_post(post, &plain, &plain.st);
		door_close(&plain);
	}
	return status;
}

enum nfsstat
ops_open_change(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj, struct nfs_wcc *wcc)
{
	enum nfsstat status;

	status = ops_open(ctx, fh, want | DOOR_MODIFY, obj, &wcc->after);
	if (status == NFS_OK)
		wcc_before(wcc, obj);
	return status;
}

/*
 * Returns the largest power of two that is at most n, so that it fits a
 * datagram.
 */
static uint32_t
power_below(uint32_t n)
{
	return n == 0 ? 0 : 1u << (31 - __builtin_clz(n));
}

static uint32_t
data_max(const struct call_ctx *ctx, uint32_t configured)
{
	size_t room = ctx->call->room_len, at = ctx->limits->read_at;
	uint32_t max = ctx->limits->data_max;

	if (configured != 0 && configured < max)
		max = configured;
	if (room < at)
		return 0;
	return room - at < max ? power_below((uint32_t)(room - at)) : max;
}

uint32_t
ops_read_max(const struct call_ctx *ctx)
{
	return data_max(ctx, ctx->options->readsize);
}

uint32_t
ops_write_max(const struct call_ctx *ctx)
{
	return data_max(ctx, ctx->options->writesize);
}
