/* SPDX-License-Identifier: ISC */
/*
 * The worker's side of the accept role (nfsd/accept/proto.h): takes connections
 * from it and tells it which have ended.
 * Runs in: nfsd worker, event loop only.
 */
#ifndef WORKER_ACCEPT_H
#define WORKER_ACCEPT_H

#include <stddef.h>
#include <stdint.h>

#include "nfsd/accept/proto.h"
#include "rpc/take.h"

struct event;
struct event_base;

struct worker_accept {
	struct event_base *base; /* NULL: not started yet */
	struct rpc_tcp *tcp; /* all connections */
	int channel; /* -1: there is no accept role */
	struct event *on_message, *on_room;
	struct accept_news *news; /* not sent yet */
	size_t n, room;
};

void worker_accept_init(struct worker_accept *);
/* The accept role runs, for the first time or again. Takes over channel. */
void worker_accept_connect(struct worker_accept *, int channel);
/* From now on connections are taken. */
void worker_accept_start(struct worker_accept *, struct event_base *,
    struct rpc_tcp *);
/* To be called when a connection of tcp has ended; see rpc_tcp_new(). */
void worker_accept_ended(void *arg, uint64_t id);
/* Takes no more connections. */
void worker_accept_stop(struct worker_accept *);

#endif
