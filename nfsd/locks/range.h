/* SPDX-License-Identifier: ISC */
/*
 * The byte ranges that are locked in one file. Each range is in two trees: one
 * of its file, which finds what overlaps, and one of its holder, whose ranges
 * never overlap. Both are treaps: the random ranks keep them balanced, whatever
 * ranges a client chooses. Pure.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#ifndef LOCKS_RANGE_H
#define LOCKS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define RANGE_LAST ((uint64_t)INT64_MAX) /* the last byte of a file */

struct holder;

enum range_tree { RANGE_FILE, RANGE_OWN, RANGE_TREES };

struct range {
	struct range *kid[RANGE_TREES][2];
	uint64_t start, end; /* both included */
	/* Of the subtree in RANGE_FILE: the largest end, and the largest end of
	 * an exclusive range + 1; 0: it has none. */
	uint64_t last, write_until;
	struct holder *holder;
	unsigned int rank : 31;
	unsigned int exclusive : 1;
};

/* Puts a range with all but its links and sums into both trees. */
void range_insert(struct range **file, struct range **own, struct range *);
/* Takes it out of both. It still belongs to the caller. */
void range_remove(struct range **file, struct range **own, struct range *);
/* Returns the first range of a holder that overlaps, or NULL. */
struct range *range_own_first(struct range *own, uint64_t start, uint64_t end);
/*
 * Calls visit for the ranges of a file that overlap, by ascending start, until
 * it returns false. If only_writes, only the exclusive ones. Returns false if
 * visit did. visit changes no tree.
 */
bool range_visit(struct range *file, uint64_t start, uint64_t end,
    bool only_writes, bool (*visit)(void *arg, struct range *), void *arg);

/* The length as NLM and the kernel have it; 0: to the end. */
static inline uint64_t
range_length(uint64_t start, uint64_t end)
{
	return end == RANGE_LAST ? 0 : end - start + 1;
}

static inline bool
range_overlaps(const struct range *r, uint64_t start, uint64_t end)
{
	return r->start <= end && r->end >= start;
}

#endif
