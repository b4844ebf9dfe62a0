/* SPDX-License-Identifier: ISC */
/*
 * Who the caller is and how a thread acts as him. Squashing is pure; switching
 * changes only the calling thread (raw system calls), only when the caller
 * differs from the last one, and is checked by reading back, since setfsuid(2)
 * reports no error. After a failure nothing is done as anybody: the request
 * fails, and the next one switches completely.
 * Runs in: nfsd worker (event loop and file threads), nfsd broker.
 */
#ifndef ROLES_CRED_H
#define ROLES_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd/mode.h"
#include "rpc/rpc.h"

struct export_options;

/* Sorted groups without repeats; equal callers are equal byte for byte. */
struct cred {
	uint32_t uid, gid;
	uint32_t ngids;
	uint32_t gids[RPC_GROUPS_MAX];
};

/* What one thread acts as. Zero: nobody knows yet. */
struct cred_acting {
	bool switches; /* MODE_MULTI, MODE_ROOT */
	bool known;
	struct cred now;
};

/* For the calling thread. */
void cred_init(struct cred_acting *, enum nfsd_mode);
/* Who a credential is under these options. */
void cred_squash(struct cred *, const struct rpc_cred *,
    const struct export_options *);
bool cred_equal(const struct cred *, const struct cred *);
/* The calling thread acts as cred from now on. 0, or -1: as nobody known. */
int cred_switch(struct cred_acting *, const struct cred *);
/* A number that differs for different callers; never 0. */
uint64_t cred_key(const struct cred *);
/*
 * Takes up or lays down a capability (CAP_...) of the calling thread, which
 * stays permitted. Returns whether it was in force before, or -1.
 */
int cred_right(int cap, bool on);

#endif
