/* SPDX-License-Identifier: ISC */
/*
 * GETATTR, SETATTR, ACCESS. The kernel decides what the caller may set.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/exports.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/door.h"
#include "nfsd/door/sync.h"
#include "nfsd/ops/ops_set.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/roles/chmod.h"

void
op_getattr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj obj;

	res->status = door_open(ctx, &args->object, 0, &obj);
	if (res->status != NFS_OK)
		return;
	ops_post(&res->post, &obj, &obj.st);
	door_close(&obj);
}

/* Sets owner, mode and times (not the size) of the object. */
static enum nfsstat
apply(struct call_ctx *ctx, const struct door_obj *obj,
    const struct nfs_sattr *s)
{
	enum nfsstat status = NFS_OK;

	/* Owner before mode: a change of owner clears the set-id bits. */
	if (ops_set_owner(obj->fd, s) == -1)
		return nfs_status(errno);
	if (s->set_uid || s->set_gid)
		ctx->changed = true;
	/* A symbolic link has no mode of its own, but clients send one. */
	if (s->set_mode && !S_ISLNK(obj->st.st_mode))
		status = ops_set_mode(ctx, obj, s->mode);
	if (status == NFS_OK && ops_set_times(obj->fd, s) == -1)
		status = nfs_status(errno);
	return status;
}

/*
 * Puts back the attributes that this call has set, after a later one failed.
 * One that is not as this call set it belongs to another call and stays.
 */
static void
put_back(struct call_ctx *ctx, const struct door_obj *obj,
    const struct nfs_sattr *s)
{
	const struct stat *was = &obj->st;
	const struct nfs_sattr old = { .set_uid = true,
		.uid = was->st_uid,
		.set_gid = true,
		.gid = was->st_gid,
		.set_atime = NFS_CLIENT_TIME,
		.atime = was->st_atim,
		.set_mtime = NFS_CLIENT_TIME,
		.mtime = was->st_mtim };
	struct stat now;
	bool owner;

	if (fstat(obj->fd, &now) == -1)
		return;
	owner =
	    (s->set_uid && now.st_uid != was->st_uid && now.st_uid == s->uid) ||
	    (s->set_gid && now.st_gid != was->st_gid && now.st_gid == s->gid);
	if (owner)
		(void)ops_set_owner(obj->fd, &old);
	if (now.st_mode != was->st_mode &&
	    (owner || (s->set_mode && ((now.st_mode ^ s->mode) & 0777) == 0)))
		(void)ops_set_mode(ctx, obj,
		    S_ISDIR(was->st_mode) || ctx->options->setid ?
			was->st_mode :
			was->st_mode & 01777);
	if ((s->set_atime == NFS_CLIENT_TIME &&
		!same_time(&now.st_atim, &was->st_atim) &&
		same_time(&now.st_atim, &s->atime)) ||
	    (s->set_mtime == NFS_CLIENT_TIME &&
		!same_time(&now.st_mtim, &was->st_mtim) &&
		same_time(&now.st_mtim, &s->mtime)))
		(void)ops_set_times(obj->fd, &old);
}

/*
 * A truncation sets the mtime by itself, and a writer may set both times to the
 * present. The kernel lets only the owner set one of them.
 */
static bool
size_sets_times(const struct nfs_sattr *s)
{
	return s->set_size && s->set_atime != NFS_CLIENT_TIME &&
	    s->set_mtime != NFS_CLIENT_TIME;
}

/* Sets the size, and the times once more: a new size has changed the mtime. */
static enum nfsstat
set_size(const struct door_obj *obj, const struct nfs_sattr *s)
{
	struct nfs_sattr times = *s;

	if (ftruncate(obj->fd, (off_t)s->size) == -1)
		return nfs_status(errno);
	if (size_sets_times(s))
		times.set_mtime = s->set_atime;
	(void)ops_set_times(obj->fd, &times); /* change() was granted them */
	return NFS_OK;
}

/*
 * All or nothing. The size comes last, because lost data cannot be put back.
 * Each step before it needs a right that includes those of the later ones. So
 * if the kernel refuses the call, it refuses the first step, when nothing has
 * changed yet.
 */
static enum nfsstat
change(struct call_ctx *ctx, const struct door_obj *obj,
    const struct nfs_sattr *s)
{
	struct nfs_sattr first = *s;
	enum nfsstat status;

	ops_map_owner(ctx, &first);
	if (size_sets_times(s))
		first.set_atime = first.set_mtime = NFS_KEEP_TIME;
	status = apply(ctx, obj, &first);
	if (status == NFS_OK && s->set_size)
		status = set_size(obj, s);
	if (status != NFS_OK)
		put_back(ctx, obj, &first);
	return status;
}

/* Returns NFS_OK if the attributes may be set, else the error. */
static enum nfsstat
check_setattr(const struct call_ctx *ctx, const struct nfs_setattr *a,
    const struct stat *st)
{
	uint64_t size =
	    a->sattr.set_size ? a->sattr.size : (uint64_t)st->st_size;

	if (a->sattr.fault != NFS_OK)
		return a->sattr.fault;
	if (!S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode) &&
	    ops_refuses_setid(ctx, &a->sattr))
		return NFSERR_PERM;
	if (a->guard &&
	    (nfs_seconds(&st->st_ctim) != nfs_seconds(&a->ctime) ||
		st->st_ctim.tv_nsec != a->ctime.tv_nsec))
		return NFSERR_NOT_SYNC;
	return size > ctx->limits->size_max ? NFSERR_FBIG : NFS_OK;
}

/*
 * Before Linux 6.6, replaces an O_PATH descriptor of a file by a data
 * descriptor if the mode is to change.
 */
static enum nfsstat
reopen(struct call_ctx *ctx, const struct nfs_setattr *a, struct door_obj *obj)
{
	enum nfsstat status;
	struct door_obj data;

	if (!a->sattr.set_mode || a->sattr.set_size ||
	    !S_ISREG(obj->st.st_mode) || chmod_takes_path())
		return NFS_OK;
	status = door_open(ctx, &a->object, DOOR_FILE | DOOR_READ | DOOR_MODIFY,
	    &data);
	if (status != NFS_OK)
		return status;
	door_close(obj);
	*obj = data;
	return NFS_OK;
}

/* A call that sets nothing needs no right, so it must cause no work of a disk. */
static bool
sets_anything(const struct nfs_sattr *s)
{
	return s->set_mode || s->set_uid || s->set_gid || s->set_size ||
	    s->set_atime != NFS_KEEP_TIME || s->set_mtime != NFS_KEEP_TIME;
}

void
op_setattr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_setattr *a = &args->setattr;
	unsigned int want = 0;
	struct door_obj obj;

	if (a->sattr.set_size)
		want |= DOOR_FILE | DOOR_WRITE;
	res->status = ops_open_change(ctx, &a->object, want, &obj, &res->wcc);
	if (res->status != NFS_OK)
		return;
	res->status = check_setattr(ctx, a, &obj.st);
	if (res->status == NFS_OK)
		res->status = reopen(ctx, a, &obj);
	if (res->status == NFS_OK)
		res->status = change(ctx, &obj, &a->sattr);
	ops_wcc_after(&res->wcc, &obj);
	if (res->status == NFS_OK && sets_anything(&a->sattr))
		door_sync(ctx, &obj);
	door_close(&obj);
}

/* The rights that bits of ACCESS need. Bits without a row are never granted. */
#define RIGHTS 3
struct right {
	uint32_t bits;
	int need;
	bool modify;
};
static const struct right of_directory[RIGHTS] = {
	{ ACCESS3_READ, R_OK, false },
	{ ACCESS3_LOOKUP, X_OK, false },
	{ ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE, W_OK | X_OK, true },
};
static const struct right of_other[RIGHTS] = {
	{ ACCESS3_READ, R_OK, false },
	{ ACCESS3_MODIFY | ACCESS3_EXTEND, W_OK, true },
	{ ACCESS3_EXECUTE, X_OK, false },
};

static uint32_t
granted(struct call_ctx *ctx, const struct door_obj *obj, uint32_t wanted)
{
	const struct right *rights =
	    S_ISDIR(obj->st.st_mode) ? of_directory : of_other;
	uint32_t grant = 0;
	int ask = 0, has;
	size_t i;

	for (i = 0; i < RIGHTS; i++)
		if (wanted & rights[i].bits)
			ask |= rights[i].need;
	has = ask == 0 ? 0 : door_access(ctx, obj, ask);
	for (i = 0; i < RIGHTS; i++)
		if ((has & rights[i].need) == rights[i].need &&
		    (obj->options->rw || !rights[i].modify))
			grant |= rights[i].bits;
	return grant & wanted;
}

void
op_access(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj obj;

	res->status = door_open(ctx, &args->access.object, 0, &obj);
	if (res->status != NFS_OK)
		return;
	ops_post(&res->post, &obj, &obj.st);
	res->access = granted(ctx, &obj, args->access.wanted);
	door_close(&obj);
}
