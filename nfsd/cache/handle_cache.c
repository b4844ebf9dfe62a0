/* SPDX-License-Identifier: ISC */
/*
 * Several tables, indexed by the same hash. A new entry goes to the first table
 * with a free slot; the later ones only hold collisions.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/mman.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/cache/handle_cache.h"

#define LAYERS	   4
#define CLOSE_BITS 20 /* inode numbers that differ by less are neighbours */
#define SETTLED_S  1 /* a creation time this old is not the clock's last tick */

struct note {
	dev_t dev;
	ino_t ino;
	uint64_t born; /* ns */
	uint32_t generation; /* 0: none */
	struct fh fh;
};

_Static_assert(sizeof(struct note) <= HANDLE_CACHE_ENTRY, "as the header says");

struct handle_cache {
	pthread_mutex_t lock;
	struct note *list; /* made at the first entry */
	size_t layer; /* entries in each; 0: no memory */
	unsigned int next; /* the table in which a used slot is taken next */
	unsigned int unused_s; /* seconds since the last use */
	struct handle_cache_stats stats;
};

static size_t
bytes(const struct handle_cache *n)
{
	return n->layer * LAYERS * sizeof(struct note);
}

struct handle_cache *
handle_cache_new(size_t room)
{
	struct handle_cache *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("handle cache");
	pthread_mutex_init(&n->lock, NULL);
	n->layer = (room < HANDLE_CACHE_MAX ? room : HANDLE_CACHE_MAX) / LAYERS;
	return n;
}

void
handle_cache_free(struct handle_cache *n)
{
	if (n == NULL)
		return;
	pthread_mutex_destroy(&n->lock);
	if (n->list != NULL)
		munmap(n->list, bytes(n));
	free(n);
}

/* Small pages: a few entries would touch every huge page. */
static struct note *
make_list(const struct handle_cache *n)
{
	void *list;

	if (n->layer == 0)
		return NULL;
	list = mmap(NULL, bytes(n), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return NULL;
	(void)madvise(list, bytes(n), MADV_NOHUGEPAGE);
	return list;
}

/* The slot of a file in the first table. */
static struct note *
place_of(struct handle_cache *n, dev_t dev, ino_t ino)
{
	uint64_t far = (uint64_t)ino >> CLOSE_BITS;
	uint64_t h = (uint64_t)ino + hash_mix(far ^ hash_mix((uint64_t)dev));

	return &n->list[h % n->layer];
}

/* The entry of a file, or NULL; the lock is held. */
static struct note *
find_note(struct handle_cache *n, uint32_t generation, uint16_t export_id,
    dev_t dev, ino_t ino)
{
	struct note *note = place_of(n, dev, ino);
	size_t i;

	for (i = 0; i < LAYERS; i++, note += n->layer)
		if (note->ino == ino && note->dev == dev &&
		    note->generation == generation &&
		    fh_export_id(&note->fh) == export_id)
			return note;
	return NULL;
}

/* The slot for a new entry; the lock is held. Entries of old exports are free. */
static struct note *
place_for(struct handle_cache *n, uint32_t generation, dev_t dev, ino_t ino)
{
	struct note *first = place_of(n, dev, ino), *note = first;
	size_t i;

	for (i = 0; i < LAYERS; i++, note += n->layer)
		if (note->generation != generation)
			return note;
	return first + n->next++ % LAYERS * n->layer;
}

static uint64_t
ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

bool
handle_cache_find(struct handle_cache *n, uint32_t generation,
    uint16_t export_id, dev_t dev, ino_t ino, const struct timespec *born,
    struct fh *fh)
{
	const struct note *note = NULL;
	bool found;

	pthread_mutex_lock(&n->lock);
	if (n->list != NULL)
		note = find_note(n, generation, export_id, dev, ino);
	found = note != NULL && note->born == ns_of(born);
	if (found) {
		*fh = note->fh;
		n->unused_s = 0;
	}
	found ? n->stats.hits++ : n->stats.misses++;
	pthread_mutex_unlock(&n->lock);
	return found;
}

void
handle_cache_add(struct handle_cache *n, uint32_t generation, dev_t dev,
    ino_t ino, const struct timespec *born, const struct timespec *now,
    const struct fh *fh)
{
	struct note *note;

	/*
	 * Creation times come from a clock that ticks. A file made within the
	 * tick in which another was removed can have both its inode number and
	 * its creation time. A settled creation time cannot come again.
	 */
	if (born->tv_sec + SETTLED_S >= now->tv_sec)
		return;
	pthread_mutex_lock(&n->lock);
	n->unused_s = 0;
	if (n->list == NULL)
		n->list = make_list(n);
	if (n->list != NULL) {
		note = find_note(n, generation, fh_export_id(fh), dev, ino);
		if (note == NULL)
			note = place_for(n, generation, dev, ino);
		note->dev = dev;
		note->ino = ino;
		note->born = ns_of(born);
		note->generation = generation;
		note->fh = *fh;
	}
	pthread_mutex_unlock(&n->lock);
}

void
handle_cache_trim(struct handle_cache *n)
{
	struct note *old = NULL;

	pthread_mutex_lock(&n->lock);
	if (n->list != NULL && ++n->unused_s > HANDLE_CACHE_TRIM_S) {
		old = n->list;
		n->list = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	if (old != NULL)
		munmap(old, bytes(n));
}

void
handle_cache_stats(struct handle_cache *n, struct handle_cache_stats *stats)
{
	pthread_mutex_lock(&n->lock);
	*stats = n->stats;
	pthread_mutex_unlock(&n->lock);
}
