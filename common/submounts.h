/* SPDX-License-Identifier: ISC */
/*
 * What is mounted inside the exports that say crossmnt.
 * Runs in: nfsd parent.
 */
#ifndef SUBMOUNTS_H
#define SUBMOUNTS_H

#include "exports.h"
#include "fs_export.h"
#include "jail.h"

/*
 * Fills subs with roots opened through the jail, in the order they are mounted;
 * returns how many. Mounts on which an export lies are left out.
 */
size_t submounts_find(const struct exports *, const struct jail *,
    struct fs_submount subs[FS_SUBMOUNTS_MAX]);
void submounts_close(struct fs_submount *, size_t n);

#endif
