/* SPDX-License-Identifier: ISC */
/*
 * The filesystems mounted inside exports with crossmnt, and the mounts that the
 * exports themselves lie on. A submount is served as an export of its own, to
 * the clients of the outer export. mountd and nfsd give it the same export id.
 * The kernel's list of mounts is read; no filesystem is accessed, so a dead one
 * cannot block the parent.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef EXPORTS_SUBMOUNTS_H
#define EXPORTS_SUBMOUNTS_H

#include "confine/jail.h"
#include "exports/exports.h"

#define SUBMOUNTS_MAX 256

struct submount {
	uint32_t index; /* of the outer export */
	uint16_t id; /* export id in handles; unique */
	char path[EXPORTS_PATH_MAX + 1]; /* absolute */
	uint64_t mount; /* identifies the mount */
	int root; /* owned by the jail */
};

struct submounts {
	uint64_t under[EXPORTS_MAX]; /* the mount that each export lies on */
	size_t n;
	bool full; /* there are more; a warning was logged */
	struct submount list[SUBMOUNTS_MAX];
};

/* Fills in the current mounts, without roots. */
void submounts_list(struct submounts *, const struct exports *);
/* Fills in the roots from the jail. A submount that is not there is removed. */
void submounts_open(struct submounts *, const struct jail *);

#endif
