/* SPDX-License-Identifier: ISC */
/*
 * What the worker counts at the end of each call, and the calls that it keeps
 * while an administrator looks at them.
 * Runs in: nfsd worker (event loop).
 */
#ifndef WORKER_USAGE_H
#define WORKER_USAGE_H

#include "nfsd/stats.h"

struct call_ctx;
struct call_res;
struct rpc_call;

struct worker_usage {
	struct stats *stats; /* shared with the parent */
	const _Atomic uint64_t *watch_until; /* struct nfsd_shared */
	struct usage_memo memo;
};

/* Counts a call that has ended, and keeps it if calls are looked at. */
void worker_usage_count(struct worker_usage *, const struct call_ctx *,
    const struct rpc_call *, const struct call_res *);

#endif
