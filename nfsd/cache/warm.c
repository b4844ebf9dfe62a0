/* SPDX-License-Identifier: ISC */
/*
 * See warm.h. An entry is one word: the upper bits of the key, and the time in
 * units of about a second. So no lock is needed.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/stat.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "nfsd/cache/warm.h"

#define WAYS	  4
#define SETS	  (WARM_MAX / WAYS)
#define TIME_BITS 24
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)
#define TIME_UNIT 30 /* 2^30 ns */

_Static_assert(SETS <= TIME_MASK + 1, "the tag is not the index again");

struct warm {
	struct hash_key key;
	_Atomic uint64_t entries[WARM_MAX]; /* 0: none */
};

struct warm *
warm_new(void)
{
	struct warm *w = calloc(1, sizeof(*w));

	if (w == NULL)
		fatal("table of what is in memory");
	hash_key_random(&w->key);
	return w;
}

void
warm_free(struct warm *w)
{
	free(w);
}

uint64_t
warm_key(const struct warm *w, const struct stat *st, uint32_t uid,
    const char *name)
{
	uint64_t file = hash_mix(st->st_ino ^ hash_mix(st->st_dev ^ uid));

	return hash_mix(hash_bytes(&w->key, name, strlen(name)) ^ file);
}

/* Time 0 would make an entry that looks like none. */
static uint64_t
time_of(uint64_t now_ns)
{
	return ((now_ns >> TIME_UNIT) & TIME_MASK) | 1;
}

static uint64_t
age(uint64_t entry, uint64_t now_ns)
{
	return (time_of(now_ns) - entry) & TIME_MASK;
}

static bool
is_of(uint64_t entry, uint64_t key)
{
	return entry != 0 && (entry ^ key) >> TIME_BITS == 0;
}

bool
warm_has(const struct warm *w, uint64_t key, uint64_t now_ns)
{
	const _Atomic uint64_t *set = &w->entries[key % SETS * WAYS];
	uint64_t e;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		e = atomic_load_explicit(&set[i], memory_order_relaxed);
		if (is_of(e, key))
			return age(e, now_ns) <= WARM_NS >> TIME_UNIT;
	}
	return false;
}

/* The place of its own entry, or of the one that was not used for longest. */
static _Atomic uint64_t *
place_of(struct warm *w, uint64_t key, uint64_t now_ns)
{
	_Atomic uint64_t *set = &w->entries[key % SETS * WAYS], *oldest = set;
	uint64_t e, most = 0;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		e = atomic_load_explicit(&set[i], memory_order_relaxed);
		if (e == 0 || is_of(e, key))
			return &set[i];
		if (age(e, now_ns) > most) {
			most = age(e, now_ns);
			oldest = &set[i];
		}
	}
	return oldest;
}

void
warm_add(struct warm *w, uint64_t key, uint64_t now_ns)
{
	_Atomic uint64_t *e = place_of(w, key, now_ns);
	uint64_t now = (key & ~TIME_MASK) | time_of(now_ns);

	/* Threads share the table: what is there already is not written. */
	if (atomic_load_explicit(e, memory_order_relaxed) != now)
		atomic_store_explicit(e, now, memory_order_relaxed);
}
