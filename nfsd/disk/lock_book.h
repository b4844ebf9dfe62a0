/* SPDX-License-Identifier: ISC */
/*
 * Lists of clients with locks, one for each floating address and one for all
 * other addresses. A floating address moves between machines, and its list lies
 * where all of them reach it. A machine uses the list while it has the address.
 * It has lost the table of that address whenever the address comes: the state
 * number grows, and the clients may reclaim.
 * Runs in: nfsd parent.
 */
#ifndef DISK_LOCK_BOOK_H
#define DISK_LOCK_BOOK_H

#include "nfsd/disk/lock_state.h"

#define LOCK_BOOKS_MAX (1 + LOCKS_FLOATING_MAX)

struct lock_book {
	struct addr
	    at; /* family 0: all addresses without a list of their own */
	const char *dir;
	struct lock_state state;
	bool here; /* the machine has the address */
	bool open; /* the directory is in use by this process */
	bool begun; /* the state number of this table is on disk */
	bool
	    leaving; /* the address left; locks of its clients are being freed */
	bool told; /* that the list cannot be used, and why */
	uint64_t tried_ms, grace_until_ms;
};

struct lock_books {
	struct lock_book list[LOCK_BOOKS_MAX]; /* first that without address */
	size_t n;
};

/* Adds a list. at: NULL for the first one. */
void lock_books_add(struct lock_books *, const struct addr *at,
    const char *dir);
/* The list for clients that call this server by an address. */
struct lock_book *lock_books_for(struct lock_books *, const struct addr *to);
/* The list of a floating address, or NULL. */
struct lock_book *lock_books_at(struct lock_books *, const struct addr *at);
/* Opens the list of all other addresses. Logs why not. */
void lock_book_open(struct lock_book *);
/*
 * The table is lost, or the address came. Raises the state number, and grace
 * begins for so many seconds. Opens the list of a floating address first. Returns
 * false if that is not possible now, and logs why, once.
 */
bool lock_book_begin(struct lock_book *, unsigned int grace);
/* Brings what was added to disk. Returns false if it is not, and logs it once. */
bool lock_book_sync(struct lock_book *);
/* Another machine may use it from now on. */
void lock_book_close(struct lock_book *);
/* May clients still reclaim? Seconds, or 0. */
uint32_t lock_book_grace(const struct lock_book *);

#endif
