/* SPDX-License-Identifier: ISC */
/*
 * Looks how busy the workers are, and has busy ones give connections to others. The
 * one that is to take them is asked first, so that none goes to a worker that
 * hangs. A connection travels through the parent, which asks the kernel for its
 * peer and takes none that it did not ask for.
 * Runs in: nfsd parent.
 */
#ifndef PLACE_H
#define PLACE_H

#include <sys/types.h>

#include "nfsd/place/decide.h"

#define PLACE_LEFT_MAX 8 /* addresses that left lately */

struct event;
struct event_base;
struct ipc_message;
struct role_child;

struct place {
	/* To be set before place_start(). */
	struct role_child *(*worker)(void *arg, unsigned int);
	void *arg;
	/* Its own. */
	unsigned int n; /* workers; 0: it has not started */
	struct event *look;
	struct place_memory memory;
	struct place_look last;
	uint64_t at_ns, idle_ns; /* of the last look; idle 0: not known */
	uint64_t used_ns[NFSD_WORKERS_MAX];
	struct {
		/* Asked whether it takes connections; 0: it has answered. */
		pid_t offered;
		struct place_move offer;
		unsigned int to; /* where those go that it gives */
		unsigned int left; /* how many it may still give */
	} workers[NFSD_WORKERS_MAX];
	struct addr
	    gone[PLACE_LEFT_MAX]; /* number n is at n % PLACE_LEFT_MAX */
	unsigned int ngone;
};

/* With one worker there is nothing to do. */
void place_start(struct place *, struct event_base *, unsigned int workers);
/* A worker answers an offer. */
void place_on_want(struct place *, struct role_child *, bool wants);
/* A worker gives a connection, which the message carries. */
void place_on_given(struct place *, struct role_child *, struct ipc_message *);
/* The machine has an address now, or no longer. */
void place_address(struct place *, const struct addr *, bool here);
void place_free(struct place *);

#endif
