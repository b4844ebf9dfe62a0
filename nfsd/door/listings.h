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

#define LISTINGS_MAX 128
#define LISTING_S    60 /* seconds an answer is believed */

struct listings;

/* The handle tells the dialect too; a filesystem ends with the exports. */
struct listing_key {
	struct fh dir;
	uint32_t generation; /* of the exports */
	struct timespec ctime;
	struct door_list_ask ask;
};

struct listings_stats {
	uint64_t hits, misses;
};

/* Never NULL. */
struct listings *listings_new(void);
void listings_free(struct listings *);

/* now: seconds of a clock that does not jump. */
void listings_add(struct listings *, const struct listing_key *, uint64_t now,
    const uint8_t *entries, size_t len, bool eof);
/* Copies them to entries (room for LISTING_BYTES). */
bool listings_find(struct listings *, const struct listing_key *, uint64_t now,
    uint8_t *entries, size_t *len, bool *eof);
void listings_stats(struct listings *, struct listings_stats *);

#endif
