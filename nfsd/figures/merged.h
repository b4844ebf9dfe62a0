/* SPDX-License-Identifier: ISC */
/*
 * The exports and clients of all workers, each once, with the sums of their
 * counters. No byte of a worker's memory is believed; see nfsd/usage.h.
 * Runs in: nfsd parent.
 */
#ifndef FIGURES_MERGED_H
#define FIGURES_MERGED_H

#include "nfsd/stats.h"

#define MERGED	   4096 /* places */
#define MERGED_MAX 3072 /* of them in use at most */

struct merged {
	struct usage_row rows[MERGED]; /* turn 0: free */
	size_t n;
	uint64_t left_out; /* clients that did not fit, here or in a worker */
};

void merged_fill(struct merged *, const struct stats *const *, size_t n);

#endif
