/* SPDX-License-Identifier: ISC */
/*
 * Names and attributes on stable storage before the reply, where the export
 * promises that. Calls that wait for one object share a sync. A sync that fails
 * is an IO error and gives a new write verifier.
 * Runs in: nfsd worker (file threads).
 */
#ifndef DOOR_SYNC_H
#define DOOR_SYNC_H

#include "nfsd/door/door.h"

/* Does the export promise it to this client? */
bool door_syncs(const struct door_obj *);
/*
 * After a change of an object that was opened with DOOR_SYNC: the attributes of
 * a file, or the names in a directory. Returns at once if nothing is promised.
 */
enum nfsstat door_sync(struct call_ctx *, const struct door_obj *);
/* The same for a file just made in dir, which is not an object yet. */
enum nfsstat door_sync_fd(const struct call_ctx *, const struct door_obj *dir,
    int fd);

#endif
