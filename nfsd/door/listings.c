/* SPDX-License-Identifier: ISC */
/*
 * Sets of WAYS answers, chosen by directory and place in it.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/listings.h"

#define WAYS 4

struct answer {
	struct listing_key key;
	uint64_t since; /* seconds */
	bool used, eof;
	size_t len;
	uint8_t entries[LISTING_BYTES];
};

struct listings {
	pthread_mutex_t lock;
	struct answer *list; /* made at the first answer */
	unsigned int next; /* which of a set goes */
	struct listings_stats stats;
};

struct listings *
listings_new(void)
{
	struct listings *l = calloc(1, sizeof(*l));

	if (l == NULL)
		fatal("listings");
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void
listings_free(struct listings *l)
{
	if (l == NULL)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l->list);
	free(l);
}

static struct answer *
set_of(struct listings *l, const struct listing_key *k)
{
	uint64_t w[FH_SIZE / 8];

	memcpy(w, k->dir.bytes, sizeof(w));
	w[0] = hash_mix(w[0] ^ hash_mix(w[1] ^ hash_mix(w[2] + w[3])));
	w[0] = hash_mix(w[0] ^ k->ask.cookie);
	return &l->list[w[0] % (LISTINGS_MAX / WAYS) * WAYS];
}

static bool
same_place(const struct listing_key *a, const struct listing_key *b)
{
	return memcmp(&a->dir, &b->dir, sizeof(a->dir)) == 0 &&
	    a->ask.cookie == b->ask.cookie && a->ask.room == b->ask.room &&
	    a->ask.dir_room == b->ask.dir_room && a->ask.plus == b->ask.plus;
}

/* The answer for this place, of whatever time, or NULL; the lock is held. */
static struct answer *
find(struct listings *l, const struct listing_key *k)
{
	struct answer *set = set_of(l, k);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].used && same_place(&set[i].key, k))
			return &set[i];
	return NULL;
}

bool
listings_find(struct listings *l, const struct listing_key *k, uint64_t now,
    uint8_t *entries, size_t *len, bool *eof)
{
	const struct answer *a = NULL;
	bool found;

	pthread_mutex_lock(&l->lock);
	if (l->list != NULL)
		a = find(l, k);
	found = a != NULL && same_time(&a->key.ctime, &k->ctime) &&
	    a->key.generation == k->generation && now - a->since < LISTING_S;
	if (found) {
		memcpy(entries, a->entries, a->len);
		*len = a->len;
		*eof = a->eof;
	}
	found ? l->stats.hits++ : l->stats.misses++;
	pthread_mutex_unlock(&l->lock);
	return found;
}

void
listings_add(struct listings *l, const struct listing_key *k, uint64_t now,
    const uint8_t *entries, size_t len, bool eof)
{
	struct answer *a;

	if (len > LISTING_BYTES)
		return;
	pthread_mutex_lock(&l->lock);
	if (l->list == NULL)
		l->list = calloc(LISTINGS_MAX, sizeof(*l->list));
	if (l->list != NULL) {
		a = find(l, k);
		if (a == NULL) /* any of them; this one takes turns */
			a = set_of(l, k) + l->next++ % WAYS;
		a->key = *k;
		a->since = now;
		a->used = true;
		a->eof = eof;
		a->len = len;
		memcpy(a->entries, entries, len);
	}
	pthread_mutex_unlock(&l->lock);
}

void
listings_stats(struct listings *l, struct listings_stats *stats)
{
	pthread_mutex_lock(&l->lock);
	*stats = l->stats;
	pthread_mutex_unlock(&l->lock);
}
