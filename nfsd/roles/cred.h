/* SPDX-License-Identifier: ISC */
/*
 * Squashing: which user a caller is. Switching: how a thread acts as that user.
 * Squashing makes no system call. Switching changes only the calling thread, by
 * raw system calls, and only if the caller differs from the previous one.
 *
 * setfsuid(2) reports no error, so every switch is verified. If a switch fails,
 * the call fails too, and the next call switches completely.
 * Runs in: nfsd worker (event loop and file threads), nfsd broker.
 */
#ifndef ROLES_CRED_H
#define ROLES_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd/groups.h"
#include "nfsd/mode.h"
#include "rpc/rpc.h"

struct export_options;

/*
 * The identity of a caller. Groups are sorted and unique, so equal callers have
 * equal bytes.
 */
struct cred {
	uint32_t uid, gid;
	uint32_t ngids;
	uint32_t gids[GROUPS_MAX];
	bool managed; /* the groups are those of nfsd/groups.h */
};

/* The identity that a thread acts as. Zero: not known. */
struct cred_acting {
	bool switches; /* MODE_MULTI, MODE_ROOT */
	bool known;
	struct cred now;
	uint64_t key; /* cred_key() of it; 0: not reckoned yet */
};

/*
 * Squash mode: makes the process act on files as this user for good. Its user
 * id stays its own, so that no process of that user can stop it. To be called
 * before there are threads and before capabilities are dropped. A plain user
 * acts as itself. Returns 0 or -1.
 */
int cred_settle(uint32_t uid, uint32_t gid);
/* Initialises the state of the calling thread. */
void cred_init(struct cred_acting *, enum nfsd_mode);
/* Sets the caller that a credential becomes under these options. */
void cred_squash(struct cred *, const struct rpc_cred *,
    const struct export_options *);
/*
 * Replaces the groups of a squashed caller by those of the user here; NULL: it
 * has none. The group of the call stays the primary one if the user is in it.
 * The list may be that of the caller itself.
 */
void cred_manage(struct cred *, const struct export_options *,
    const struct groups *);
/* Copies the groups that there are, not the room for more. */
void cred_copy(struct cred *, const struct cred *);
bool cred_equal(const struct cred *, const struct cred *);
/*
 * Makes the calling thread act as cred. Returns 0, or -1: the identity of the
 * thread is then not known.
 */
int cred_switch(struct cred_acting *, const struct cred *);
/* Returns a hash of the caller; never 0. */
uint64_t cred_key(const struct cred *);
/* The same of the caller that the thread acts as. */
uint64_t cred_acting_key(struct cred_acting *);
/*
 * The effective user of the calling thread, and its filesystem user with it:
 * cred_switch() must follow. Real and saved user stay. 0, or -1 with errno.
 */
int cred_effective(uint32_t uid);
/*
 * Raises or drops an effective capability (CAP_...) of the calling thread; it
 * stays permitted. Returns whether it was effective before, or -1.
 */
int cred_right(int cap, bool on);

#endif
