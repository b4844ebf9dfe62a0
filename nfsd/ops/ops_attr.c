/* SPDX-License-Identifier: ISC */
/*
 * GETATTR, SETATTR, ACCESS. The kernel decides what the caller may set. One
 * rule is added: only an unsquashed root sets set-id bits on files.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/exports.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/ops_util.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

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

mode_t
ops_mode(const struct call_ctx *ctx, uint32_t mode, bool directory)
{
	if (!directory && !door_is_root(ctx))
		mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return mode & 07777;
}

/*
 * Can the kernel change the mode of an O_PATH descriptor? Linux 6.6 and later
 * can.
 */
static bool
can_chmod_path(void)
{
	static _Atomic int can = -1;

	if (can == -1)
		can = syscall(SYS_fchmodat2, -1, "", 0, AT_EMPTY_PATH) != -1 ||
		    errno != ENOSYS;
	return can == 1;
}

/*
 * Sets the mode of fd. Before Linux 6.6, fd must be a directory or a data
 * descriptor (see reopen()).
 */
static int
set_mode(int fd, mode_t mode, bool directory)
{
	if (can_chmod_path())
		return (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH);
	return directory ? fchmodat(fd, ".", mode, 0) : fchmod(fd, mode);
}

static struct timespec
set_time(enum nfs_set_time how, const struct timespec *client)
{
	struct timespec now = { 0, UTIME_NOW }, keep = { 0, UTIME_OMIT };

	if (how == NFS_CLIENT_TIME)
		return *client;
	return how == NFS_SERVER_TIME ? now : keep;
}

static int
set_times(int fd, const struct nfs_sattr *s)
{
	struct timespec t[2];

	if (s->set_atime == NFS_KEEP_TIME && s->set_mtime == NFS_KEEP_TIME)
		return 0;
	t[0] = set_time(s->set_atime, &s->atime);
	t[1] = set_time(s->set_mtime, &s->mtime);
	return utimensat(fd, "", t, AT_EMPTY_PATH);
}

static int
set_owner(int fd, const struct nfs_sattr *s)
{
	uid_t uid = s->set_uid ? s->uid : (uid_t)-1;
	gid_t gid = s->set_gid ? s->gid : (gid_t)-1;

	if (!s->set_uid && !s->set_gid)
		return 0;
	/* For the kernel, -1 means "leave it". A client must not send it. */
	if ((s->set_uid && uid == (uid_t)-1) ||
	    (s->set_gid && gid == (gid_t)-1)) {
		errno = EINVAL;
		return -1;
	}
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

/* Sets owner, mode and times (not the size) of fd; type is its st_mode. */
static enum nfsstat
apply(const struct call_ctx *ctx, int fd, const struct nfs_sattr *s,
    mode_t type)
{
	bool directory = S_ISDIR(type);

	/* Owner before mode: a change of owner clears the set-id bits. */
	if (set_owner(fd, s) == -1)
		return nfs_status(errno);
	/* A symbolic link has no mode of its own, but clients send one. */
	if (s->set_mode && !S_ISLNK(type) &&
	    set_mode(fd, ops_mode(ctx, s->mode, directory), directory) == -1)
		return nfs_status(errno);
	return set_times(fd, s) == -1 ? nfs_status(errno) : NFS_OK;
}

enum nfsstat
ops_apply_new(const struct call_ctx *ctx, int fd, const struct nfs_sattr *s,
    mode_t type)
{
	struct nfs_sattr rest = *s;

	/*
	 * Some clients send an owner with every CREATE. A caller who may not
	 * change owners gets the file without it, not an error.
	 */
	if (!door_is_root(ctx))
		rest.set_uid = rest.set_gid = false;
	/* mkdir(2) ignores the setgid bit; it has set the other bits. */
	rest.set_mode =
	    S_ISDIR(type) && s->set_mode && (s->mode & S_ISGID) != 0;
	return apply(ctx, fd, &rest, type);
}

/* The size comes first: if there is no space, nothing else is changed. */
static enum nfsstat
change(struct call_ctx *ctx, struct door_obj *obj, const struct nfs_sattr *s)
{
	if (s->set_size && ftruncate(obj->fd, (off_t)s->size) == -1)
		return nfs_status(errno);
	return apply(ctx, obj->fd, s, obj->st.st_mode);
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
	    !S_ISREG(obj->st.st_mode) || can_chmod_path())
		return NFS_OK;
	status = door_open(ctx, &a->object, DOOR_FILE | DOOR_READ | DOOR_MODIFY,
	    &data);
	if (status != NFS_OK)
		return status;
	door_close(obj);
	*obj = data;
	return NFS_OK;
}

void
op_setattr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_setattr *a = &args->setattr;
	unsigned int want = a->sattr.set_size ? DOOR_FILE | DOOR_WRITE : 0;
	struct door_obj obj;

	res->status = ops_open_change(ctx, &a->object, want, &obj, &res->wcc);
	if (res->status != NFS_OK)
		return;
	res->status = check_setattr(ctx, a, &obj.st);
	if (res->status == NFS_OK)
		res->status = reopen(ctx, a, &obj);
	if (res->status == NFS_OK)
		res->status = change(ctx, &obj, &a->sattr);
	ops_wcc_after(&res->wcc, &obj);
	door_close(&obj);
}

/*
 * The rights that each bit of ACCESS needs, on a directory and on other files.
 */
static const struct {
	uint32_t bit;
	int directory;
	int other; /* 0: never granted */
	bool modify;
} rights[] = {
	{ ACCESS3_READ, R_OK, R_OK, false },
	{ ACCESS3_LOOKUP, X_OK, 0, false },
	{ ACCESS3_MODIFY, W_OK | X_OK, W_OK, true },
	{ ACCESS3_EXTEND, W_OK | X_OK, W_OK, true },
	{ ACCESS3_DELETE, W_OK | X_OK, 0, true },
	{ ACCESS3_EXECUTE, 0, X_OK, false },
};

static uint32_t
granted(struct call_ctx *ctx, const struct door_obj *obj, uint32_t wanted)
{
	bool directory = S_ISDIR(obj->st.st_mode);
	uint32_t grant = 0;
	int need, ask = 0, has;
	size_t i;

	for (i = 0; i < nitems(rights); i++)
		if (wanted & rights[i].bit)
			ask |=
			    directory ? rights[i].directory : rights[i].other;
	has = ask == 0 ? 0 : door_access(ctx, obj, ask);
	for (i = 0; i < nitems(rights); i++) {
		need = directory ? rights[i].directory : rights[i].other;
		if (need != 0 && (has & need) == need &&
		    (obj->options->rw || !rights[i].modify))
			grant |= rights[i].bit;
	}
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
