/* SPDX-License-Identifier: ISC */
/*
 * The way through the door for calls that name an export by its path, as those
 * about quotas do; see door.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_QUOTA_H
#define DOOR_QUOTA_H

#include "nfsd/door/door.h"

/*
 * lookup.c. The root of the export that a path lies in, by its text: nothing is
 * walked. NOENT: none. The client is judged.
 */
enum nfsstat door_root(struct call_ctx *, struct slice path, struct fh *root);
/*
 * ask.c. The quota of a user or group of this machine on the object's
 * filesystem. NOENT: there is none, PERM: the caller may not ask.
 */
enum nfsstat door_get_quota(struct call_ctx *, const struct door_obj *,
    bool of_group, uint32_t id, struct nfs_quota *);

#endif
