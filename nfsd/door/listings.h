/* SPDX-License-Identifier: ISC */
/*
 * What directories answered: the entries for one reply, as the kernel gave
 * them. The same question has the same answer while the directory's ctime is
 * the same, so an answer is believed only under the ctime it was read under,
 * and for a minute.
 * 2 MiB at the most, made at the first answer; a newcomer takes the place of
 * another.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_LISTINGS_H
#define DOOR_LISTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "nfsd/door/list.h"

#define FS_LISTINGS_MAX 128
#define FS_LISTING_S	60 /* seconds an answer is believed */

struct fs_listings;

/* The handle tells the dialect too; a filesystem ends with the exports. */
struct fs_listing_key {
	struct fh dir;
	uint32_t generation; /* of the exports */
	struct timespec ctime;
	struct fs_list_ask ask;
};

struct fs_listings_stats {
	uint64_t hits, misses;
};

/* Never NULL. */
struct fs_listings *fs_listings_new(void);
void fs_listings_free(struct fs_listings *);

/* now: seconds of a clock that does not jump. */
void fs_listings_add(struct fs_listings *, const struct fs_listing_key *,
    int64_t now, const uint8_t *entries, size_t len, bool eof);
/* Copies them to entries (room for FS_LISTING_BYTES). */
bool fs_listings_find(struct fs_listings *, const struct fs_listing_key *,
    int64_t now, uint8_t *entries, size_t *len, bool *eof);
void fs_listings_stats(struct fs_listings *, struct fs_listings_stats *);

#endif
