/* SPDX-License-Identifier: ISC */
/*
 * Does a directory lie in its export, and not in an export inside that? A local
 * user may move it out, and a reload may draw a new border. The answer is kept
 * for DOOR_INSIDE_MS, since a move of a directory above leaves no trace in the
 * directory itself.
 *
 * The kernel knows. If the export is a mount, ".." of a directory that was
 * moved out of it does not exist; that is one call at any depth. In every other
 * case the broker opens the handle again, and the broker opens nothing outside.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/door/ask.h"
#include "nfsd/door/state.h"

#define DOOR_INSIDE_MS 1000 /* so long an answer counts */
#define UP_FLAGS       (AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)
/* About a second, in units of 2^20 ns: a shift is cheaper than a division. */
#define INSIDE_UNIT 20
#define INSIDE_FOR  (DOOR_INSIDE_MS * 1000000ull >> INSIDE_UNIT)

static uint32_t
inside_now(const struct call_ctx *ctx)
{
	return (uint32_t)(ctx->call->started_ns >> INSIDE_UNIT) | 1;
}

void
door_is_inside(const struct call_ctx *ctx, struct cache_entry *entry)
{
	atomic_store_explicit(&entry->inside_at, inside_now(ctx),
	    memory_order_relaxed);
}

/* The broker opens the handle again: then it lies inside. */
static enum nfsstat
ask_again(struct call_ctx *ctx, const struct door_obj *obj)
{
	const struct fh *fh = &obj->entry->fh;
	bool readable = false;
	struct stat now;
	bool same;
	int fd;

	/* It may have to walk the export. */
	if (!fh_is_kernel(fh) && !ctx->changed && door_must_defer(ctx))
		return NFS_DEFERRED;
	fd = door_ask_open(ctx, fh, BROKER_PATH, &readable);
	if (fd == -1)
		return door_status(ctx, errno);
	/* A handle that encodes a path may lead to another directory. */
	same = fstat(fd, &now) == 0 && now.st_ino == obj->st.st_ino &&
	    now.st_dev == obj->st.st_dev;
	close(fd);
	return same ? NFS_OK : NFSERR_STALE;
}

static enum nfsstat
ask_kernel(struct call_ctx *ctx, const struct door_obj *obj)
{
	const struct served_export *e = obj->export;
	struct statx sx;

	if (!e->own_mount || e->ninner > 0)
		return ask_again(ctx, obj);
	if (statx(obj->fd, "..", UP_FLAGS, STATX_MNT_ID, &sx) == 0)
		return NFS_OK;
	/* Else the caller may not search it, as the broker may. */
	return errno == ENOENT ? NFSERR_STALE : ask_again(ctx, obj);
}

/*
 * ".." of the root of a mount that is nowhere is that root itself. The same
 * holds for the root directory of this process.
 */
static bool
is_nowhere(const struct served_export *e)
{
	struct statx up, top;

	return e->root != -1 && e->mount_id != 0 &&
	    statx(e->root, "..", UP_FLAGS, STATX_MNT_ID, &up) == 0 &&
	    up.stx_mnt_id == e->mount_id &&
	    statx(AT_FDCWD, "/", UP_FLAGS, STATX_MNT_ID, &top) == 0 &&
	    top.stx_mnt_id != e->mount_id;
}

/*
 * The call has closed its objects, so the thread counts one again, as in
 * door_open(). If there is another list by now, the call is tried with that.
 */
bool
door_has_left(const struct call_ctx *ctx)
{
	struct door_thread *t = ctx->thread;
	unsigned int others = door_count(t);
	bool left;

	atomic_store(&t->open, others + 1);
	left = door_hold(t, others > 0) ||
	    (t->export != NULL && is_nowhere(t->export));
	atomic_store_explicit(&t->open, others, memory_order_release);
	return left;
}

enum nfsstat
door_check_inside(struct call_ctx *ctx, const struct door_obj *obj)
{
	const struct served_export *e = obj->export;
	uint32_t at =
	    atomic_load_explicit(&obj->entry->inside_at, memory_order_relaxed);
	enum nfsstat status;

	if (at != 0 && (int32_t)(inside_now(ctx) - at) < (int32_t)INSIDE_FOR)
		return NFS_OK;
	if (obj->st.st_ino == e->ino && obj->st.st_dev == e->dev)
		return NFS_OK;
	status = ask_kernel(ctx, obj);
	if (status == NFS_OK)
		door_is_inside(ctx, obj->entry);
	else if (status == NFSERR_STALE)
		cache_drop(ctx->thread->door->cache, obj->entry);
	return status;
}
