/* SPDX-License-Identifier: ISC */
/*
 * Names and attributes on stable storage before the reply, where the export
 * promises that. An operation makes its changes, reads the attributes for its reply
 * and says what must be synced. The sync is an errand of the call (pool/pool.h):
 * calls that wait for one object share it. A sync that fails is an IO error of all
 * calls that waited for it, and gives a new write verifier.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_SYNC_H
#define DOOR_SYNC_H

#include "nfsd/door/door.h"

/* Does the export promise it to this client? */
bool door_syncs(const struct door_obj *);
/*
 * After a change of the object: the attributes of a file, or the names in a
 * directory. The reply waits until they are on disk. Where a name and its file are
 * not written together, objects are synced in the order of these calls.
 */
void door_sync(struct call_ctx *, const struct door_obj *);
/* The syncs have ended. Returns NFS_OK, or the error of the call. */
enum nfsstat door_settle(struct call_ctx *);

#endif
