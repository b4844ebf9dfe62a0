/* SPDX-License-Identifier: ISC */
/*
 * See sync.h. fsync(2) of a directory writes its entries, and of a file its
 * attributes. It needs a descriptor that is not O_PATH. Where the caller cannot
 * open one, the broker syncs and hands out nothing.
 * Runs in: nfsd worker (file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/state.h"
#include "nfsd/door/sync.h"

bool
door_syncs(const struct door_obj *obj)
{
	return obj->options->sync == SYNC_ALL;
}

/* The cache's own descriptor of the data, whatever caller it was opened for. */
static int
data_fd(const struct door_obj *obj)
{
	struct cache *cache = obj->thread->door->cache;
	int fd = cache_fd(cache, obj->entry, CACHE_SLOT_READ);

	return fd != -1 ? fd : cache_fd(cache, obj->entry, CACHE_SLOT_WRITE);
}

/* Returns errno or 0. */
static int
sync_object(struct call_ctx *ctx, const struct door_obj *obj)
{
	int fd = -1, error;

	if (S_ISREG(obj->st.st_mode)) {
		fd = data_fd(obj);
		if (fd != -1)
			return fsync(fd) == -1 ? errno : 0;
	} else if (S_ISDIR(obj->st.st_mode))
		fd = door_openat(ctx, obj->fd, ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd == -1)
		return door_ask_sync(ctx, &obj->entry->fh) == -1 ? errno : 0;
	error = fsync(fd) == -1 ? errno : 0;
	close(fd);
	/* Some filesystems can sync only files, or only themselves. */
	if (error == EINVAL)
		return door_ask_sync(ctx, &obj->entry->fh) == -1 ? errno : 0;
	return error;
}

/* Did the broker not get as far as the disk? */
static bool
is_of_broker(int error)
{
	static const int errors[] = { EPIPE, EAGAIN, ESTALE, EROFS, EMFILE,
		ENFILE, BROKER_FORGED };
	size_t i;

	for (i = 0; i < nitems(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

/* If the disk failed, earlier unstable writes may be lost as well. */
static enum nfsstat
synced(const struct call_ctx *ctx, int error)
{
	if (error == 0)
		return NFS_OK;
	if (!is_of_broker(error))
		door_writeback_failed(ctx);
	return NFSERR_IO;
}

enum nfsstat
door_sync(struct call_ctx *ctx, const struct door_obj *obj)
{
	struct sync_share *share = &ctx->thread->door->syncs;
	struct sync_turn turn;

	if (!door_syncs(obj))
		return NFS_OK;
	if (sync_share_begin(share, obj->entry, &turn))
		sync_share_end(share, &turn, sync_object(ctx, obj));
	return synced(ctx, turn.error);
}

enum nfsstat
door_sync_fd(const struct call_ctx *ctx, const struct door_obj *dir, int fd)
{
	if (!door_syncs(dir))
		return NFS_OK;
	return synced(ctx, fsync(fd) == -1 ? errno : 0);
}
