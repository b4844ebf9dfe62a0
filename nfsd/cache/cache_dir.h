/* SPDX-License-Identifier: ISC */
/*
 * The streams of a cached directory: descriptors to list it by, each standing
 * where a reply ended. A listing that goes on there needs no seek. A stream is
 * lent to one listing at a time. Streams from before the directory changed are
 * closed, since filesystems keep in them what they have read ahead.
 *
 * Pure: these functions open and close nothing. The cache holds its lock around
 * them, counts the descriptors and closes what they hand out.
 * Runs in: nfsd worker.
 */
#ifndef CACHE_DIR_H
#define CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define CACHE_STREAMS  4
#define CACHE_ANYWHERE UINT64_MAX /* a position no listing comes back to */

struct cache_dir {
	struct timespec ctime; /* of the directory that the streams list */
	uint64_t at[CACHE_STREAMS]; /* where they stand */
	int fds[CACHE_STREAMS]; /* -1: none */
	unsigned int lent;
};

/* No streams. */
void cache_dir_init(struct cache_dir *);
/*
 * Takes all streams out if the ctime is another one: returns how many are to be
 * closed.
 */
size_t cache_dir_change(struct cache_dir *, const struct timespec *ctime,
    int fds[CACHE_STREAMS]);
/* Takes all streams out, to be closed. */
size_t cache_dir_empty(struct cache_dir *, int fds[CACHE_STREAMS]);
/*
 * Lends a stream: the one that stands at want, or one that no listing comes back
 * to, or any if there may be no more. -1: a new one has to be opened. Either way
 * cache_dir_return() ends the loan.
 */
int cache_dir_lend(struct cache_dir *, uint64_t want, uint64_t *at);
/* Ends a loan. False: there is no room for fd, or it is -1. */
bool cache_dir_return(struct cache_dir *, int fd, uint64_t at);

#endif
