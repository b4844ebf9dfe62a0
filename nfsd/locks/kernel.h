/* SPDX-License-Identifier: ISC */
/*
 * The kernel's locks by a descriptor.
 * Runs in: nfsd locks, tests.
 */
#ifndef LOCKS_KERNEL_H
#define LOCKS_KERNEL_H

#include "nfsd/locks/range.h"

enum kernel_lock { KERNEL_NONE, KERNEL_READ, KERNEL_WRITE };

/* A lock in the way; before the question: where to look. */
struct kernel_found {
	uint64_t start, end;
	bool exclusive;
};

/*
 * Sets the descriptor's lock on a range. Returns 0, or -1 with errno; EAGAIN: a
 * program of this machine has a lock there.
 */
int kernel_set(int fd, enum kernel_lock, uint64_t start, uint64_t end);
/* Returns true if another has a lock in the way. */
bool kernel_get(int fd, bool exclusive, struct kernel_found *);

#endif
