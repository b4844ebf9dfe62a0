/* SPDX-License-Identifier: ISC */
/*
 * Groups of this machine in place of those of the call: -o manage-gids.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#ifndef JUDGE_GROUPS_H
#define JUDGE_GROUPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nfsd/roles/cred.h"

#define JUDGE_GROUPS_MS	  1000 /* longest wait for the groups of a user */
#define JUDGE_WAITING_MAX 4 /* threads that wait so */

struct judge_groups {
	const struct groups_table *table; /* NULL: those of the call count */
	void (*ask)(void *arg, uint32_t uid); /* tells the parent */
	void *arg;
	_Atomic unsigned int waiting; /* threads */
};

/*
 * Puts the groups that the user has here in place of those of the
 * call. Returns false if they are not known yet; the parent is asked then.
 */
bool judge_manage(struct judge_groups *, const struct export_options *,
    struct cred *);
/*
 * Waits until they are known, JUDGE_GROUPS_MS at most: then the user has none.
 * Returns false if too many threads wait already.
 */
bool judge_await(struct judge_groups *, const struct export_options *,
    struct cred *);

#endif
