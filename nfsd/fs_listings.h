/* SPDX-License-Identifier: ISC */
/*
 * What directories answered: the entries for one reply, as the kernel gave
 * them. The same question has the same answer while the directory's ctime is
 * the same, so an answer is believed only under the ctime it was read under.
 * 2 MiB at the most, made at the first answer; a newcomer takes the place of
 * another.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef FS_LISTINGS_H
#define FS_LISTINGS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fs_list.h"

#define FS_LISTINGS_MAX 128

struct fs_listings;

struct fs_listing_key {
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
	bool utf16;
	struct fs_list_ask ask;
};

struct fs_listings_stats {
	uint64_t hits, misses;
};

/* Never NULL. */
struct fs_listings *fs_listings_new(void);
void fs_listings_free(struct fs_listings *);

void fs_listings_add(struct fs_listings *, const struct fs_listing_key *,
    const uint8_t *entries, size_t len, bool eof);
/* Copies them to entries (room for FS_LISTING_BYTES). */
bool fs_listings_find(struct fs_listings *, const struct fs_listing_key *,
    uint8_t *entries, size_t *len, bool *eof);
void fs_listings_stats(struct fs_listings *, struct fs_listings_stats *);

#endif
