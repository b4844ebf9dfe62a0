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

#define WAYS	  4
#define SETTLED_S 1 /* a birth this long ago: not the clock's last tick */

struct note {
	dev_t dev;
	ino_t ino;
	struct timespec born;
	uint32_t generation; /* 0: none */
	bool utf16;
	struct fh fh;
};

struct fs_notes {
	pthread_mutex_t lock;
	struct note *list; /* made at the first note */
	unsigned int next; /* which of a set goes */
	struct fs_notes_stats stats;
};

struct fs_notes *
fs_notes_new(void)
{
	struct fs_notes *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("notes");
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
	uint64_t h = hash_mix((uint64_t)ino ^ hash_mix((uint64_t)dev));

	return &n->list[h % (FS_NOTES_MAX / WAYS) * WAYS];
}

/* The note of a file, or NULL; with the lock held. */
static struct note *
find(struct fs_notes *n, uint32_t generation, bool utf16, dev_t dev, ino_t ino)
{
	struct note *set = set_of(n, dev, ino);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].ino == ino && set[i].dev == dev &&
		    set[i].utf16 == utf16 && set[i].generation == generation)
			return &set[i];
	return NULL;
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
	found = note != NULL && same_time(&note->born, born) &&
	    fh_export_id(&note->fh) == export_id;
	if (found)
		*fh = note->fh;
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
	if (n->list == NULL)
		n->list = calloc(FS_NOTES_MAX, sizeof(*n->list));
	if (n->list != NULL) {
		note = find(n, generation, utf16, dev, ino);
		if (note == NULL) /* any of them; this one takes turns */
			note = set_of(n, dev, ino) + n->next++ % WAYS;
		note->dev = dev;
		note->ino = ino;
		note->born = *born;
		note->generation = generation;
		note->utf16 = utf16;
		note->fh = *fh;
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
