/* SPDX-License-Identifier: ISC */
/*
 * Compares a server with a model of it: random operations, each with the answer
 * that the model expects. The model only makes calls, so the server may be in
 * this process or behind a socket.
 * Runs in: tests.
 */
#ifndef NFS_MODEL_H
#define NFS_MODEL_H

#include "nfsd/wire/nfs.h"

#define NFS_MODEL_SIZE 200000 /* largest file */

struct nfs_model {
	/* The results of a call (until the next), or a failed cursor. */
	struct xdr_in (*call)(void *arg, uint32_t vers, uint32_t proc,
	    const void *args, size_t len);
	void *arg;
	struct fh dir; /* an empty directory the caller may write */
	unsigned int seed;
	size_t largest; /* transfer; 0: 65536 */
};

/*
 * Reads, writes, cuts and commits one file in both versions (as fsx does) and
 * compares with memory. Returns the number of operations before the first
 * difference, which diag() describes.
 */
unsigned int nfs_model_data(const struct nfs_model *, unsigned int ops);
/*
 * Makes, links, renames and removes names in one directory. Does the same with
 * system calls in the local directory beside. Compares every status, and the
 * trees at the end.
 */
unsigned int nfs_model_names(const struct nfs_model *, int beside,
    unsigned int ops);

#endif
