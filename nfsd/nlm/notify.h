/* SPDX-License-Identifier: ISC */
/*
 * Restarts. When this server has lost its table, it tells every client that held
 * locks, by SM_NOTIFY, until each has answered or 15 minutes are over. And a
 * client that says by UDP that it has restarted is asked for its state: only a
 * new one frees its locks.
 * Runs in: nfsd nlm (event loop).
 */
#ifndef NLM_NOTIFY_H
#define NLM_NOTIFY_H

#include "nfsd/nlm/nlm.h"
#include "nfsd/nlm/outgoing.h"

#define NOTIFY_SECONDS	     900 /* a client is told of a restart for so long */
#define NOTIFY_GAP_MAX	     60 /* seconds between two tries */
#define NOTIFY_PROOFS	     256 /* restarts of clients that are checked at once */
#define NOTIFY_PROVE_SECONDS 120 /* a client's NSM may start late */

struct event_base;
struct notifier;

struct notify_hooks {
	/* A listed client has answered. */
	void (*heard)(void *arg, const struct locks_listed *,
	    struct slice name);
	/* It has restarted, and has this state now. */
	void (*proved)(void *arg, const struct locks_client *,
	    struct slice name, int32_t state);
	void *arg;
};

struct notifier *notify_new(struct event_base *, struct outgoing *,
    const struct notify_hooks *);
void notify_free(struct notifier *);
/* A new table: forgets the clients of the last one. */
void notify_start(struct notifier *);
/* The machine has this address no longer: tells none of its clients. */
void notify_left(struct notifier *, const struct addr *at);
/* Tells this client. */
void notify_listed(struct notifier *, const struct locks_listed *,
    struct slice name);
/* Asks the sender of the call if it has restarted. */
void notify_prove(struct notifier *, const struct call_ctx *);

#endif
