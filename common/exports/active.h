/* SPDX-License-Identifier: ISC */
/*
 * The active list of exports of a role. A reload builds a new list aside and
 * swaps it in. A call that uses the old list keeps it until it is done, and the
 * last user frees it.
 *
 * A thread can hold a list over many calls, so that a call takes no lock: it
 * compares two generations. The list it holds may be an old one, whose roots
 * stay open; another thread can take that one away (active_release()).
 * Runs in: mountd worker, nfsd worker, nfsd broker.
 */
#ifndef EXPORTS_ACTIVE_H
#define EXPORTS_ACTIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exports/exports.h"

/* An export as a role holds it. Completed by each daemon. */
struct served_export;

struct served_exports {
	_Atomic unsigned int users;
	uint32_t generation; /* which list of this role; set by active_swap() */
	struct exports *conf;
	/* One for each of conf->list, same order; then the submounts. */
	struct served_export *list;
	size_t n;
	void (*clear)(struct served_exports *); /* frees list */
};

struct active {
	pthread_mutex_t lock; /* of list */
	struct served_exports *list; /* NULL: none yet */
	_Atomic uint32_t generation; /* of it */
};

/* The list that one thread holds. Zeroed: none. */
struct active_hold {
	struct served_exports *_Atomic list;
	_Atomic uint32_t generation; /* of it */
};

/* A list without entries, with one user. Takes over conf. NULL: no memory. */
struct served_exports *active_list_new(struct exports *conf,
    void (*clear)(struct served_exports *));

void active_init(struct active *);
/* Ends the use of the list; nothing may use it any more. */
void active_clear(struct active *);
/* Makes a list the active one. Takes over one use; NULL: none is active. */
void active_swap(struct active *, struct served_exports *);
/* The active list, until active_done(). NULL: none yet. */
struct served_exports *active_use(struct active *);
/* Accepts NULL. */
void active_done(struct served_exports *);

/*
 * The thread of the hold: has it hold the active list. pinned: a list that it
 * holds already stays, whatever is active. True: the hold has changed, so
 * nothing is valid any more that points into the list it held.
 */
bool active_hold(struct active *, struct active_hold *, bool pinned);
/*
 * Any thread: takes the list away if it is an old one. The thread of the hold
 * must not use it now, nor have begun to just before. True: taken.
 */
bool active_release(struct active *, struct active_hold *);

#endif
