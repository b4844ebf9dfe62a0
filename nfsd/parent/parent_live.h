/* SPDX-License-Identifier: ISC */
/*
 * What runs now, for nfsd -S SECONDS: the requests "live", "files" and "end" of
 * the control socket. The counters of all workers are added up here. No byte of
 * a worker's memory is believed: numbers are printed, names are escaped, and the
 * paths of exports are the parent's own.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_LIVE_H
#define PARENT_LIVE_H

#include "nfsd/nfsd.h"

#define PARENT_LIVE_ENDS 16 /* requests to end connections at once */

struct control;
struct parent_stats;

struct parent_live {
	const struct parent_stats *stats;
	struct control *control;
	struct nfsd_shared *shared;
	/* Returns the path of an export; NULL: none has this number. */
	const char *(*path)(void *arg, uint16_t export_id);
	/* Returns the worker of this number; NULL: none. */
	struct role_child *(*worker)(void *arg, unsigned int);
	void *arg;
	struct {
		uint64_t number; /* of the request; 0: none */
		unsigned int waiting; /* workers that have not answered */
		unsigned int ended; /* connections */
	} ends[PARENT_LIVE_ENDS];
};

/* Adds the requests. The members above ends are filled in. */
void parent_live_start(struct parent_live *);
/* A worker has ended the connections of a client. */
void parent_live_ended(struct parent_live *, const struct nfsd_ended *);

#endif
