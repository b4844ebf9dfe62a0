/* SPDX-License-Identifier: ISC */
/*
 * The sandbox policy of a worker, by mode. Data only; see sandbox.h.
 * Runs in: nfsd worker.
 */
#ifndef WORKER_POLICY_H
#define WORKER_POLICY_H

#include "confine/jail.h"
#include "confine/sandbox.h"
#include "exports/exports.h"
#include "exports/submounts.h"
#include "nfsd/nfsd.h"
#include "nfsd/roles/served.h"

#define WORKER_RULES_MAX 16

/* A policy, and the rules and descriptors it points to. */
struct worker_policy {
	struct sandbox_policy policy;
	struct sandbox_rule rules[WORKER_RULES_MAX];
	int paths[EXPORTS_MAX + SUBMOUNTS_MAX]; /* served_exports has both */
};

/*
 * Fills the policy for the mode of the setup. Files are accessible below the
 * jail or, without one, below the roots of the exports.
 */
void worker_policy(struct worker_policy *, const struct nfsd_setup *,
    const struct jail_view *, const struct served_exports *);

#endif
