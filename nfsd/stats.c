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

static unsigned int
bucket(uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned int i = 0;

	while (i < STATS_BUCKETS - 1 && us > (UINT64_C(1) << i))
		i++;
	return i;
}

void
stats_count(struct stats *stats, uint32_t version, uint32_t procnum,
    bool failed, uint64_t bytes, uint64_t ns)
{
	struct stats_proc *p;

	if (version == 3 && procnum < NFSPROC3_COUNT)
		p = &stats->procs3[procnum];
	else if (version == 2 && procnum < NFSPROC2_COUNT)
		p = &stats->procs2[procnum];
	else
		return;
	stats_add(&p->calls, 1);
	stats_add(&p->ns, ns);
	stats_add(&p->latency[bucket(ns)], 1);
	if (failed)
		stats_add(&p->errors, 1);
	if (bytes > 0)
		stats_add(&p->bytes, bytes);
}

void
stats_set(struct stats *stats, enum stats_gauge gauge, uint64_t value)
{
	atomic_store_explicit(&stats->gauges[gauge], value,
	    memory_order_relaxed);
}
