/* SPDX-License-Identifier: ISC */
/*
 * CREATE, MKDIR, SYMLINK, MKNOD: a new name. An existing file is never opened
 * by name: files are made with O_EXCL only. An existing one is opened through
 * the door.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/name.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/door.h"
#include "nfsd/door/identity.h"
#include "nfsd/door/sync.h"
#include "nfsd/ops/ops_set.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/roles/served.h"

/* Modes if the client sends none. */
#define FILE_MODE 0600
#define DIR_MODE  0700
/* Limits of a device number in the kernel. */
#define MAJOR_MAX 0xfffu
#define MINOR_MAX 0xfffffu

static enum nfsstat
check_make(const struct call_ctx *ctx, const struct nfs_make *a)
{
	if (a->at.name.fault != NFS_OK)
		return a->at.name.fault;
	if (nfs_name_is_dots(&a->at.name))
		return NFSERR_EXIST;
	if (a->sattr.fault != NFS_OK)
		return a->sattr.fault;
	if (a->type == NFS_REG && a->sattr.set_size &&
	    a->sattr.size > ctx->limits->size_max)
		return NFSERR_FBIG;
	if (a->type != NFS_DIR && a->type != NFS_LNK &&
	    ops_refuses_setid(ctx, &a->sattr))
		return NFSERR_PERM;
	return NFS_OK;
}

static mode_t
make_mode(const struct nfs_sattr *s, mode_t otherwise)
{
	return s->set_mode ? s->mode & 07777 : otherwise;
}

/*
 * The verifier of an exclusive CREATE is kept in the times of the file until
 * the client sets them (RFC 1813, 3.3.8). It therefore survives a restart. The
 * high bit is dropped because some filesystems cannot store it.
 */
static void
exclusive_times(const uint32_t verf[2], struct timespec t[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		t[i].tv_sec = verf[i] & INT32_MAX;
		t[i].tv_nsec = 0;
	}
}

static bool
is_repeat(const struct nfs_make *a, const struct stat *st)
{
	struct timespec t[2];

	exclusive_times(a->verf, t);
	return S_ISREG(st->st_mode) && st->st_size == 0 &&
	    st->st_atim.tv_sec == t[0].tv_sec &&
	    st->st_mtim.tv_sec == t[1].tv_sec;
}

/* Sets the attributes of a new file that open(2) has not set. */
static enum nfsstat
set_new(struct call_ctx *ctx, int fd, const struct nfs_make *a)
{
	struct door_obj made = { .fd = fd };
	struct timespec t[2];

	if (a->how == NFS_EXCLUSIVE) {
		exclusive_times(a->verf, t);
		return futimens(fd, t) == -1 ? nfs_status(errno) : NFS_OK;
	}
	if (a->sattr.set_size && a->sattr.size > 0 &&
	    ftruncate(fd, (off_t)a->sattr.size) == -1)
		return nfs_status(errno);
	if (!ops_needs_more(&a->sattr))
		return NFS_OK;
	if (fstat(fd, &made.st) == -1)
		return nfs_status(errno);
	return ops_apply_new(ctx, &made, &a->sattr, NULL);
}

/* The handle of a late call comes with the end of its batch. */
static void
answer(const struct call_ctx *ctx, struct call_res *res,
    const struct door_obj *dir, const struct door_found *found)
{
	if (!ctx->call->late)
		res->fh = found->fh;
	ops_post_found(&res->post, dir, found);
}

/*
 * Must the new object be synced besides its directory? If it is changed after it
 * got its name, the sync of the directory need not cover that.
 */
static bool
syncs_apart(const struct door_obj *dir, const struct nfs_make *a)
{
	return door_syncs(dir) &&
	    (!dir->export->names_atomic || a->how == NFS_EXCLUSIVE ||
		(a->type == NFS_REG && a->sattr.set_size &&
		    a->sattr.size > 0) ||
		ops_needs_more(&a->sattr));
}

/*
 * After the new object was looked up with this status. One that exists and cannot be
 * synced is no success. If another client has removed it, nothing is left to sync.
 */
static enum nfsstat
sync_made(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, const struct door_found *found,
    enum nfsstat status)
{
	struct door_obj obj;

	if (!syncs_apart(dir, a) || !ctx->changed ||
	    (status != NFS_OK && status != NFSERR_JUKEBOX))
		return status;
	if (status == NFS_OK)
		status = door_open(ctx, &found->fh, DOOR_MODIFY, &obj);
	if (status == NFSERR_STALE)
		return NFS_OK;
	if (status != NFS_OK)
		return NFSERR_IO;
	door_sync(ctx, &obj);
	door_close(&obj);
	return NFS_OK;
}

/* A file that does not exist yet; EXIST when it does. */
static enum nfsstat
create_new(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	const char *name = a->at.name.str;
	struct door_found found;
	enum nfsstat status;
	int fd;

	fd = door_openat(ctx, dir->fd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    make_mode(&a->sattr, FILE_MODE));
	if (fd == -1)
		return nfs_status(errno);
	ctx->changed = true;
	status = set_new(ctx, fd, a);
	if (status != NFS_OK) {
		close(fd);
		ctx->changed = unlinkat(dir->fd, name, 0) == -1;
		return ctx->changed && status == NFSERR_JUKEBOX ? NFSERR_IO :
								  status;
	}
	/* A sync of the file needs its handle. */
	status = door_adopt(ctx, dir, name, fd,
	    syncs_apart(dir, a) ? NULL : &res->fh, &found);
	status = sync_made(ctx, dir, a, &found, status);
	if (status == NFS_OK)
		answer(ctx, res, dir, &found);
	return status;
}

static enum nfsstat
truncate_old(struct call_ctx *ctx, const struct nfs_make *a,
    struct door_found *found)
{
	enum nfsstat status;
	struct door_obj file;

	status = door_open(ctx, &found->fh, DOOR_FILE | DOOR_WRITE, &file);
	if (status != NFS_OK)
		return status;
	if (ftruncate(file.fd, (off_t)a->sattr.size) == -1)
		status = nfs_status(errno);
	else
		status = door_stat(&file, &found->st);
	if (status == NFS_OK)
		door_sync(ctx, &file);
	door_close(&file);
	return status;
}

/*
 * The name exists. Succeeds if the call is a repeat, or if it may use the file;
 * else returns EXIST.
 */
static enum nfsstat
create_old(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	struct door_found found;
	enum nfsstat status;

	status = door_lookup(ctx, dir, a->at.name.str, &found);
	if (status != NFS_OK)
		return status;
	if (!S_ISREG(found.st.st_mode) ||
	    (a->how == NFS_EXCLUSIVE && !is_repeat(a, &found.st)))
		return NFSERR_EXIST;
	/* For a file that exists, only the size is set. */
	if (a->how == NFS_UNCHECKED && a->sattr.set_size)
		status = truncate_old(ctx, a, &found);
	if (status == NFS_OK)
		answer(ctx, res, dir, &found);
	return status;
}

static enum nfsstat
create(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	enum nfsstat status = create_new(ctx, dir, a, res);

	if (status == NFSERR_EXIST && a->how != NFS_GUARDED)
		status = create_old(ctx, dir, a, res);
	return status;
}

/* Sets the attributes that the call which made the object could not set. */
static enum nfsstat
set_made(struct call_ctx *ctx, const struct nfs_make *a,
    const struct timespec *started, struct door_found *found)
{
	enum nfsstat status;
	struct door_obj obj;

	status = door_open(ctx, &found->fh, DOOR_MODIFY, &obj);
	if (status != NFS_OK)
		return status;
	status = ops_apply_new(ctx, &obj, &a->sattr, started);
	(void)door_stat(&obj, &found->st);
	door_close(&obj);
	return status;
}

/*
 * Looks up the object just made. Sets its handle and attributes in res. If its
 * attributes cannot be set, it is removed again; NOENT: it is not there.
 */
static enum nfsstat
finish_made(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, const struct timespec *started,
    struct call_res *res)
{
	struct door_found found;
	enum nfsstat status;

	ctx->changed = true;
	status = door_lookup(ctx, dir, a->at.name.str, &found);
	if (ops_needs_more(&a->sattr)) {
		if (status == NFS_OK)
			status = set_made(ctx, a, started, &found);
		if (status != NFS_OK && status != NFSERR_NOENT)
			ctx->changed =
			    unlinkat(dir->fd, a->at.name.str,
				a->type == NFS_DIR ? AT_REMOVEDIR : 0) == -1;
	}
	/* What exists and lacks attributes is no success. */
	if (status == NFSERR_JUKEBOX && ctx->changed &&
	    ops_needs_more(&a->sattr))
		status = NFSERR_IO;
	status = sync_made(ctx, dir, a, &found, status);
	if (status == NFS_OK)
		answer(ctx, res, dir, &found);
	return status;
}

/* The size that some clients (yanfs) send for a directory is ignored. */
static enum nfsstat
make_dir(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	const struct timespec started = clock_wall();

	if (mkdirat(dir->fd, a->at.name.str, make_mode(&a->sattr, DIR_MODE)) ==
	    -1)
		return nfs_status(errno);
	return finish_made(ctx, dir, a, &started, res);
}

/* Converts the target for symlink(2): terminated, in the server's encoding. */
static enum nfsstat
link_text(const struct door_obj *dir, const struct slice *wire,
    char text[NFS_TARGET_MAX + 1])
{
	size_t len = wire->len;

	if (dir->utf16) {
		if (!name_from_utf16(text, NFS_TARGET_MAX, &len, wire->data,
			wire->len))
			return NFSERR_INVAL;
	} else if (len > NFS_TARGET_MAX)
		return NFSERR_NAMETOOLONG;
	else if (len > 0)
		memcpy(text, wire->data, len);
	if (len == 0 || memchr(text, '\0', len) != NULL)
		return NFSERR_INVAL;
	text[len] = '\0';
	return NFS_OK;
}

static enum nfsstat
make_link(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	const struct timespec started = clock_wall();
	char *text = ctx->scratch->target;
	enum nfsstat status;

	status = link_text(dir, &a->target, text);
	if (status != NFS_OK)
		return status;
	if (symlinkat(text, dir->fd, a->at.name.str) == -1)
		return nfs_status(errno);
	return finish_made(ctx, dir, a, &started, res);
}

/*
 * Makes a fifo, a socket or a device. Only an unsquashed root may make devices.
 */
static enum nfsstat
make_node(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_make *a, struct call_res *res)
{
	static const mode_t types[NFS_FTYPES] = {
		[NFS_BLK] = S_IFBLK,
		[NFS_CHR] = S_IFCHR,
		[NFS_SOCK] = S_IFSOCK,
		[NFS_FIFO] = S_IFIFO,
	};
	const struct timespec started = clock_wall();
	mode_t type = types[a->type];
	dev_t device = 0;

	if (type == 0)
		return NFSERR_BADTYPE;
	if (type == S_IFBLK || type == S_IFCHR) {
		if (!door_may_mknod(ctx))
			return NFSERR_PERM;
		if (a->rdev_major > MAJOR_MAX || a->rdev_minor > MINOR_MAX)
			return NFSERR_INVAL;
		device = makedev(a->rdev_major, a->rdev_minor);
	}
	if (mknodat(dir->fd, a->at.name.str,
		type | make_mode(&a->sattr, FILE_MODE), device) == -1)
		return nfs_status(errno);
	return finish_made(ctx, dir, a, &started, res);
}

/* The common part of the four operations. maker makes the object. */
static void
make(struct call_ctx *ctx, const struct nfs_make *a, struct call_res *res,
    enum nfsstat (*maker)(struct call_ctx *, const struct door_obj *,
	const struct nfs_make *, struct call_res *))
{
	struct door_obj dir;

	res->status =
	    ops_open_change(ctx, &a->at.dir, DOOR_DIR, &dir, &res->wcc);
	if (res->status != NFS_OK)
		return;
	res->status = check_make(ctx, a);
	if (res->status == NFS_OK)
		res->status = maker(ctx, &dir, a, res);
	/*
	 * The object exists, but its handle is not available now. The client
	 * sends a LOOKUP for it. If the version cannot say so, it repeats the
	 * CREATE, which finds the file. A repeated MKDIR would fail.
	 */
	if (ctx->changed && res->status == NFSERR_JUKEBOX &&
	    (ctx->limits->jukebox || a->type != NFS_REG)) {
		res->status = NFS_OK;
		res->no_fh = true;
	}
	ops_wcc_after(&res->wcc, &dir);
	if (res->status == NFS_OK)
		door_sync(ctx, &dir);
	door_close(&dir);
}

/* Version 2 clients make special files with CREATE. */
void
op_create(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	make(ctx, &args->make, res,
	    args->make.type == NFS_REG ? create : make_node);
}

void
op_mkdir(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	make(ctx, &args->make, res, make_dir);
}

void
op_symlink(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	make(ctx, &args->make, res, make_link);
}

void
op_mknod(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	make(ctx, &args->make, res, make_node);
}
