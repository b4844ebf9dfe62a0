/* SPDX-License-Identifier: ISC */
/*
 * Sets of WAYS answers, chosen by directory and place in it.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/door/listings.h"
#include "base/log.h"
#include "base/util.h"

#define WAYS 4

struct answer {
	struct fs_listing_key key;
	int64_t since; /* seconds */
	bool used, eof;
	size_t len;
	uint8_t entries[FS_LISTING_BYTES];
};

struct fs_listings {
	pthread_mutex_t lock;
	struct answer *list; /* made at the first answer */
	unsigned int next; /* which of a set goes */
	struct fs_listings_stats stats;
};

struct fs_listings *
fs_listings_new(void)
{
	struct fs_listings *l = calloc(1, sizeof(*l));

	if (l == NULL)
		fatal("listings");
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void
fs_listings_free(struct fs_listings *l)
{
	if (l == NULL)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l->list);
	free(l);
}

static struct answer *
set_of(struct fs_listings *l, const struct fs_listing_key *k)
{
	uint64_t w[FH_SIZE / 8];

	memcpy(w, k->dir.bytes, sizeof(w));
	w[0] = hash_mix(w[0] ^ hash_mix(w[1] ^ hash_mix(w[2] + w[3])));
	w[0] = hash_mix(w[0] ^ k->ask.cookie);
	return &l->list[w[0] % (FS_LISTINGS_MAX / WAYS) * WAYS];
}

static bool
same_place(const struct fs_listing_key *a, const struct fs_listing_key *b)
{
	return memcmp(&a->dir, &b->dir, sizeof(a->dir)) == 0 &&
	    a->ask.cookie == b->ask.cookie && a->ask.room == b->ask.room &&
	    a->ask.dir_room == b->ask.dir_room && a->ask.plus == b->ask.plus;
}

/* The answer for this place, of whatever time, or NULL; the lock is held. */
static struct answer *
find(struct fs_listings *l, const struct fs_listing_key *k)
{
	struct answer *set = set_of(l, k);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].used && same_place(&set[i].key, k))
			return &set[i];
	return NULL;
}

bool
fs_listings_find(struct fs_listings *l, const struct fs_listing_key *k,
    int64_t now, uint8_t *entries, size_t *len, bool *eof)
{
	const struct answer *a = NULL;
	bool found;

	pthread_mutex_lock(&l->lock);
	if (l->list != NULL)
		a = find(l, k);
	found = a != NULL && same_time(&a->key.ctime, &k->ctime) &&
	    a->key.generation == k->generation && now - a->since < FS_LISTING_S;
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
fs_listings_add(struct fs_listings *l, const struct fs_listing_key *k,
    int64_t now, const uint8_t *entries, size_t len, bool eof)
{
	struct answer *a;

	if (len > FS_LISTING_BYTES)
		return;
	pthread_mutex_lock(&l->lock);
	if (l->list == NULL)
		l->list = calloc(FS_LISTINGS_MAX, sizeof(*l->list));
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
fs_listings_stats(struct fs_listings *l, struct fs_listings_stats *stats)
{
	pthread_mutex_lock(&l->lock);
	*stats = l->stats;
	pthread_mutex_unlock(&l->lock);
}
