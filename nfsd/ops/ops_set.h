/* SPDX-License-Identifier: ISC */
/*
 * Attributes that a client sets, of an object or of one just made.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef OPS_SET_H
#define OPS_SET_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "nfsd/wire/call.h"

struct door_obj;

/*
 * ops_set.c. Returns the permission bits that a new mode may have. On files
 * other than directories, only an unsquashed root sets set-id bits.
 */
mode_t ops_mode(const struct call_ctx *, uint32_t mode, bool directory);
/*
 * Can the kernel change the mode of an O_PATH descriptor? Linux 6.6 and later
 * can. Before, ops_set_mode() needs a directory or a data descriptor.
 */
bool ops_can_chmod_path(void);
/* The functions below return 0, or -1 with errno. */
int ops_set_mode(int fd, mode_t mode, bool directory);
int ops_set_times(int fd, const struct nfs_sattr *);
int ops_set_owner(int fd, const struct nfs_sattr *);

/* ops_new.c. Do these attributes need a call after the object was made? */
bool ops_needs_more(const struct nfs_sattr *);
/*
 * Sets owner, set-id bits and times of an object that was just made. started:
 * clock_wall() before it was made; NULL: the descriptor is from the call that
 * made it. NOENT: the object is another one.
 */
enum nfsstat ops_apply_new(const struct call_ctx *, const struct door_obj *,
    const struct nfs_sattr *, const struct timespec *started);

#endif
