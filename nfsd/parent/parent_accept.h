/* SPDX-License-Identifier: ISC */
/*
 * The sockets of NFS, and the parent's side of the accept role: it starts the
 * role with the TCP sockets, and connects it to each worker. Each worker has a
 * UDP socket of its own. The role runs if there is more than one worker. A
 * single worker accepts by itself.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_ACCEPT_H
#define PARENT_ACCEPT_H

#include "nfsd/nfsd.h"
#include "process/listen.h"

struct event_base;
struct reload;

struct parent_accept {
	const struct nfsd *n;
	const struct listen_set
	    *sockets; /* of each worker; TCP: of the first */
	/* Set before parent_accept_bind(). */
	struct role_child *(*worker)(void *arg, unsigned int);
	void (*changed)(void *arg); /* the role serves */
	void *arg;
	struct role_spec spec;
	struct role_child *role; /* NULL: there is none */
};

/* Binds, and keeps sockets: one set for each worker. Fatal if it cannot. */
void parent_accept_bind(struct parent_accept *, const struct nfsd *,
    struct listen_set *sockets);
/* Stores the sockets that a worker has itself. Returns how many. */
size_t parent_accept_rest(const struct parent_accept *, unsigned int worker,
    int *fds, size_t max);
void parent_accept_start(struct parent_accept *, struct event_base *,
    struct reload *);
/* Makes a channel between the role and a worker, if both run. */
void parent_accept_connect(struct parent_accept *, unsigned int worker);
/* The role accepts no more. */
void parent_accept_stop(struct parent_accept *);
void parent_accept_free(struct parent_accept *);

#endif
