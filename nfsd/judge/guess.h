/* SPDX-License-Identifier: ISC */
/*
 * Wrong handles: how many are tried before Tern stops to answer.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#ifndef JUDGE_GUESS_H
#define JUDGE_GUESS_H

#include "base/meter.h"
#include "handle/fhandle.h"

#define GUESS_KINDS (FH_PLAYER + 1)

/* Wrong tags that are permitted: of one client, and of all together. */
struct guess_allowance {
	struct bucket_rate client, all;
};
extern const struct guess_allowance guess_allowances[GUESS_KINDS];

struct guesses *guesses_new(void);
void guesses_free(struct guesses *);

#endif
