/* SPDX-License-Identifier: ISC */
/*
 * The filesystems mounted inside exports with crossmnt. A submount is served as an export of its own, to
 * the clients of the outer export. mountd and nfsd give it the same export id.
 * The kernel's list of mounts is read; no filesystem is accessed, so a dead one
 * cannot block the parent.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef EXPORTS_SUBMOUNTS_H
#define EXPORTS_SUBMOUNTS_H

#include "confine/jail.h"
#include "exports/exports.h"
#include "confine/mountinfo.h"
#include "mounts/forbid.h"
#include "handle/fhandle_fs.h"

#define SUBMOUNTS_MAX 256

struct submount {
	uint32_t index; /* of the outer export */
	uint16_t id; /* export id in handles; unique */
	char path[EXPORTS_PATH_MAX + 1]; /* absolute */
	uint64_t mount; /* identifies the mount */
	struct fh_root root; /* its descriptor is owned by the jail */
};

struct submounts {
	size_t n;
	bool full; /* there are more; a warning was logged */
	struct submount list[SUBMOUNTS_MAX];
};

/* Fills in the current mounts, without roots. */
void submounts_list(struct submounts *, const struct exports *,
    const struct mountinfo *, const struct forbid *);
/*
 * Fills in the roots from the jail. A submount that is not there is removed. Logs
 * the differences to the list before.
 */
void submounts_open(struct submounts *, const struct jail *,
    struct submounts *before);
/* The path of an export or of a filesystem inside one; NULL: none has this id. */
const char *submounts_path(const struct submounts *, const struct exports *,
    uint16_t id);

#endif
