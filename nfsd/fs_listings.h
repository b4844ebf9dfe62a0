/* SPDX-License-Identifier: ISC */
/*
 * What directories answered: the entries for one reply, as the kernel gave
 * them. The same question has the same answer while the directory's ctime is
 * the same, so an answer is believed only under the ctime it was read under.
 * Fixed memory, made at the first answer; a newcomer takes the place of another.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef FS_LISTINGS_H
#define FS_LISTINGS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define FS_LISTINGS_MAX	 128
#define FS_LISTING_BYTES 16384 /* a longer answer is not kept */

struct fs_listings;

/* Which entries: of what directory, from where on, and how many fit. */
struct fs_question {
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
	uint64_t cookie;
	size_t room, dir_room;
	bool plus, utf16;
};

/* Never NULL. */
struct fs_listings *fs_listings_new(void);
void fs_listings_free(struct fs_listings *);

void fs_listings_add(struct fs_listings *, const struct fs_question *,
    const uint8_t *entries, size_t len, bool eof);
/* Copies them to entries (room for FS_LISTING_BYTES). */
bool fs_listings_find(struct fs_listings *, const struct fs_question *,
    uint8_t *entries, size_t *len, bool *eof);

#endif
