/* SPDX-License-Identifier: ISC */
/*
 * Handles of files that are not open: closed since, or in directories larger than
 * the descriptor cache. An entry is used only for a file whose creation time is
 * the same and was settled when the entry was made. lookup.c decides on which
 * filesystems that identifies a file.
 *
 * Neighbouring inode numbers map to neighbouring slots, so resident memory grows
 * with the number of entries. Memory that is not used for a while is given back.
 * In a full table a new entry replaces an old one.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef CACHE_HANDLE_CACHE_H
#define CACHE_HANDLE_CACHE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"

#define HANDLE_CACHE_MAX    1048576
#define HANDLE_CACHE_ENTRY  64 /* bytes */
#define HANDLE_CACHE_TRIM_S 1800 /* unused for so long: given back */

struct handle_cache;

struct handle_cache_stats {
	uint64_t hits, misses;
};

/* Never NULL. room: for so many notes; as many as HANDLE_CACHE_MAX are of use. */
struct handle_cache *handle_cache_new(size_t room);
void handle_cache_free(struct handle_cache *);

/* now: the wall clock. */
void handle_cache_add(struct handle_cache *, uint32_t generation, dev_t, ino_t,
    const struct timespec *born, const struct timespec *now, const struct fh *);
/* The sealed handle of a file of an export. */
bool handle_cache_find(struct handle_cache *, uint32_t generation,
    uint16_t export_id, dev_t, ino_t, const struct timespec *born, struct fh *);
/* To be called once a second, not by the event loop. */
void handle_cache_trim(struct handle_cache *);
void handle_cache_stats(struct handle_cache *, struct handle_cache_stats *);

#endif
