/* SPDX-License-Identifier: ISC */
/*
 * nfsd -H asks each worker to call itself: NULL, and for every export a GETATTR
 * and a READDIR of its root. These calls take the way of a client's from the
 * dispatcher on: file thread, door, broker, filesystem. They act as the owner of
 * the root, squashed as usual. No memory of an open root is used.
 *
 * A root that does not answer is asked once, however many requests wait for it:
 * checks of a hung engine do not fill the queues.
 * Runs in: nfsd worker (event loop).
 */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKER_CHECK_REPLY 8192 /* bytes of the longest reply */

struct check;
struct event_base;
struct rpc_server;

struct worker_checks {
	struct event_base *base;
	struct rpc_server *server;
	int parent; /* channel */
	uint32_t xid;
	LIST_HEAD(, check) running;
	uint8_t reply[WORKER_CHECK_REPLY];
};

void worker_checks_init(struct worker_checks *, struct event_base *,
    int parent);
/*
 * Begins the checks of a message NFSD_CHECK. The parent gets a message
 * NFSD_CHECKED for each. Returns false if the message is malformed.
 */
bool worker_check(struct worker_checks *, struct rpc_server *,
    const uint8_t *message, size_t len);

#endif
