/* SPDX-License-Identifier: ISC */
/*
 * GETQUOTA, SETQUOTA. The path is that of an export or lies below one. It is
 * compared and not walked: the quota is that of the export's filesystem.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include "base/clock.h"
#include "base/util.h"
#include "exports/client.h"
#include "nfsd/door/quota.h"
#include "nfsd/ops/ops.h"

/* The client's number of a user or group, as that one would be squashed. */
static uint32_t
id_here(const struct export_options *o, bool of_group, uint32_t id)
{
	if (of_group)
		return o->all_squash ? o->anongid : exports_gid(o, id);
	return o->all_squash ? o->anonuid : exports_uid(o, id);
}

void
op_getquota(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_quota_call *q = &args->quota;
	struct door_obj obj;
	struct fh root;

	res->status = door_root(ctx, q->path, &root);
	if (res->status == NFS_OK)
		res->status = door_open(ctx, &root, DOOR_DIR, &obj);
	if (res->status != NFS_OK)
		return;
	res->status = door_get_quota(ctx, &obj, q->of_group,
	    id_here(obj.options, q->of_group, q->id), &res->quota);
	res->quota.now = (uint64_t)clock_wall().tv_sec;
	door_close(&obj);
}

/* Limits are set on the server. */
void
op_setquota(struct call_ctx *ctx UNUSED, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->status = NFSERR_PERM;
}
