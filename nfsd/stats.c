/* SPDX-License-Identifier: ISC */
/*
 * Counting: a few plain stores for each call.
 * Runs in: nfsd worker.
 */
#include "nfsd/stats.h"

/* Only the event loop writes, so no locked instruction is needed. */
static void
stats_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + n,
	    memory_order_relaxed);
}

unsigned int
stats_bucket(uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned int bits;

	if (us <= 1)
		return 0;
	bits = 64 - (unsigned int)__builtin_clzll(us - 1);
	return bits < STATS_BUCKETS - 1 ? bits : STATS_BUCKETS - 1;
}

void
stats_count(struct stats *stats, uint32_t version, uint32_t procnum,
    const struct usage_call *c)
{
	struct stats_proc *p;

	if (version == 3 && procnum < NFSPROC3_COUNT)
		p = &stats->procs3[procnum];
	else if (version == 2 && procnum < NFSPROC2_COUNT)
		p = &stats->procs2[procnum];
	else
		return;
	stats_add(&p->calls, 1);
	stats_add(&p->ns, c->ns);
	stats_add(&p->latency[c->bucket], 1);
	if (c->failed)
		stats_add(&p->errors, 1);
	if (c->read + c->written > 0)
		stats_add(&p->bytes, c->read + c->written);
}

void
stats_set(struct stats *stats, enum stats_gauge gauge, uint64_t value)
{
	atomic_store_explicit(&stats->gauges[gauge], value,
	    memory_order_relaxed);
}
