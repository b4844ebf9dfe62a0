/* SPDX-License-Identifier: ISC */
/*
 * Wrong handles: how many the door tries before it stops to answer.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_GUESS_H
#define DOOR_GUESS_H

#include "base/meter.h"
#include "nfsd/door/state.h"

#define GUESS_KINDS (FH_PLAYER + 1)

/* Wrong tags that are permitted: of one client, and of all together. */
struct guess_allowance {
	struct bucket_rate client, all;
};
extern const struct guess_allowance guess_allowances[GUESS_KINDS];

struct guesses *guesses_new(void);
void guesses_free(struct guesses *);
/*
 * Is the tag of a handle right that is not in the cache? Counts the wrong ones
 * of each client and slows it down.
 */
bool door_check_tag(struct call_ctx *, const struct served_export *,
    const struct fh *);

#endif
