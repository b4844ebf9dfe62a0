/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of the statistics: memory for the counters of each worker,
 * and the request "stats" of the control socket.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_STATS_H
#define PARENT_STATS_H

#include "nfsd/nfsd.h"
#include "nfsd/stats.h"

struct control;
struct parent_locks;

struct parent_stats {
	unsigned int n;
	int fds[NFSD_WORKERS_MAX];
	const struct stats *workers[NFSD_WORKERS_MAX + 1]; /* last: own */
	struct stats *own; /* what the parent counts itself */
	char *text;
	const int64_t *tls_ends; /* of struct nfsd_tls_loaded; NULL: no TLS */
	const struct parent_locks *locks;
};

/* Makes the memory. Ends the process if there is none. */
void parent_stats_start(struct parent_stats *, struct control *,
    const struct nfsd *);
void parent_stats_stop(struct parent_stats *);
/* Returns the descriptor of a worker's counters, for it to inherit. */
int parent_stats_fd(const struct parent_stats *, unsigned int worker);
void parent_stats_log(const struct parent_stats *);

#endif
