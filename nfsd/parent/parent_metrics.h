/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of -o metrics: binds the sockets, starts the metrics role
 * and writes the text that it asks for into memory that only the parent can
 * write. The role may ask once in half of METRICS_FRESH_MS. If it asks more
 * often, it is replaced.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_METRICS_H
#define PARENT_METRICS_H

#include "nfsd/nfsd.h"
#include "process/listen.h"

struct event_base;
struct parent_stats;
struct portmapper;
struct reload;

struct parent_metrics {
	const struct nfsd *n;
	struct parent_stats *stats; /* set before parent_metrics_start() */
	void (*changed)(void *arg); /* the same: the role serves */
	void *arg;
	struct listen_set sockets; /* none: metrics are off */
	uid_t uid; /* of the role */
	gid_t gid;
	int memory;
	char *text; /* the same, mapped */
	struct portmapper *portmapper; /* NULL: -R was given */
	struct role_spec spec;
	struct role_child *role;
	uint64_t asked_ms; /* the last question */
	bool asking; /* it is not answered yet */
};

/* Binds. Fatal if an address is taken, or if the role's user does not exist. */
void parent_metrics_prepare(struct parent_metrics *, const struct nfsd *);
void parent_metrics_start(struct parent_metrics *, struct event_base *,
    struct reload *);
void parent_metrics_stop(struct parent_metrics *);
void parent_metrics_free(struct parent_metrics *);

#endif
