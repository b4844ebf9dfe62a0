/* SPDX-License-Identifier: ISC */
/*
 * Rows of the reply cache in memory that other processes read: see
 * rpc/reply_rows.h.
 * Runs in: the process that reads the network.
 */
#include <string.h>

#include "rpc/msg.h"
#include "rpc/reply_rows.h"

#define PROBES 8 /* slots in which a row may be */
#define TRIES  4 /* to read a row that is just being written */

static size_t
slots_for(size_t n)
{
	size_t slots = 64;

	while (slots < 4 * n)
		slots *= 2;
	return slots;
}

/*
 * All times come first, then the rows. So the pages of rows that were never
 * written are never touched.
 */
size_t
reply_rows_memory(size_t n)
{
	return n * (sizeof(uint64_t) + sizeof(struct reply_row)) +
	    slots_for(n) * sizeof(uint32_t);
}

void
reply_rows_at(struct reply_rows *r, void *memory, size_t n)
{
	r->n = n;
	r->times = memory;
	r->rows = (struct reply_row *)((uint64_t *)memory + n);
	r->slots = (_Atomic uint32_t *)(void *)(r->rows + n);
	r->nslots = slots_for(n);
}

static _Atomic uint32_t *
slot_of(const struct reply_rows *r, uint64_t sum, unsigned int i)
{
	return &r->slots[(sum + i) & (r->nslots - 1)];
}

/*
 * The index is four times as large as the rows are many, and clients cannot aim
 * at a slot. So a row finds none once in many thousands. Siblings then miss it.
 */
uint32_t
reply_rows_recall(struct reply_rows *r, size_t row, uint64_t sum)
{
	_Atomic uint32_t *slot, *empty = NULL;
	uint32_t value;
	unsigned int i;

	for (i = 0; i < PROBES; i++) {
		slot = slot_of(r, sum, i);
		value = atomic_load_explicit(slot, memory_order_relaxed);
		if (value == row + 1)
			return (uint32_t)(slot - r->slots);
		if (value == 0 && empty == NULL)
			empty = slot;
	}
	if (empty == NULL)
		return ROWS_NO_SLOT;
	atomic_store_explicit(empty, (uint32_t)row + 1, memory_order_release);
	return (uint32_t)(empty - r->slots);
}

void
reply_rows_begin(struct reply_rows *r, size_t row,
    const struct reply_cache_key *key, uint64_t now_ns, uint32_t *slot)
{
	/* Its time was taken away: that first. */
	atomic_thread_fence(memory_order_release);
	r->rows[row].key = *key;
	atomic_store_explicit(&r->times[row], now_ns | ROWS_RUNNING,
	    memory_order_release);
	*slot = reply_rows_recall(r, row, key->sum);
}

void
reply_rows_keep(struct reply_rows *r, size_t row, uint64_t made_ns)
{
	atomic_store_explicit(&r->times[row], made_ns & ~ROWS_RUNNING,
	    memory_order_release);
}

void
reply_rows_end(struct reply_rows *r, size_t row, uint32_t slot)
{
	atomic_store_explicit(&r->times[row], 0, memory_order_relaxed);
	if (slot != ROWS_NO_SLOT)
		atomic_store_explicit(&r->slots[slot], 0, memory_order_relaxed);
}

bool
reply_row_is_sound(const struct reply_row *row)
{
	struct xdr_in in;
	uint32_t xid;

	if (row->len > sizeof(row->reply))
		return false;
	xdr_in_init(&in, row->reply, (size_t)row->len);
	return rpc_get_reply(&in, &xid) == NULL && xid == row->key.xid;
}

/* Copies a row as it was at one time, which is returned; 0: it is not in use. */
static uint64_t
copy_row(const struct reply_rows *r, size_t row, struct reply_row *out)
{
	uint64_t before, after;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		before =
		    atomic_load_explicit(&r->times[row], memory_order_acquire);
		if (before == 0)
			return 0;
		memcpy(out, &r->rows[row], sizeof(*out));
		atomic_thread_fence(memory_order_acquire);
		after =
		    atomic_load_explicit(&r->times[row], memory_order_relaxed);
		if (after == before)
			return before;
	}
	return 0;
}

enum reply_cache_found
reply_rows_find(const struct reply_rows *r, const struct reply_cache_key *key,
    uint64_t now_ns, struct reply_row *out, uint64_t *since_ns)
{
	uint64_t made_ns;
	unsigned int i;
	uint32_t value;
	bool runs;

	for (i = 0; i < PROBES; i++) {
		value = atomic_load_explicit(slot_of(r, key->sum, i),
		    memory_order_acquire);
		if (value == 0 || value > r->n)
			continue;
		made_ns = copy_row(r, value - 1, out);
		runs = (made_ns & ROWS_RUNNING) != 0;
		made_ns &= ~ROWS_RUNNING;
		if (made_ns == 0 || made_ns > now_ns ||
		    !reply_cache_same(&out->key, key))
			continue;
		*since_ns = made_ns;
		if (runs) /* however long it takes */
			return REPLY_CACHE_BUSY;
		if (!reply_cache_is_fresh(made_ns, now_ns))
			continue;
		if (reply_row_is_sound(out))
			return REPLY_CACHE_HIT;
	}
	return REPLY_CACHE_NEW;
}
