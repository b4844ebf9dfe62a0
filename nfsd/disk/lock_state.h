/* SPDX-License-Identifier: ISC */
/*
 * What must outlive the table of locks: the state number of this server (NSM)
 * and the clients that hold locks. A file "locks" in the state directory has
 * both:
 *
 *	tern-locks 1 191234567
 *	+ 10.0.0.7 4 tcp 10.0.0.1 13 6c6170746f70
 *	- 10.0.0.7 4 tcp 10.0.0.1 6c6170746f70
 *
 * A line + adds a client: address, version of NLM, transport, the address that
 * it calls this server by, its own state number, and its name in hexadecimal. A
 * line - takes it away. Lines are appended, and the file is written anew when
 * most of them no longer count: under another name, synced, and renamed. So a
 * crash can only leave a last line without its end, which no client relied on.
 * Runs in: nfsd parent.
 */
#ifndef DISK_LOCK_STATE_H
#define DISK_LOCK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd/locks/proto.h"

#define LOCK_STATE_FILE	    "locks"
#define LOCK_STATE_CLIENTS  16384
#define LOCK_STATE_PER_HOST 64 /* names, versions and transports of one */

struct lock_client {
	struct locks_listed listed; /* no ports */
	uint8_t *name;
	bool lost; /* it held locks when the table was lost */
};

struct lock_state {
	char path[256]; /* of the file, for messages */
	int dir; /* -1: the directory cannot be used */
	int log; /* to append to; -1: the file must be written anew */
	int32_t state; /* odd */
	struct lock_client *clients;
	size_t n;
	size_t lines; /* of the file */
	bool unsynced;
};

/*
 * Opens the directory and reads the file. Logs what is wrong with the file. One
 * that is not one of these is renamed to "locks.bad". The state number is then
 * made from the clock, as without a file: no client has heard a higher one.
 * Returns false with errno if the directory cannot be used. EWOULDBLOCK: another
 * nfsd uses it.
 */
bool lock_state_open(struct lock_state *, const char *dir);
void lock_state_close(struct lock_state *);
/*
 * The table is lost: the next state number, and every client is marked as lost.
 * Returns false with errno if that is not on disk.
 */
bool lock_state_raise(struct lock_state *);
/*
 * Adds a client, or replaces what is known of it. It is on disk after
 * lock_state_sync(). Returns false if it has too many names, or all have.
 */
bool lock_state_add(struct lock_state *, const struct locks_listed *,
    const void *name);
/* Takes a client away. Needs no sync: one too many does no harm. */
void lock_state_remove(struct lock_state *, const struct locks_listed *,
    const void *name);
/* Returns false with errno if a client that was added is not on disk. */
bool lock_state_sync(struct lock_state *);

#endif
