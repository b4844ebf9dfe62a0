/* SPDX-License-Identifier: ISC */
/*
 * Handles remembered without a descriptor: of files that were closed since, and
 * of directories larger than what can be kept open. One is believed only for a
 * file whose time of birth agrees and lay in the past when it was noted; whether
 * that is enough on a filesystem is for the caller to know. Files with numbers
 * close to each other lie close together, so that memory is touched about as far
 * as there are notes; it is given back when nobody has needed them for a while.
 * When there is no room a newcomer takes the place of another.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_HANDLE_CACHE_H
#define DOOR_HANDLE_CACHE_H

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
/* To be called once a second, by who has time. */
void handle_cache_trim(struct handle_cache *);
void handle_cache_stats(struct handle_cache *, struct handle_cache_stats *);

#endif
