/* SPDX-License-Identifier: ISC */
/*
 * See fs_list.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/door/state.h"
#include "nfsd/door/list.h"
#include "base/util.h"

enum nfsstat
fs_list_open(struct call_ctx *ctx, struct fs_obj *dir, uint64_t at)
{
	int path = dir->fd;
	bool readable;

	dir->own_fd = true;
	dir->at = 0;
	dir->resume = FS_ANYWHERE;
	dir->fd = fs_cache_lend(ctx->thread->fs->cache, dir->entry,
	    &dir->st.st_ctim, at, &dir->at);
	/* Who may search it as well can open it without the broker. */
	if (dir->fd == -1)
		dir->fd = fs_openat(ctx, path, ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (dir->fd == -1)
		dir->fd =
		    fs_ask_open(ctx, &dir->entry->fh, BROKER_LIST, &readable);
	return dir->fd == -1 ? fs_status(ctx, errno) : NFS_OK;
}

/* Where a change could go unnoticed nobody lists on by this descriptor. */
void
fs_list_close(struct fs_obj *dir)
{
	if (dir->fd != -1 && !dir->settled) {
		close(dir->fd);
		dir->fd = -1;
	}
	fs_cache_return(dir->thread->fs->cache, dir->entry, dir->fd,
	    &dir->st.st_ctim, dir->resume);
}

bool
fs_list_unchanged(const struct fs_obj *dir)
{
	struct stat st;

	return dir->settled && fstat(dir->fd, &st) == 0 &&
	    same_time(&st.st_ctim, &dir->st.st_ctim);
}

static struct fs_listing_key
key_of(const struct fs_obj *dir, const struct fs_list_ask *ask)
{
	struct fs_listing_key key = { .dir = dir->entry->fh,
		.generation = dir->thread->generation,
		.ctime = dir->st.st_ctim,
		.ask = *ask };

	return key;
}

static int64_t
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

bool
fs_list_recall(const struct fs_obj *dir, const struct fs_list_ask *ask,
    uint8_t *entries, size_t *len, bool *eof)
{
	struct fs_listing_key key = key_of(dir, ask);

	return fs_listings_find(dir->thread->fs->listings, &key, now_s(),
	    entries, len, eof);
}

/*
 * Does every change of its entries show in ctime? Where this machine's kernel
 * makes the times: a server or process behind a filesystem (NFS, FUSE) may
 * change a directory without. An encrypted one has other names when its key
 * comes or goes.
 */
static bool
shows_changes(const struct fs_obj *dir)
{
	struct statx sx;

	return dir->export->fast &&
	    statx(dir->fd, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_ENCRYPTED) == 0;
}

void
fs_list_remember(const struct fs_obj *dir, const struct fs_list_ask *ask,
    const uint8_t *entries, size_t len, bool eof)
{
	struct fs_listing_key key = key_of(dir, ask);

	if (fs_list_unchanged(dir) && shows_changes(dir))
		fs_listings_add(dir->thread->fs->listings, &key, now_s(),
		    entries, len, eof);
}
