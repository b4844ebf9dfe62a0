/* SPDX-License-Identifier: ISC */
/*
 * Counting by export and client: see usage.h. A row that changes hands has an
 * odd turn meanwhile, so that a reader in another process notices.
 * Runs in: nfsd worker (counts), nfsd parent (reads).
 */
#include <string.h>

#include "base/hash.h"
#include "nfsd/usage.h"

#define ALIKE 4 /* calls that a new one is compared with */

/* Only the event loop writes, so no locked instruction is needed. */
static void
add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + n,
	    memory_order_relaxed);
}

static void
begin_turn(_Atomic uint64_t *turn)
{
	add(turn, 1);
	atomic_thread_fence(memory_order_release);
}

static void
end_turn(_Atomic uint64_t *turn)
{
	atomic_store_explicit(turn,
	    atomic_load_explicit(turn, memory_order_relaxed) + 1,
	    memory_order_release);
}

static bool
is_of(const struct usage_row *row, const struct addr *from, uint32_t export)
{
	return row->export == export && row->from.family == from->family &&
	    addr_same_host(&row->from, from);
}

/* Gives the row to another owner, with counters of zero. */
static void
hand_over(struct usage_row *row, const struct addr *from, uint32_t export,
    uint64_t now_ns)
{
	size_t i;

	begin_turn(&row->turn);
	row->from = *from;
	row->from.port = 0;
	row->export = export;
	atomic_store_explicit(&row->kinds, 0, memory_order_relaxed);
	atomic_store_explicit(&row->since, now_ns, memory_order_relaxed);
	for (i = 0; i < USAGE_COUNTS; i++)
		atomic_store_explicit(&row->counts[i], 0, memory_order_relaxed);
	for (i = 0; i < USAGE_BUCKETS; i++)
		atomic_store_explicit(&row->latency[i], 0,
		    memory_order_relaxed);
	end_turn(&row->turn);
}

/* Returns the row, or that of its set that was not used for longest. */
static struct usage_row *
row_of(struct usage_row *table, size_t n, const struct addr *from,
    uint32_t export, uint64_t now_ns, bool *replaced)
{
	uint64_t sum = addr_hash(from) ^ hash_mix(export + 1);
	struct usage_row *set, *best;
	size_t i;

	best = set = table + sum % (n / USAGE_WAYS) * USAGE_WAYS;
	for (i = 0; i < USAGE_WAYS; i++) {
		if (atomic_load_explicit(&set[i].turn, memory_order_relaxed) !=
			0 &&
		    is_of(&set[i], from, export))
			return &set[i];
		if (atomic_load_explicit(&set[i].last, memory_order_relaxed) <
		    atomic_load_explicit(&best->last, memory_order_relaxed))
			best = &set[i];
	}
	*replaced =
	    atomic_load_explicit(&best->turn, memory_order_relaxed) != 0;
	hand_over(best, from, export, now_ns);
	return best;
}

static void
count_in(struct usage_row *row, const struct usage_call *c)
{
	uint32_t kinds =
	    atomic_load_explicit(&row->kinds, memory_order_relaxed);

	add(&row->counts[USAGE_CALLS], 1);
	add(&row->counts[USAGE_NS], c->ns);
	add(&row->latency[c->bucket], 1);
	atomic_store_explicit(&row->last, c->now_ns, memory_order_relaxed);
	if (c->failed)
		add(&row->counts[USAGE_ERRORS], 1);
	if (c->refused)
		add(&row->counts[USAGE_REFUSED], 1);
	if (c->read > 0)
		add(&row->counts[USAGE_READ], c->read);
	if (c->written > 0)
		add(&row->counts[USAGE_WRITTEN], c->written);
	if ((kinds | c->kinds) != kinds)
		atomic_store_explicit(&row->kinds, kinds | c->kinds,
		    memory_order_relaxed);
}

void
usage_count(struct usage *u, struct usage_memo *memo, const struct addr *from,
    uint32_t export, const struct usage_call *c)
{
	static const struct addr nobody;
	bool replaced = false;

	if (memo->rows[1] == NULL || memo->export != export ||
	    memcmp(&memo->from, from, offsetof(struct addr, port)) != 0) {
		memo->from = *from;
		memo->export = export;
		memo->rows[0] = export == 0 ?
		    NULL :
		    row_of(u->exports, USAGE_EXPORTS, &nobody, export,
			c->now_ns, &replaced);
		replaced = false;
		memo->rows[1] = row_of(u->clients, USAGE_CLIENTS, from, export,
		    c->now_ns, &replaced);
		if (replaced)
			add(&u->replaced, 1);
	}
	if (memo->rows[0] != NULL)
		count_in(memo->rows[0], c);
	count_in(memo->rows[1], c);
}

static bool
is_like(const struct usage_recent *a, const struct usage_recent *b)
{
	return a->fileid == b->fileid && a->export == b->export &&
	    a->version == b->version && a->procedure == b->procedure &&
	    a->status == b->status && a->uid == b->uid && a->len == b->len &&
	    addr_same_host(&a->from, &b->from) &&
	    memcmp(a->name, b->name, sizeof(a->name)) == 0;
}

void
usage_note(struct usage *u, const struct usage_recent *call)
{
	uint64_t n = atomic_load_explicit(&u->nrecent, memory_order_relaxed), i;
	struct usage_recent *at = &u->recent[n % USAGE_RECENT];

	for (i = 1; i <= ALIKE && i <= n; i++) {
		struct usage_recent *old = &u->recent[(n - i) % USAGE_RECENT];

		if (!is_like(old, call))
			continue;
		begin_turn(&old->turn);
		old->at_ns = call->at_ns;
		old->times++;
		end_turn(&old->turn);
		return;
	}
	begin_turn(&at->turn);
	memcpy((char *)at + sizeof(at->turn),
	    (const char *)call + sizeof(call->turn),
	    sizeof(*at) - sizeof(at->turn));
	end_turn(&at->turn);
	add(&u->nrecent, 1);
}

/* The rest of a row is copied before its turn is looked at again. */
static bool
copy(const _Atomic uint64_t *turn, void *to, const void *from, size_t len)
{
	uint64_t before = atomic_load_explicit(turn, memory_order_acquire);

	if (before == 0 || before % 2 != 0)
		return false;
	memcpy(to, from, len);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(turn, memory_order_relaxed) == before;
}

bool
usage_copy(const struct usage_row *row, struct usage_row *to)
{
	if (!copy(&row->turn, to, row, sizeof(*to)))
		return false;
	return to->from.family == 0 || to->from.family == AF_INET ||
	    to->from.family == AF_INET6;
}

bool
usage_copy_recent(const struct usage_recent *call, struct usage_recent *to)
{
	if (!copy(&call->turn, to, call, sizeof(*to)))
		return false;
	if (to->len > USAGE_NAME)
		to->len = USAGE_NAME;
	return to->from.family == AF_INET || to->from.family == AF_INET6;
}
