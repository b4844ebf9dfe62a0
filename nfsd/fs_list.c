/* SPDX-License-Identifier: ISC */
/*
 * See fs_list.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs_door.h"
#include "fs_list.h"
#include "util.h"

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
		dir->fd = openat(path, ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
	struct fs_listing_key key = { .dev = dir->st.st_dev,
		.ino = dir->st.st_ino,
		.ctime = dir->st.st_ctim,
		.utf16 = dir->utf16,
		.ask = *ask };

	return key;
}

/*
 * Only where this machine's kernel makes the times: a server or a process
 * behind a filesystem (NFS, FUSE) may change a directory without a new ctime.
 */
bool
fs_list_recall(const struct fs_obj *dir, const struct fs_list_ask *ask,
    uint8_t *entries, size_t *len, bool *eof)
{
	struct fs_listing_key key = key_of(dir, ask);

	return dir->export->fast &&
	    fs_listings_find(dir->thread->fs->listings, &key, entries, len,
		eof);
}

void
fs_list_remember(const struct fs_obj *dir, const struct fs_list_ask *ask,
    const uint8_t *entries, size_t len, bool eof)
{
	struct fs_listing_key key = key_of(dir, ask);

	if (dir->export->fast && fs_list_unchanged(dir))
		fs_listings_add(dir->thread->fs->listings, &key, entries, len,
		    eof);
}
