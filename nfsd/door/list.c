/* SPDX-License-Identifier: ISC */
/*
 * See list.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/list.h"
#include "nfsd/door/state.h"

enum nfsstat
door_list_open(struct call_ctx *ctx, struct door_obj *dir, uint64_t at)
{
	int path = dir->fd;
	bool readable;

	dir->own_fd = true;
	dir->at = 0;
	dir->resume = CACHE_ANYWHERE;
	dir->fd = cache_lend(ctx->thread->door->cache, dir->entry,
	    &dir->st.st_ctim, at, &dir->at);
	/* Who may search it as well can open it without the broker. */
	if (dir->fd == -1)
		dir->fd = door_openat(ctx, path, ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (dir->fd == -1)
		dir->fd =
		    door_ask_open(ctx, &dir->entry->fh, BROKER_LIST, &readable);
	return dir->fd == -1 ? door_status(ctx, errno) : NFS_OK;
}

/* Where a change could go unnoticed nobody lists on by this descriptor. */
void
door_list_close(struct door_obj *dir)
{
	if (dir->fd != -1 && !dir->settled) {
		close(dir->fd);
		dir->fd = -1;
	}
	cache_return(dir->thread->door->cache, dir->entry, dir->fd,
	    &dir->st.st_ctim, dir->resume);
}

bool
door_list_unchanged(const struct door_obj *dir)
{
	struct stat st;

	return dir->settled && fstat(dir->fd, &st) == 0 &&
	    same_time(&st.st_ctim, &dir->st.st_ctim);
}

static struct listing_key
key_of(const struct door_obj *dir, const struct door_list_ask *ask)
{
	struct listing_key key = { .dir = dir->entry->fh,
		.generation = dir->thread->held.generation,
		.ctime = dir->st.st_ctim,
		.ask = *ask };

	return key;
}

bool
door_list_recall(const struct door_obj *dir, const struct door_list_ask *ask,
    uint8_t *entries, size_t *len, bool *eof)
{
	struct listing_key key = key_of(dir, ask);

	return listings_find(dir->thread->door->listings, &key,
	    clock_coarse_ms() / 1000, entries, len, eof);
}

/*
 * Does every change of its entries show in ctime? Where this machine's kernel
 * makes the times: a server or process behind a filesystem (NFS, FUSE) may
 * change a directory without. An encrypted one has other names when its key
 * comes or goes.
 */
static bool
shows_changes(const struct door_obj *dir)
{
	struct statx sx;

	return dir->export->local_metadata &&
	    statx(dir->fd, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_ENCRYPTED) == 0;
}

void
door_list_remember(const struct door_obj *dir, const struct door_list_ask *ask,
    const uint8_t *entries, size_t len, bool eof)
{
	struct listing_key key = key_of(dir, ask);

	if (door_list_unchanged(dir) && shows_changes(dir))
		listings_add(dir->thread->door->listings, &key,
		    clock_coarse_ms() / 1000, entries, len, eof);
}
