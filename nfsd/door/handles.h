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
#ifndef DOOR_HANDLES_H
#define DOOR_HANDLES_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"

#define FS_NOTES_MAX	1048576
#define FS_NOTE_SIZE	64 /* bytes */
#define FS_NOTES_REST_S 1800 /* unused for so long: given back */

struct fs_notes;

struct fs_notes_stats {
	uint64_t hits, misses;
};

/* Never NULL. room: for so many notes; as many as FS_NOTES_MAX are of use. */
struct fs_notes *fs_notes_new(size_t room);
void fs_notes_free(struct fs_notes *);

/* now: the wall clock. */
void fs_notes_add(struct fs_notes *, uint32_t generation, dev_t, ino_t,
    const struct timespec *born, const struct timespec *now, const struct fh *);
/* The sealed handle of a file of an export. */
bool fs_notes_find(struct fs_notes *, uint32_t generation, uint16_t export_id,
    dev_t, ino_t, const struct timespec *born, struct fh *);
/* To be called once a second, by who has time. */
void fs_notes_rest(struct fs_notes *);
void fs_notes_stats(struct fs_notes *, struct fs_notes_stats *);

#endif
