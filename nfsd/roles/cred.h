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

#include "rpc/rpc.h"

struct export_options;

/* Sorted groups without repeats; equal callers are equal byte for byte. */
struct fs_cred {
	uint32_t uid, gid;
	uint32_t ngids;
	uint32_t gids[RPC_GROUPS_MAX];
};

/* The three modes of nfsd, chosen from the exports; see nfsd(8). */
enum fs_mode {
	FS_SQUASH, /* everybody is the user the process runs as */
	FS_MULTI, /* anybody but root */
	FS_ROOT /* anybody */
};

/* What one thread acts as. Zero: nobody knows yet. */
struct fs_acting {
	bool switches; /* FS_MULTI, FS_ROOT */
	bool known;
	struct fs_cred now;
};

/* For the calling thread. */
void fs_cred_init(struct fs_acting *, enum fs_mode);
/* Who a credential is under these options. */
void fs_cred_squash(struct fs_cred *, const struct rpc_cred *,
    const struct export_options *);
bool fs_cred_equal(const struct fs_cred *, const struct fs_cred *);
/* The calling thread acts as cred from now on. 0, or -1: as nobody known. */
int fs_cred_switch(struct fs_acting *, const struct fs_cred *);
/* A number that differs for different callers; never 0. */
uint64_t fs_cred_key(const struct fs_cred *);
/*
 * Takes up or lays down a capability (CAP_...) of the calling thread, which
 * stays permitted. Returns whether it was in force before, or -1.
 */
int fs_cred_right(int cap, bool on);

#endif
