/* SPDX-License-Identifier: ISC */
/*
 * The attributes of an object that was just made, beyond its mode.
 *
 * mkdir(2) and its like return no descriptor, so the new object is opened by its
 * name. Meanwhile a local user may have put another object there. If root is the
 * caller, the kernel would let it change that one. Hence root changes only what
 * root has made since the call began.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/door/door.h"
#include "nfsd/door/identity.h"
#include "nfsd/ops/ops_set.h"

#define COARSE_S  2 /* step of the coarsest times of files */
#define COARSE_NS 10000000

bool
ops_needs_more(const struct nfs_sattr *s)
{
	return s->set_atime != NFS_KEEP_TIME || s->set_mtime != NFS_KEEP_TIME ||
	    s->set_uid || s->set_gid || ops_is_setid(s);
}

/*
 * Is a time of a file at or after started? Times may be of whole seconds, or of
 * parts of one (exFAT: 10 ms).
 */
static bool
is_since(const struct statx_timestamp *t, const struct timespec *started)
{
	long least = started->tv_nsec;

	if (t->tv_nsec == 0)
		return t->tv_sec + COARSE_S >= started->tv_sec;
	if (t->tv_nsec % 100 == 0)
		least -= least % COARSE_NS;
	return t->tv_sec > started->tv_sec ||
	    (t->tv_sec == started->tv_sec && (long)t->tv_nsec >= least);
}

/*
 * Has the caller made the object since then? Where the filesystem tells no
 * creation time, the time of the last change must do.
 */
static bool
is_made_since(const struct call_ctx *ctx, int fd,
    const struct timespec *started)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME,
		&sx) == -1)
		return false;
	return sx.stx_uid == ctx->uid &&
	    is_since((sx.stx_mask & STATX_BTIME) != 0 ? &sx.stx_btime :
							&sx.stx_ctime,
		started);
}

/*
 * Some clients send an owner with every CREATE. The object may have it already.
 * A client also cannot know to whom the caller was squashed: what it says of a
 * squashed id does not count. Else the kernel decides.
 */
static void
leave_owner(const struct call_ctx *ctx, const struct stat *st,
    struct nfs_sattr *s)
{
	if (s->uid == st->st_uid || !door_is_user_kept(ctx))
		s->set_uid = false;
	if (s->gid == st->st_gid || !door_is_group_kept(ctx))
		s->set_gid = false;
}

enum nfsstat
ops_apply_new(struct call_ctx *ctx, const struct door_obj *obj,
    const struct nfs_sattr *s, const struct timespec *started)
{
	struct nfs_sattr rest = *s;
	enum nfsstat status = NFS_OK;

	if (started != NULL && door_is_root(ctx) &&
	    !is_made_since(ctx, obj->fd, started))
		return NFSERR_NOENT; /* another object has the name */
	ops_map_owner(ctx, &rest);
	leave_owner(ctx, &obj->st, &rest);
	if (ops_set_owner(obj->fd, &rest) == -1)
		return nfs_status(errno);
	/* mkdir(2) ignores set-id bits, and a change of owner clears them. */
	if (ops_is_setid(s) && !S_ISLNK(obj->st.st_mode))
		status = ops_set_mode(ctx, obj, s->mode);
	if (status == NFS_OK && ops_set_times(obj->fd, &rest) == -1)
		status = nfs_status(errno);
	return status;
}
