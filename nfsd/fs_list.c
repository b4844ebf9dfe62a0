/* SPDX-License-Identifier: ISC */
/*
 * Listing a directory: by a descriptor that stands where another listing
 * stopped, or from what is remembered of it. Who may list was decided by
 * fs_open().
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs_door.h"
#include "fs_list.h"

enum nfsstat
fs_list(struct call_ctx *ctx, struct fs_obj *dir, uint64_t want)
{
	int path = dir->fd;
	bool readable;

	dir->own_fd = true;
	dir->at = 0;
	dir->resume = FS_ANYWHERE;
	dir->settled = fs_settled(&dir->st.st_ctim);
	dir->fd = fs_cache_lend(ctx->thread->fs->cache, dir->entry,
	    &dir->st.st_ctim, want, &dir->at);
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
fs_list_end(struct fs_obj *dir)
{
	if (dir->fd != -1 && !dir->settled) {
		close(dir->fd);
		dir->fd = -1;
	}
	fs_cache_return(dir->thread->fs->cache, dir->entry, dir->fd,
	    &dir->st.st_ctim, dir->resume);
}

static void
ask_for(struct fs_question *q, const struct fs_obj *dir)
{
	q->dev = dir->st.st_dev;
	q->ino = dir->st.st_ino;
	q->ctime = dir->st.st_ctim;
	q->utf16 = dir->utf16;
}

bool
fs_recall(const struct fs_obj *dir, struct fs_question *q, uint8_t *entries,
    size_t *len, bool *eof)
{
	ask_for(q, dir);
	return dir->export->fast &&
	    fs_listings_find(dir->thread->fs->listings, q, entries, len, eof);
}

/*
 * The ctime was settled before the first entry was read, and is the same now:
 * nothing changed while they were read, and nothing can without a new ctime.
 */
void
fs_remember(const struct fs_obj *dir, struct fs_question *q,
    const uint8_t *entries, size_t len, bool eof)
{
	struct stat st;

	ask_for(q, dir);
	if (dir->export->fast && dir->settled && fstat(dir->fd, &st) == 0 &&
	    fs_same_time(&st.st_ctim, &q->ctime))
		fs_listings_add(dir->thread->fs->listings, q, entries, len,
		    eof);
}
