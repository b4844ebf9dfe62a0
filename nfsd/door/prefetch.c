/* SPDX-License-Identifier: ISC */
/*
 * Clients that do not know READDIRPLUS list a directory and then look every
 * name up, each of which would be a question to the broker. After some unknown
 * names of a directory the others are looked at as well, many with one
 * question, until its end; what is learnt waits in the cache.
 * Runs in: nfsd worker (file threads; the event loop only decides).
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/door/list.h"
#include "nfsd/door/state.h"

#define SIZE_MAX_AHEAD (1024 * 1024) /* larger directories outgrow the cache */
#define BYTES_AHEAD    2048 /* from the kernel at a time */

/* The names from a position on, in bytes; where the next ones begin. */
static size_t
next_names(struct call_ctx *ctx, const struct door_obj *dir, uint64_t *at,
    uint8_t bytes[BYTES_AHEAD], struct door_name *names, size_t max)
{
	const struct dirent64 *d;
	struct door_obj list;
	size_t done, n = 0;
	ssize_t len = 0;

	if (door_open(ctx, &dir->entry->fh, DOOR_DIR | DOOR_LIST, &list) !=
	    NFS_OK)
		return 0; /* not for this caller */
	if (door_list_open(ctx, &list, *at) == NFS_OK &&
	    (list.at == *at || lseek(list.fd, (off_t)*at, SEEK_SET) != -1))
		len = getdents64(list.fd, bytes, BYTES_AHEAD);
	for (done = 0; (ssize_t)done < len && n < max; done += d->d_reclen) {
		d = (const void *)(bytes + done);
		*at = (uint64_t)d->d_off;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		names[n].name = d->d_name;
		names[n++].ino = door_inode_number(d);
	}
	if (len <= 0)
		*at = DOOR_ANYWHERE;
	else if ((ssize_t)done == len)
		list.resume = *at;
	door_close(&list);
	return n;
}

bool
door_ahead(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct fh *fh, struct stat *st, enum nfsstat *status)
{
	struct cache *cache = ctx->thread->door->cache;
	struct door_name names[DOOR_MANY_MAX];
	_Alignas(struct dirent64) uint8_t bytes[BYTES_AHEAD];
	uint64_t at;
	size_t n;

	/* Who has just made the name must not begin again. */
	if (ctx->changed || !dir->export->local_metadata ||
	    dir->export->ino_ambiguous || dir->st.st_size > SIZE_MAX_AHEAD ||
	    !cache_ahead(cache, dir->entry, ctx->call->may_block, &at))
		return false;
	if (door_must_defer(ctx)) {
		*status = NFS_DEFERRED;
		return true;
	}
	names[0].name = name;
	names[0].ino = 0;
	n = next_names(ctx, dir, &at, bytes, names + 1, DOOR_MANY_MAX - 1);
	(void)door_lookup_many(ctx, dir, names, n + 1); /* it may wait */
	cache_ahead_done(cache, dir->entry, at);
	*fh = names[0].fh;
	*st = names[0].st;
	*status = names[0].status;
	return true;
}
