/* SPDX-License-Identifier: ISC */
/*
 * See list.h. The memory is a table of sets of WAYS listings, chosen by
 * directory and position.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/list.h"
#include "nfsd/door/state.h"

#define WAYS 4

struct listing {
	struct listing_key key;
	uint64_t since; /* seconds */
	bool used, eof;
	size_t len;
	uint8_t entries[LISTING_BYTES];
};

struct listings {
	pthread_mutex_t lock;
	struct listing *list; /* allocated with the first */
	unsigned int next; /* which of a set is replaced */
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

/* The listings that share one set of slots. */
static struct listing *
listing_set(struct listings *l, const struct listing_key *k)
{
	uint64_t w[FH_SIZE / 8];

	memcpy(w, k->dir.bytes, sizeof(w));
	w[0] = hash_mix(w[0] ^ hash_mix(w[1] ^ hash_mix(w[2] + w[3])));
	w[0] = hash_mix(w[0] ^ k->ask.cookie);
	return &l->list[w[0] % (LISTINGS_MAX / WAYS) * WAYS];
}

static bool
same_question(const struct listing_key *a, const struct listing_key *b)
{
	return memcmp(&a->dir, &b->dir, sizeof(a->dir)) == 0 &&
	    a->ask.cookie == b->ask.cookie && a->ask.room == b->ask.room &&
	    a->ask.dir_room == b->ask.dir_room && a->ask.plus == b->ask.plus;
}

/* What was remembered for this question, under any ctime; or NULL. */
static struct listing *
listing_find(struct listings *l, const struct listing_key *k)
{
	struct listing *set = listing_set(l, k);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].used && same_question(&set[i].key, k))
			return &set[i];
	return NULL;
}

bool
listings_find(struct listings *l, const struct listing_key *k, uint64_t now,
    uint8_t *entries, size_t *len, bool *eof)
{
	const struct listing *a = NULL;
	bool found;

	pthread_mutex_lock(&l->lock);
	if (l->list != NULL)
		a = listing_find(l, k);
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
	struct listing *a;

	if (len > LISTING_BYTES)
		return;
	pthread_mutex_lock(&l->lock);
	if (l->list == NULL)
		l->list = calloc(LISTINGS_MAX, sizeof(*l->list));
	if (l->list != NULL) {
		a = listing_find(l, k);
		if (a == NULL)
			a = listing_set(l, k) + l->next++ % WAYS;
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

enum nfsstat
door_list_open(struct call_ctx *ctx, const struct door_obj *dir, uint64_t at,
    struct door_list *list)
{
	bool readable;

	list->dir = dir;
	list->at = 0;
	list->resume = CACHE_ANYWHERE;
	list->fd = cache_lend(ctx->thread->door->cache, dir->entry,
	    &dir->st.st_ctim, at, &list->at);
	/* A caller that may also search it can open it without the broker. */
	if (list->fd == -1)
		list->fd = door_openat(ctx, dir->fd, ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (list->fd == -1)
		list->fd =
		    door_ask_open(ctx, &dir->entry->fh, BROKER_LIST, &readable);
	return list->fd == -1 ? door_status(ctx, errno) : NFS_OK;
}

/* Where a change could go unnoticed no listing may go on by this stream. */
void
door_list_close(struct door_list *list)
{
	const struct door_obj *dir = list->dir;

	if (list->fd != -1 && !dir->settled) {
		close(list->fd);
		list->fd = -1;
	}
	cache_return(dir->thread->door->cache, dir->entry, list->fd,
	    &dir->st.st_ctim, list->resume);
}

bool
door_list_unchanged(const struct door_obj *dir)
{
	struct stat st;

	return dir->settled && door_fstat(dir->fd, &st) == 0 &&
	    same_time(&st.st_ctim, &dir->st.st_ctim);
}

static struct listing_key
key_of(const struct door_obj *dir, const struct door_list_ask *ask)
{
	struct listing_key key = { .dir = dir->entry->fh,
		.generation = dir->thread->judge.held.generation,
		.ctime = dir->st.st_ctim,
		.ask = *ask };

	return key;
}

bool
door_list_recall(const struct door_obj *dir, const struct door_list_ask *ask,
    uint8_t *entries, size_t *len, bool *eof)
{
	struct listing_key key = key_of(dir, ask);

	return listings_find(dir->thread->door->listings, &key,
	    clock_coarse_ms() / 1000, entries, len, eof);
}

/*
 * Does every change of the entries change the ctime? It does where this kernel
 * makes the times. A server or process behind a filesystem (NFS, FUSE) may
 * change a directory without. The names of an encrypted directory change when
 * its key comes or goes.
 */
static bool
shows_changes(const struct door_obj *dir)
{
	struct statx sx;

	return dir->export->local_metadata &&
	    statx(dir->fd, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_ENCRYPTED) == 0;
}

void
door_list_remember(const struct door_obj *dir, const struct door_list_ask *ask,
    const uint8_t *entries, size_t len, bool eof)
{
	struct listing_key key = key_of(dir, ask);

	if (door_list_unchanged(dir) && shows_changes(dir))
		listings_add(dir->thread->door->listings, &key,
		    clock_coarse_ms() / 1000, entries, len, eof);
}
