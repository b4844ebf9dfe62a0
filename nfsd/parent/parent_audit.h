/* SPDX-License-Identifier: ISC */
/*
 * The audit in the parent: takes the records of the workers, bounds their rate
 * over all workers, and records them (audit_sink.h). What is not recorded is
 * counted, and the log says how many and why.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_AUDIT_H
#define PARENT_AUDIT_H

#include "nfsd/nfsd.h"
#include "nfsd/disk/audit_sink.h"

struct event;
struct event_base;
struct stats;

struct parent_audit {
	int ours[NFSD_WORKERS_MAX], theirs[NFSD_WORKERS_MAX];
	struct event *on_record[NFSD_WORKERS_MAX], *on_second;
	struct audit_sink sink;
	struct bucket bucket;
	uint64_t written, lost, told;
	const char *why; /* the last reason for a loss */
	struct stats *stats; /* gets both numbers */
};

/* Opens the sink of -o audit. A mistake ends the process. */
void parent_audit_prepare(struct parent_audit *, const struct nfsd *);
void parent_audit_start(struct parent_audit *, struct event_base *,
    const struct nfsd *, struct stats *);
void parent_audit_stop(struct parent_audit *, const struct nfsd *);
/* The descriptor of a worker, for it to inherit. */
int parent_audit_fd(const struct parent_audit *, unsigned int worker);

#endif
