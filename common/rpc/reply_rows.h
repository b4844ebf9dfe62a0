/* SPDX-License-Identifier: ISC */
/*
 * Where the reply cache keeps what another process needs to know a call again: one
 * row for each call, and an index by which its siblings find it. Only one process
 * writes the memory. Its siblings read it, and its successor. None of them trusts
 * a byte of it.
 *
 * A row is read while it may be written. Its time says what it is: nothing, a call
 * that runs, or a whole reply. A reader looks at the time before and after it
 * copies the row. Private to the reply cache.
 * Runs in: the process that reads the network.
 */
#ifndef RPC_REPLY_ROWS_H
#define RPC_REPLY_ROWS_H

#include <stdatomic.h>

#include "rpc/reply_cache.h"

#define ROWS_RUNNING UINT64_C(1) /* bit of a time: its call still runs */
#define ROWS_NO_SLOT UINT32_MAX

struct reply_row {
	uint64_t len;
	struct reply_cache_key key;
	uint8_t reply[REPLY_CACHE_REPLY_MAX];
};

/* The memory of one cache. */
struct reply_rows {
	size_t n;
	_Atomic uint64_t *times; /* of the rows: clock_ns(), or 0: not in use */
	struct reply_row *rows;
	_Atomic uint32_t *slots; /* by sum of the key: number of the row + 1 */
	size_t nslots; /* a power of two */
};

size_t reply_rows_memory(size_t n);
/* The memory may be read only. */
void reply_rows_at(struct reply_rows *, void *memory, size_t n);

/*
 * The call of this row begins, and siblings can see that. slot: where the index has
 * it, for reply_rows_end(). It stays where a predecessor had it.
 */
void reply_rows_begin(struct reply_rows *, size_t row,
    const struct reply_cache_key *, uint64_t now_ns, uint32_t *slot);
/* The same for a row of a predecessor, which has its time. Returns the slot. */
uint32_t reply_rows_recall(struct reply_rows *, size_t row, uint64_t sum);
/* Whole is the reply, which the row has by now. */
void reply_rows_keep(struct reply_rows *, size_t row, uint64_t made_ns);
void reply_rows_end(struct reply_rows *, size_t row, uint32_t slot);
/* Can a worker that keeps the rules have written it? */
bool reply_row_is_sound(const struct reply_row *);

/*
 * Looks for a call in the memory of a sibling. HIT: out is a copy of its row. BUSY:
 * the sibling runs it, since *since_ns.
 */
enum reply_cache_found reply_rows_find(const struct reply_rows *,
    const struct reply_cache_key *, uint64_t now_ns, struct reply_row *out,
    uint64_t *since_ns);

/* Equal keys are the same call. */
static inline bool
reply_cache_same(const struct reply_cache_key *a,
    const struct reply_cache_key *b)
{
	return a->sum == b->sum && a->xid == b->xid && a->proc == b->proc &&
	    a->vers == b->vers && a->prog == b->prog && a->len == b->len &&
	    addr_equal(&a->from, &b->from);
}

/* Is an entry of this time still good? */
static inline bool
reply_cache_is_fresh(uint64_t made_ns, uint64_t now_ns)
{
	return made_ns != 0 && made_ns <= now_ns &&
	    now_ns - made_ns < REPLY_CACHE_SECONDS * UINT64_C(1000000000);
}

#endif
