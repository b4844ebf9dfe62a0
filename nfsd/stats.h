/* SPDX-License-Identifier: ISC */
/*
 * Counters of a worker, in memory shared with the parent. The parent only adds
 * them up and prints them: to the log, and as text for Prometheus. The event
 * loop of the worker is the only writer, so there are no locks. A compromised
 * worker can only make its own counters wrong.
 * Runs in: nfsd worker (counts), nfsd parent (prints).
 */
#ifndef STATS_H
#define STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd/usage.h"
#include "nfsd/wire/nfs.h"

#define STATS_BUCKETS  USAGE_BUCKETS
#define STATS_TEXT_MAX (4 * 1024 * 1024)
#define STATS_PROCS    (NFSPROC2_COUNT + NFSPROC3_COUNT)

struct stats_proc {
	_Atomic uint64_t calls, errors, bytes, ns;
	_Atomic uint64_t latency[STATS_BUCKETS];
};

/* Plain values, in the order of gauges[] in stats_text.c. */
enum stats_gauge {
	STATS_CONNECTIONS,
	STATS_IN_FLIGHT,
	STATS_FILES,
	STATS_FILE_HITS,
	STATS_FILE_MISSES,
	STATS_FILE_EVICTIONS,
	STATS_NOTE_HITS,
	STATS_NOTE_MISSES,
	STATS_LISTING_HITS,
	STATS_LISTING_MISSES,
	STATS_REPLY_HITS,
	STATS_REPLY_BUSY,
	STATS_REPLY_MISSES,
	STATS_LATE,
	STATS_AUDIT_LINES,
	STATS_AUDIT_LOST,
	STATS_TLS_HANDSHAKES,
	STATS_TLS_SESSIONS,
	STATS_TLS_IN,
	STATS_TLS_OUT,
	STATS_TLS_BAD_PROTOCOL,
	STATS_TLS_BAD_CERTIFICATE,
	STATS_TLS_BAD_PEER,
	STATS_TLS_BAD_HERE,
	STATS_TLS_BAD_TIME,
	STATS_TLS_BAD_LIMIT,
	STATS_GAUGES
};

struct stats {
	struct stats_proc procs2[NFSPROC2_COUNT];
	struct stats_proc procs3[NFSPROC3_COUNT];
	_Atomic uint64_t gauges[STATS_GAUGES];
	struct usage usage;
};

/* The bucket of a latency. */
unsigned int stats_bucket(uint64_t ns);
/* Counts a call that is finished. */
void stats_count(struct stats *, uint32_t version, uint32_t procnum,
    const struct usage_call *);
void stats_set(struct stats *, enum stats_gauge, uint64_t);

/* Writes the sums of n workers: figures/stats_text.c. */
struct figures;
void stats_text(const struct stats *const *, size_t n, struct figures *);
/* Logs the sums, one line per procedure that was called. */
void stats_log(const struct stats *const *, size_t n);

#endif
