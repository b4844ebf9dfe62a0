/* SPDX-License-Identifier: ISC */
/*
 * The state numbers of this server (NSM): that of each floating address, which
 * came with it, and that of all other addresses.
 * Runs in: nfsd nlm, tests.
 */
#ifndef NLM_STATES_H
#define NLM_STATES_H

#include "nfsd/locks/proto.h"

struct nlm_states {
	int32_t own; /* 0: not known yet */
	struct {
		struct addr at;
		int32_t state;
	} floating[LOCKS_FLOATING_MAX];
	size_t n;
};

/* What a client knows that calls this server by an address. */
int32_t nlm_state(const struct nlm_states *, const struct addr *to);
/* at: a floating address; family 0: all others. */
void nlm_set_state(struct nlm_states *, const struct addr *at, int32_t state);

#endif
