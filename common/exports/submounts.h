/* SPDX-License-Identifier: ISC */
/*
 * What is mounted inside the exports that say crossmnt, and what the exports
 * themselves lie on. A filesystem inside is like an export of its own, with the
 * clients of the one around it; mountd and nfsd find the same ones under the
 * same numbers. The kernel's list tells: to find them no filesystem is touched,
 * so that a dead one cannot hang us here.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef EXPORTS_SUBMOUNTS_H
#define EXPORTS_SUBMOUNTS_H

#include "confine/jail.h"
#include "exports/exports.h"

#define SUBMOUNTS_MAX 256

struct submount {
	uint32_t index; /* of the export around it */
	uint16_t id; /* for handles; no other's */
	char path[EXPORTS_PATH_MAX + 1]; /* in full */
	uint64_t mount; /* which one is mounted there */
	int root; /* borrowed from the jail */
};

struct submounts {
	uint64_t under[EXPORTS_MAX]; /* which mount each export lies on */
	size_t n;
	bool full; /* there are more, which has been said */
	struct submount list[SUBMOUNTS_MAX];
};

/* As it is now; without roots. */
void submounts_list(struct submounts *, const struct exports *);
/* Takes the roots from the jail; what it does not hold is left out. */
void submounts_open(struct submounts *, const struct jail *);

#endif
