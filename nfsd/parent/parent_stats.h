/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of the statistics: memory for the counters of each worker,
 * and the request "stats" of the control socket.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_STATS_H
#define PARENT_STATS_H

#include "nfsd/nfsd.h"
#include "nfsd/figures/usage_text.h"
#include "nfsd/stats.h"
#include "tally/tally.h"

struct control;
struct figures;
struct parent_locks;
struct reload;

struct parent_stats {
	unsigned int n;
	int fds[NFSD_WORKERS_MAX];
	const struct stats *workers[NFSD_WORKERS_MAX + 1]; /* last: own */
	struct stats *own; /* what the parent counts itself */
	char *text;
	const int64_t *tls_ends; /* of struct nfsd_tls_loaded; NULL: no TLS */
	const struct parent_locks *locks;
	const struct reload *roles; /* all of them */
	struct usage_paths paths;
	char mountd[TALLY_PATH_MAX]; /* the file in which mountd counts */
	uint64_t since; /* seconds since 1970 */
	/* By which heads of one engine are seen to be the same server. */
	const struct fh_keys *keys;
	const struct exports_file *file;
	const struct jail *jail;
};

/* Makes the memory. Ends the process if there is none. */
void parent_stats_start(struct parent_stats *, struct control *,
    const struct nfsd *);
void parent_stats_stop(struct parent_stats *);
/* Returns the descriptor of a worker's counters, for it to inherit. */
int parent_stats_fd(const struct parent_stats *, unsigned int worker);
/* Writes what all processes of Tern count, but the portmapper. */
void parent_stats_text(struct parent_stats *, struct figures *);
void parent_stats_log(const struct parent_stats *);

#endif
