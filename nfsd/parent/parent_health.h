/* SPDX-License-Identifier: ISC */
/*
 * The request "health SECONDS" of the control socket, for nfsd -H. The parent
 * seals the handle of each export's root and asks every worker to call itself
 * (nfsd/worker/worker_check.h). It fails at once for an export that is not there,
 * and when the time is over for a worker or an export that has not answered.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_HEALTH_H
#define PARENT_HEALTH_H

#include "nfsd/nfsd.h"

#define PARENT_HEALTH_REQUESTS 8 /* at once */

struct control;
struct event;
struct event_base;
struct exports_file;
struct jail;
struct listen_set;

/* One nfsd -H that waits. */
struct health_request {
	uint64_t number; /* of the request; 0: none */
	uint64_t begun_ns;
	struct parent_health *health;
	struct event *on_deadline;
	size_t nroots; /* exports that are asked for */
	uint16_t *ids; /* theirs; the first is 0: the NULL call */
	bool *answered; /* for each worker, for each of ids */
	size_t waiting; /* answers that have not come */
};

struct parent_health {
	/* To be set before parent_health_start(). */
	struct event_base *base;
	struct control *control;
	const struct fh_keys *keys;
	const struct exports_file *file;
	const struct jail *jail;
	unsigned int nworkers;
	const struct listen_set *sockets;
	struct role_child *(*worker)(void *arg, unsigned int); /* NULL: none */
	void *arg;

	struct health_request requests[PARENT_HEALTH_REQUESTS];
};

void parent_health_start(struct parent_health *);
/* A worker says what came of a check; any number in it may be wrong. */
void parent_health_checked(struct parent_health *, unsigned int worker,
    const struct nfsd_checked *);
void parent_health_free(struct parent_health *);

#endif
