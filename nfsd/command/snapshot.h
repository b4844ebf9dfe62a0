/* SPDX-License-Identifier: ISC */
/*
 * The counters of the running nfsd at one moment, and what happened between two
 * of them. Made from the answer to the request "live".
 * Runs in: nfsd -S.
 */
#ifndef COMMAND_SNAPSHOT_H
#define COMMAND_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd/usage.h"

/* An export, or a client in an export. */
struct snapshot_row {
	const char *client; /* NULL: the row is an export's */
	const char *export; /* escaped; "-": none */
	uint64_t since_ms, last_ms; /* ago */
	uint32_t kinds; /* USAGE_V2 and so on */
	uint64_t counts[USAGE_COUNTS];
	uint64_t latency[USAGE_BUCKETS];
	/* Since the snapshot before, or since the row began. */
	double seconds;
	uint64_t in_counts[USAGE_COUNTS];
	uint64_t in_latency[USAGE_BUCKETS];
	double weight; /* what the rows are sorted by */
};

struct snapshot {
	char *text; /* the rows point into it */
	uint64_t now_ms; /* monotonic clock */
	uint64_t workers, connections, waiting;
	uint64_t left_out; /* clients for which there was no room */
	struct snapshot_row *rows;
	size_t n;
};

/* Asks nfsd. NULL: one line was logged that says what is wrong. */
struct snapshot *snapshot_take(const char *path);
/* Fills the members for the time since an earlier one; NULL: since start. */
void snapshot_since(struct snapshot *, const struct snapshot *before);
/* The row of the same export and client; NULL: none. */
const struct snapshot_row *snapshot_find(const struct snapshot *,
    const struct snapshot_row *);
void snapshot_free(struct snapshot *);

double snapshot_rate(const struct snapshot_row *, enum usage_count);
/*
 * The latency in microseconds that this share of the calls did not exceed, as the
 * upper end of its bucket; 0: there was no call.
 */
unsigned long long snapshot_percentile(const struct snapshot_row *,
    unsigned int percent);

/* What rows can be sorted by. */
enum snapshot_order {
	SNAPSHOT_BY_CALLS,
	SNAPSHOT_BY_READ,
	SNAPSHOT_BY_WRITTEN,
	SNAPSHOT_BY_LATENCY,
	SNAPSHOT_BY_ERRORS,
	SNAPSHOT_BY_REFUSED,
	SNAPSHOT_BY_NAME,
	SNAPSHOT_ORDERS
};

/* Exports first, each kind with the most first. */
void snapshot_sort(struct snapshot *, enum snapshot_order);

#endif
