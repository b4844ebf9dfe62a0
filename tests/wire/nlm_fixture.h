/* SPDX-License-Identifier: ISC */
/*
 * A server of NLM and NSM in memory, with a small table of locks behind it: one
 * file, whole conflicts, no waiters. It counts what would be sent to clients.
 * Runs in: tests, fuzzers.
 */
#ifndef NLM_FIXTURE_H
#define NLM_FIXTURE_H

#include "nfsd/nlm/nlm.h"

struct rpc_server;

/* What the server would have sent, since nlm_fixture_begin(). */
struct nlm_fixture_sent {
	unsigned int responses; /* _RES calls */
	unsigned int answers; /* GRANTED_RES, passed on to the table */
	unsigned int proofs; /* restarts to be checked */
	unsigned int freed; /* LOCKS_FREE that were proven */
};

extern struct nlm_fixture_sent nlm_fixture_sent;

/*
 * Words of setup: "nolocks"; "gone" (there is no locks role); "stat N" (every
 * question is answered so); "holder" (another client has bytes 100 to 149).
 */
struct rpc_server *nlm_fixture_begin(const char *setup);
void nlm_fixture_end(struct rpc_server *);

#endif
