/* SPDX-License-Identifier: ISC */
/*
 * Entries of a directory that was opened with DOOR_LIST: read by a descriptor
 * that stands where another listing stopped, or remembered from one. Nothing of
 * it depends on who asks: the entries are the kernel's, and whether the caller
 * may have them was decided by door_open().
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_LIST_H
#define DOOR_LIST_H

#include "nfsd/door/door.h"

#define LISTING_BYTES 16384 /* a longer answer is not remembered */

/* Which entries of a directory: from where on, and how many fit. */
struct door_list_ask {
	uint64_t cookie;
	size_t room, dir_room;
	bool plus;
};

/*
 * Once per object: fd becomes one that reads entries and stands at dir->at,
 * which is at when there is one that does. -1 after a failure. door_close() ends
 * it.
 */
enum nfsstat door_list_open(struct call_ctx *, struct door_obj *dir,
    uint64_t at);
/* For door_close(). */
void door_list_close(struct door_obj *dir);

/*
 * What this had for an answer while the directory was as it is now; at most
 * LISTING_BYTES.
 */
bool door_list_recall(const struct door_obj *dir, const struct door_list_ask *,
    uint8_t *entries, size_t *len, bool *eof);
/* Its answer, to be remembered if nothing changed since door_open(). */
void door_list_remember(const struct door_obj *dir,
    const struct door_list_ask *, const uint8_t *entries, size_t len, bool eof);

/* Is the directory as it was when the caller began to read its entries? */
bool door_list_unchanged(const struct door_obj *dir);

#endif
