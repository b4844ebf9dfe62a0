/* SPDX-License-Identifier: ISC */
/*
 * Sets of WAYS notes, chosen by device and number.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <pthread.h>
#include <stdlib.h>

#include "fs_notes.h"
#include "log.h"
#include "util.h"

#define WAYS	   4
#define CLOSE_BITS 20 /* numbers that differ in no more lie close together */
#define SETTLED_S  1 /* a birth this long ago: not the clock's last tick */

struct note {
	dev_t dev;
	ino_t ino;
	uint64_t born; /* ns */
	uint32_t generation; /* 0: none */
	struct fh fh;
};

_Static_assert(sizeof(struct note) == FS_NOTE_SIZE, "as the header says");

struct fs_notes {
	pthread_mutex_t lock;
	struct note *list; /* made at the first note */
	size_t nsets;
	unsigned int unused_s; /* seconds since the last use */
	unsigned int next; /* which of a set goes */
	struct fs_notes_stats stats;
};

struct fs_notes *
fs_notes_new(size_t room)
{
	struct fs_notes *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("notes");
	if (room < FS_NOTES_MIN)
		room = FS_NOTES_MIN;
	n->nsets = (room < FS_NOTES_MAX ? room : FS_NOTES_MAX) / WAYS;
	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void
fs_notes_free(struct fs_notes *n)
{
	if (n == NULL)
		return;
	pthread_mutex_destroy(&n->lock);
	free(n->list);
	free(n);
}

/* The notes a file may lie in. */
static struct note *
set_of(struct fs_notes *n, dev_t dev, ino_t ino)
{
	uint64_t far = (uint64_t)ino >> CLOSE_BITS;
	uint64_t h = (uint64_t)ino + hash_mix(far ^ hash_mix((uint64_t)dev));

	return &n->list[h / WAYS % n->nsets * WAYS];
}

/* The note of a file, or NULL; with the lock held. */
static struct note *
find(struct fs_notes *n, uint32_t generation, bool utf16, dev_t dev, ino_t ino)
{
	struct note *set = set_of(n, dev, ino);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].ino == ino && set[i].dev == dev &&
		    set[i].generation == generation &&
		    fh_is_utf16(&set[i].fh) == utf16)
			return &set[i];
	return NULL;
}

/* Where a new note goes; the lock is held. */
static struct note *
place_for(struct fs_notes *n, dev_t dev, ino_t ino)
{
	struct note *set = set_of(n, dev, ino);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].generation == 0)
			return &set[i];
	return &set[n->next++ % WAYS];
}

static uint64_t
ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

bool
fs_notes_find(struct fs_notes *n, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t dev, ino_t ino, const struct timespec *born,
    struct fh *fh)
{
	const struct note *note = NULL;
	bool found;

	pthread_mutex_lock(&n->lock);
	if (n->list != NULL)
		note = find(n, generation, utf16, dev, ino);
	found = note != NULL && note->born == ns_of(born) &&
	    fh_export_id(&note->fh) == export_id;
	if (found) {
		*fh = note->fh;
		n->unused_s = 0;
	}
	found ? n->stats.hits++ : n->stats.misses++;
	pthread_mutex_unlock(&n->lock);
	return found;
}

void
fs_notes_add(struct fs_notes *n, uint32_t generation, bool utf16, dev_t dev,
    ino_t ino, const struct timespec *born, const struct timespec *now,
    const struct fh *fh)
{
	struct note *note;

	/*
	 * Times of birth come from a clock that ticks: a file made within the
	 * same tick as one removed before it could have both its number and
	 * its birth. Settled births cannot come again.
	 */
	if (born->tv_sec + SETTLED_S >= now->tv_sec)
		return;
	pthread_mutex_lock(&n->lock);
	n->unused_s = 0;
	if (n->list == NULL)
		n->list = calloc(n->nsets, WAYS * sizeof(*n->list));
	if (n->list != NULL) {
		note = find(n, generation, utf16, dev, ino);
		if (note == NULL)
			note = place_for(n, dev, ino);
		note->dev = dev;
		note->ino = ino;
		note->born = ns_of(born);
		note->generation = generation;
		note->fh = *fh;
	}
	pthread_mutex_unlock(&n->lock);
}

void
fs_notes_rest(struct fs_notes *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->list != NULL && ++n->unused_s > FS_NOTES_REST_S) {
		free(n->list);
		n->list = NULL;
	}
	pthread_mutex_unlock(&n->lock);
}

void
fs_notes_stats(struct fs_notes *n, struct fs_notes_stats *stats)
{
	pthread_mutex_lock(&n->lock);
	*stats = n->stats;
	pthread_mutex_unlock(&n->lock);
}
