/* SPDX-License-Identifier: ISC */
/*
 * Helpers of several operations: weak cache data, setting attributes, transfer
 * sizes.
 * Runs in: nfsd worker.
 */
#ifndef OPS_UTIL_H
#define OPS_UTIL_H

#include <sys/stat.h>

#include "nfsd/wire/call.h"

struct door_found;
struct door_obj;

/*
 * Calls door_open(). If that refuses what the call wants, but not the handle,
 * sets the attributes in post.
 */
enum nfsstat ops_open(struct call_ctx *, const struct fh *, unsigned int want,
    struct door_obj *, struct nfs_post *post);
/*
 * The same for an object that will change. Fills the attributes before the
 * change.
 */
enum nfsstat ops_open_change(struct call_ctx *, const struct fh *,
    unsigned int want, struct door_obj *, struct nfs_wcc *);

/* Attributes st of obj. */
void ops_post(struct nfs_post *, const struct door_obj *,
    const struct stat *st);
/* Attributes of something found in dir. */
void ops_post_found(struct nfs_post *, const struct door_obj *dir,
    const struct door_found *);
/*
 * Asks for the attributes again, before the sync, which takes long: what others
 * change meanwhile must not look like this call's change.
 */
void ops_wcc_after(struct nfs_wcc *, struct door_obj *);
/* The syncs of the call have ended. If one failed, so has the call. */
void ops_settle(struct call_ctx *, struct call_res *);

/*
 * ops_util.c. Returns the bytes of data that one READ or WRITE of this call can
 * carry.
 */
uint32_t ops_read_max(const struct call_ctx *);
uint32_t ops_write_max(const struct call_ctx *);

/*
 * ops_dir.c. Searches the directory open at fd for a name that is equal without
 * case and Unicode form (name_same_folded()). Returns it in the scratch memory,
 * or NULL.
 */
const char *ops_dir_find_folded(const struct call_ctx *, int fd,
    const char *name);

#endif
