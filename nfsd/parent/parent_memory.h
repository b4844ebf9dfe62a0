/* SPDX-License-Identifier: ISC */
/*
 * Memory that the processes of nfsd share, and that lives as long as the parent.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_MEMORY_H
#define PARENT_MEMORY_H

#include "nfsd/nfsd.h"

struct parent_memory {
	int fd; /* of shared */
	struct nfsd_shared *shared; /* by all workers */
	unsigned int n;
	int replies[NFSD_WORKERS_MAX]; /* of each worker, and its successor */
	int readers[NFSD_WORKERS_MAX]; /* the same, for the other workers */
};

/* Makes it for so many workers. Ends the process if there is none. */
void parent_memory_make(struct parent_memory *, unsigned int workers);
/* Stores the descriptors that a worker inherits. */
void parent_memory_inherit(const struct parent_memory *, unsigned int worker,
    int fds[ROLE_FDS_MAX]);
/* Can every worker read the replies of the others? */
bool parent_memory_is_read(const struct parent_memory *);

#endif
