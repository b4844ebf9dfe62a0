/* SPDX-License-Identifier: ISC */
/*
 * The table of groups: see nfsd/groups.h.
 * Runs in: nfsd parent (writes); nfsd worker, broker and locks (read).
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/shm.h"
#include "nfsd/groups.h"

#define READ_TRIES 64 /* while the parent writes the slot */

#define load(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define store(field, value)                                                    \
	atomic_store_explicit(&(field), value, memory_order_relaxed)

const struct groups_table *
groups_map(int fd)
{
	const struct groups_table *table = NULL;

	if (fd != -1 && (table = shm_map(fd, sizeof(*table), false)) == NULL)
		fatal("groups");
	return table;
}

unsigned int
groups_set(uint32_t uid)
{
	return (unsigned int)(hash_mix(uid) % GROUPS_SETS) * GROUPS_WAYS;
}

/* Copies a slot. Returns false if it was written meanwhile. */
static bool
slot_read(const struct groups_slot *s, uint32_t uid, struct groups *out,
    enum groups_state *state, uint32_t *old_at)
{
	uint32_t before =
		     atomic_load_explicit(&s->version, memory_order_acquire),
		 i;

	if (before % 2 != 0)
		return false;
	*state = load(s->uid) == uid ? load(s->state) : GROUPS_UNKNOWN;
	*old_at = load(s->old_at);
	if (*state == GROUPS_KNOWN) {
		out->gid = load(s->gid);
		out->n = load(s->n);
		if (out->n > GROUPS_MAX)
			return false;
		for (i = 0; i < out->n; i++)
			out->gids[i] = load(s->gids[i]);
	}
	atomic_thread_fence(memory_order_acquire);
	return load(s->version) == before;
}

enum groups_state
groups_find(const struct groups_table *t, uint32_t uid, struct groups *out,
    bool *old)
{
	const struct groups_slot *set = &t->slots[groups_set(uid)];
	enum groups_state state = GROUPS_UNKNOWN;
	uint32_t old_at = 0;
	unsigned int i, tries;

	*old = true;
	for (i = 0; i < GROUPS_WAYS && state == GROUPS_UNKNOWN; i++) {
		if (load(set[i].uid) != uid)
			continue;
		for (tries = 0; !slot_read(&set[i], uid, out, &state, &old_at);
		     tries++)
			if (tries == READ_TRIES)
				return GROUPS_UNKNOWN;
	}
	if (state != GROUPS_UNKNOWN)
		*old = (uint32_t)(clock_ms() / 1000) >= old_at;
	return state;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t
groups_clean(uint32_t *gids, uint32_t n)
{
	uint32_t i, kept = 0;

	qsort(gids, n, sizeof(gids[0]), compare);
	for (i = 0; i < n; i++)
		if (gids[i] != 0 && gids[i] != UINT32_MAX &&
		    (kept == 0 || gids[kept - 1] != gids[i]))
			gids[kept++] = gids[i];
	return kept;
}

void
groups_write(struct groups_slot *s, enum groups_state state, uint32_t uid,
    const struct groups *from, uint32_t old_at)
{
	uint32_t version = load(s->version), i;

	store(s->version, version + 1);
	atomic_thread_fence(memory_order_release);
	store(s->uid, uid);
	store(s->state, state);
	store(s->old_at, old_at);
	store(s->gid, from == NULL ? UINT32_MAX : from->gid);
	store(s->n, from == NULL ? 0 : from->n);
	for (i = 0; from != NULL && i < from->n; i++)
		store(s->gids[i], from->gids[i]);
	atomic_store_explicit(&s->version, version + 2, memory_order_release);
}
