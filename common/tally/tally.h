/* SPDX-License-Identifier: ISC */
/*
 * The counters of mountd, in a file beside the registration socket. mountd's
 * worker counts there, and nfsd's parent reads it for -o metrics. mountd keeps
 * the file locked while it runs. The reader copies the file and believes no
 * number in it.
 * Runs in: mountd parent (makes it), mountd worker (counts), nfsd parent (reads).
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TALLY_NAME     "mountd.counters"
#define TALLY_PATH_MAX 256
#define TALLY_VERSIONS 3 /* of MOUNT */
#define TALLY_PROCS    8 /* of each; all of ours are below */

struct tally {
	uint64_t magic;
	_Atomic uint64_t exports, listed; /* now */
	_Atomic uint64_t granted, refused; /* MNT */
	_Atomic uint64_t calls[TALLY_VERSIONS][TALLY_PROCS];
	_Atomic uint64_t errors[TALLY_VERSIONS][TALLY_PROCS];
};

/*
 * Makes the file, with counters of zero, and locks it until the process ends.
 * Returns its descriptor. If it cannot be made, logs why and returns one of
 * memory that no other process reads. Never returns -1.
 */
int tally_make(const char *path);
/* Maps it to be counted in. Closes fd: the mapping cannot grow the file. */
struct tally *tally_map(int fd);
/* Adds 1. There is one writer, so no locked instruction is needed. */
void tally_count(_Atomic uint64_t *);
/* Copies the counters. Returns false if no mountd runs that counts there. */
bool tally_read(const char *path, struct tally *);

#endif
