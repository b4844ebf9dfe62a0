/* SPDX-License-Identifier: ISC */
/*
 * The entries of a directory that was opened with DOOR_LIST: read by a stream
 * that stands where another listing ended, or remembered from one. The entries
 * do not depend on the caller; door_open() decided whether it may have them.
 *
 * Remembered is what the kernel gave for one reply. It is believed only for the
 * same question, under the ctime it was read under, and for a minute. At most
 * 2 MiB, allocated with the first of them; a new one replaces an old one.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_LIST_H
#define DOOR_LIST_H

#include "nfsd/door/door.h"

#define LISTINGS_MAX  128
#define LISTING_BYTES 16384 /* a longer one is not remembered */
#define LISTING_S     60 /* seconds it is believed */

/* Which entries of a directory: from where on, and how many fit. */
struct door_list_ask {
	uint64_t cookie;
	size_t room, dir_room;
	bool plus;
};

/* One listing in progress. */
struct door_list {
	const struct door_obj *dir;
	int fd; /* reads entries; this listing's own */
	uint64_t at; /* where it stands */
	uint64_t resume; /* where it will stand at the end, for another one */
};

/*
 * Begins a listing at a position, or anywhere else if no stream stands there.
 * door_list_close() ends it, before the directory is closed.
 */
enum nfsstat door_list_open(struct call_ctx *, const struct door_obj *dir,
    uint64_t at, struct door_list *);
/* Accepts one that could not be opened. */
void door_list_close(struct door_list *);

/*
 * What was remembered for this question while the directory was as it is now;
 * room for LISTING_BYTES.
 */
bool door_list_recall(const struct door_obj *dir, const struct door_list_ask *,
    uint8_t *entries, size_t *len, bool *eof);
/* Remembers the answer if nothing changed since door_open(). */
void door_list_remember(const struct door_obj *dir,
    const struct door_list_ask *, const uint8_t *entries, size_t len, bool eof);

/* Is the directory as it was when the call began to read its entries? */
bool door_list_unchanged(const struct door_obj *dir);

/* The memory, for the door and for tests. The handle says the dialect too. */
struct listing_key {
	struct fh dir;
	uint32_t generation; /* of the exports */
	struct timespec ctime;
	struct door_list_ask ask;
};

struct listings_stats {
	uint64_t hits, misses;
};

struct listings;

/* Never NULL. */
struct listings *listings_new(void);
void listings_free(struct listings *);
/* now: seconds of the monotonic clock. */
void listings_add(struct listings *, const struct listing_key *, uint64_t now,
    const uint8_t *entries, size_t len, bool eof);
bool listings_find(struct listings *, const struct listing_key *, uint64_t now,
    uint8_t *entries, size_t *len, bool *eof);
void listings_stats(struct listings *, struct listings_stats *);

/*
 * lookup.c. door_lookup() of many names (READDIRPLUS): one question to the broker for all
 * that are not known yet. False: the directory is large, some names are not
 * known, and the call was deferred.
 */
#define DOOR_LARGE_DIR 32768 /* bytes; may have to be fetched from the disk */
#define DOOR_MANY_MAX  64
struct door_name {
	const char *name;
	ino_t ino; /* door_inode_number() of its directory's entry */
	enum nfsstat status;
	struct door_found found; /* if status is NFS_OK */
};
/* The inode number, or 0 if only the name leads to the file. */
ino_t door_inode_number(const struct dirent64 *);
bool door_lookup_many(struct call_ctx *, const struct door_obj *dir,
    struct door_name *, size_t n);

#endif
