/* SPDX-License-Identifier: ISC */
/*
 * What several operations share: weak cache data, setting attributes, the
 * size of a transfer.
 * Runs in: nfsd worker.
 */
#ifndef OPS_UTIL_H
#define OPS_UTIL_H

#include <sys/stat.h>

#include "nfsd/wire/call.h"

struct door_obj;

/*
 * door_open(), and when that refuses the wish but not the handle, the
 * attributes of the object in post all the same.
 */
enum nfsstat ops_open(struct call_ctx *, const struct fh *, unsigned int want,
    struct door_obj *, struct nfs_post *post);
/* The same for something to be changed: fills what was before. */
enum nfsstat ops_open_change(struct call_ctx *, const struct fh *,
    unsigned int want, struct door_obj *, struct nfs_wcc *);

/* Attributes st of obj, or of something found in it. */
void ops_post(struct nfs_post *, const struct door_obj *,
    const struct stat *st);
/* Asks for the attributes again. */
void ops_wcc_after(struct nfs_wcc *, struct door_obj *);

/*
 * The permission bits a new mode may have: set-id bits on anything but a
 * directory are root's alone, and only when he is not squashed.
 */
mode_t ops_mode(const struct call_ctx *, uint32_t mode, bool directory);
/*
 * Owner and times of something just made, where the maker may set them; type
 * is its st_mode.
 */
enum nfsstat ops_apply_new(const struct call_ctx *, int fd,
    const struct nfs_sattr *, mode_t type);

/* Bytes of data that one READ (or WRITE) of this call can carry. */
uint32_t ops_read_max(const struct call_ctx *);
uint32_t ops_write_max(const struct call_ctx *);

/*
 * An entry of the directory that is open at fd whose name is the same without
 * case and form (name_same_folded()), in the thread's scratch; or NULL.
 */
const char *ops_dir_find_folded(const struct call_ctx *, int fd,
    const char *name);

#endif
