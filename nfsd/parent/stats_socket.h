/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of the statistics: memory for the counters of each worker,
 * and a socket. It sends the text to each reader that connects, reads nothing,
 * and closes.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_STATS_SOCKET_H
#define PARENT_STATS_SOCKET_H

#include "nfsd/nfsd.h"
#include "nfsd/stats.h"

struct event;
struct event_base;

struct parent_stats {
	unsigned int n;
	int fds[NFSD_WORKERS_MAX];
	const struct stats *workers[NFSD_WORKERS_MAX];
	const char *path; /* NULL: no socket */
	int socket;
	struct event *on_connect;
	char *text;
	const int64_t *tls_ends; /* of struct nfsd_tls_loaded; NULL: no TLS */
};

/*
 * Makes memory and socket. Ends the process without memory. If the socket
 * cannot be made, logs one line.
 */
void parent_stats_start(struct parent_stats *, struct event_base *,
    const struct nfsd *);
void parent_stats_stop(struct parent_stats *);
/* Returns the descriptor of a worker's counters, for it to inherit. */
int parent_stats_fd(const struct parent_stats *, unsigned int worker);
void parent_stats_log(const struct parent_stats *);

#endif
