/* SPDX-License-Identifier: ISC */
/*
 * The active list of exports of a role. A reload builds a new list and swaps it
 * in. A call that uses the old list keeps it until the call ends. The last user
 * frees it.
 *
 * A thread can hold a list over many calls. A call then takes no lock, it only
 * compares two generations. An idle thread may hold a stale list, whose roots
 * stay open; another thread can release it (active_release()).
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
	_Atomic uint32_t generation; /* of list */
};

/* The list that one thread holds. Zeroed: none. */
struct active_hold {
	struct served_exports *_Atomic list;
	_Atomic uint32_t generation; /* of list */
};

/*
 * Returns a list without entries and with one user, or NULL if there is no
 * memory. The list owns conf.
 */
struct served_exports *active_list_new(struct exports *conf,
    void (*clear)(struct served_exports *));

void active_init(struct active *);
/* Ends the use of the list. No thread may use struct active afterwards. */
void active_clear(struct active *);
/* Makes a list the active one and owns one use of it. NULL: none is active. */
void active_swap(struct active *, struct served_exports *);
/* Returns the active list, valid until active_done(). NULL: none yet. */
struct served_exports *active_use(struct active *);
/* Ends one use; the last one frees the list. Accepts NULL. */
void active_done(struct served_exports *);

/* Exchanges the list in the hold for the active one. */
void active_take(struct active *, struct active_hold *);
/*
 * Puts the active list into the hold. To be called by the thread of the hold.
 * pinned: a list already held stays, even if it is stale. Returns true if the
 * hold has changed: pointers into the list it held are then invalid.
 */
static inline bool
active_hold(struct active *a, struct active_hold *h, bool pinned)
{
	if (atomic_load(&h->list) != NULL &&
	    (pinned ||
		atomic_load(&h->generation) == atomic_load(&a->generation)))
		return false;
	active_take(a, h);
	return true;
}
/*
 * Takes a stale list out of the hold. Any thread may call it while the thread
 * of the hold is between calls. Returns true if it took one.
 */
bool active_release(struct active *, struct active_hold *);

#endif
