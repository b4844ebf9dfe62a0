/* SPDX-License-Identifier: ISC */
/*
 * Exports and clients of all workers: see merged.h.
 * Runs in: nfsd parent.
 */
#include <string.h>

#include "nfsd/figures/merged.h"

static uint64_t
value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The place of a row: that of the same client and export, or a free one. */
static struct usage_row *
merged_place(struct merged *m, const struct usage_row *row)
{
	size_t i = (size_t)(addr_hash(&row->from) ^ row->export) % MERGED;
	struct usage_row *at;

	for (;; i = (i + 1) % MERGED) {
		at = &m->rows[i];
		if (value(&at->turn) == 0 ||
		    (at->export == row->export &&
			at->from.family == row->from.family &&
			addr_same_host(&at->from, &row->from)))
			return at;
	}
}

static void
merge_row(struct merged *m, const struct usage_row *row)
{
	struct usage_row *at = merged_place(m, row);
	size_t i;

	if (value(&at->turn) == 0) {
		if (m->n == MERGED_MAX) {
			m->left_out++;
			return;
		}
		m->n++;
		memcpy(at, row, sizeof(*at));
		return;
	}
	for (i = 0; i < USAGE_COUNTS; i++)
		at->counts[i] += value(&row->counts[i]);
	for (i = 0; i < USAGE_BUCKETS; i++)
		at->latency[i] += value(&row->latency[i]);
	at->kinds |= row->kinds;
	if (row->since < at->since)
		at->since = value(&row->since);
	if (row->last > at->last)
		at->last = value(&row->last);
}

static void
merge_table(struct merged *m, const struct usage_row *table, size_t n,
    bool clients)
{
	struct usage_row row;
	size_t i;

	for (i = 0; i < n; i++)
		if (usage_copy(&table[i], &row) &&
		    (row.from.family != 0) == clients)
			merge_row(m, &row);
}

void
merged_fill(struct merged *m, const struct stats *const *workers, size_t n)
{
	size_t i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < n; i++) {
		const struct usage *u = &workers[i]->usage;

		merge_table(m, u->exports, USAGE_EXPORTS, false);
		merge_table(m, u->clients, USAGE_CLIENTS, true);
		m->left_out += value(&u->replaced);
	}
}
