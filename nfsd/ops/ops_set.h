/* SPDX-License-Identifier: ISC */
/*
 * Attributes that a client sets, of an object or of one just made.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef OPS_SET_H
#define OPS_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "nfsd/wire/call.h"

struct door_obj;

/* ops_set.c. Is the mode to have set-id bits? */
bool ops_is_setid(const struct nfs_sattr *);
/* And does the export permit none of files? The caller knows it is a file. */
bool ops_refuses_setid(const struct call_ctx *, const struct nfs_sattr *);
/* Replaces owner and group by their numbers here. */
void ops_map_owner(const struct call_ctx *, struct nfs_sattr *);
/* Before Linux 6.6, the object needs a data descriptor; see chmod.h. */
enum nfsstat ops_set_mode(struct call_ctx *, const struct door_obj *,
    uint32_t mode);
/* These return 0, or -1 with errno. */
int ops_set_times(int fd, const struct nfs_sattr *);
int ops_set_owner(int fd, const struct nfs_sattr *);

/* ops_new.c. Do these attributes need a call after the object was made? */
bool ops_needs_more(const struct nfs_sattr *);
/*
 * Sets owner, set-id bits and times of an object that was just made. started:
 * clock_wall() before it was made; NULL: the descriptor is from the call that
 * made it. NOENT: the object is another one.
 */
enum nfsstat ops_apply_new(struct call_ctx *, const struct door_obj *,
    const struct nfs_sattr *, const struct timespec *started);

#endif
