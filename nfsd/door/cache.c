/* SPDX-License-Identifier: ISC */
/*
 * Entries are an array, linked by index into two tables of chains: by handle
 * and by file. Memory grows in chunks that are never moved, so that an entry
 * stays where it is while it is held.
 * Runs in: nfsd worker.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/cache.h"
#include "nfsd/door/janitor.h"

#define NONE	      UINT32_MAX
#define CHUNK	      1024 /* entries allocated together */
#define CHUNKS	      (CACHE_FILES_MAX / CHUNK)
#define SWEEP_SHARE   16 /* of the entries are looked at each second */
#define EVICT_ROOM    8 /* descriptors closed together */
#define SHARE_AT_ONCE 512 /* files closed for others at a time */

struct cache {
	pthread_mutex_t lock;
	struct cache_entry *chunks[CHUNKS];
	uint32_t n, max; /* entries made, limit */
	uint32_t free; /* chain through next_fh */
	uint32_t hand, sweep_at, now;
	size_t files, files_max;
	uint32_t *by_fh, *by_file;
	uint32_t mask;
	struct janitor *janitor;
	struct cache_stats stats;
};

/* Descriptors to close when the lock is given up. */
struct closing {
	int fds[EVICT_ROOM * CACHE_SLOTS];
	size_t n;
};

static struct cache_entry *
entry(struct cache *c, uint32_t i)
{
	return &c->chunks[i / CHUNK][i % CHUNK];
}

static uint32_t *
chain_fh(struct cache *c, const struct fh *fh)
{
	uint64_t w[FH_SIZE / 8];

	memcpy(w, fh->bytes, sizeof(w));
	return &c->by_fh[hash_mix(w[0] ^
			     hash_mix(w[1] ^ hash_mix(w[2] + w[3]))) &
	    c->mask];
}

static uint32_t *
chain_file(struct cache *c, dev_t dev, ino_t ino)
{
	uint64_t h = hash_mix((uint64_t)ino ^ hash_mix((uint64_t)dev));

	return &c->by_file[h & c->mask];
}

struct cache *
cache_new(size_t files)
{
	struct cache *c = calloc(1, sizeof(*c));
	size_t i, chains = 64;

	if (files < CACHE_FILES_MIN)
		files = CACHE_FILES_MIN;
	if (files > CACHE_FILES_MAX)
		files = CACHE_FILES_MAX;
	while (chains < files)
		chains *= 2;
	if (c == NULL ||
	    (c->by_fh = malloc(chains * sizeof(uint32_t))) == NULL ||
	    (c->by_file = malloc(chains * sizeof(uint32_t))) == NULL)
		fatal("descriptor cache");
	for (i = 0; i < chains; i++)
		c->by_fh[i] = c->by_file[i] = NONE;
	pthread_mutex_init(&c->lock, NULL);
	c->janitor = janitor_new(CACHE_FILES_MAX);
	c->mask = (uint32_t)(chains - 1);
	c->files_max = files;
	c->max = (uint32_t)files;
	c->free = NONE;
	return c;
}

static void
close_all(struct closing *closing)
{
	while (closing->n > 0)
		close(closing->fds[--closing->n]);
}

void
cache_free(struct cache *c)
{
	uint32_t i;
	int slot;

	if (c == NULL)
		return;
	for (i = 0; i < c->n; i++)
		for (slot = 0; slot < CACHE_SLOTS; slot++)
			if (entry(c, i)->used && entry(c, i)->fds[slot] != -1)
				close(entry(c, i)->fds[slot]);
	for (i = 0; i < CHUNKS; i++)
		free(c->chunks[i]);
	free(c->by_fh);
	free(c->by_file);
	janitor_free(c->janitor);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Out of both chains; found no more. */
static void
unchain(struct cache *c, struct cache_entry *e, uint32_t i)
{
	uint32_t *link;

	if (e->dropped)
		return;
	e->dropped = true;
	for (link = chain_fh(c, &e->fh); *link != i;)
		link = &entry(c, *link)->next_fh;
	*link = e->next_fh;
	for (link = chain_file(c, e->dev, e->ino); *link != i;)
		link = &entry(c, *link)->next_file;
	*link = e->next_file;
	c->stats.entries--;
}

/* Nobody holds it and it is in no chain: its descriptors go. */
static void
recycle(struct cache *c, struct cache_entry *e, uint32_t i,
    struct closing *closing)
{
	int slot;

	for (slot = 0; slot < CACHE_SLOTS; slot++)
		if (e->fds[slot] != -1) {
			if (!e->slow ||
			    !janitor_leave(c->janitor, e->fds[slot]))
				closing->fds[closing->n++] = e->fds[slot];
			e->fds[slot] = -1;
			c->files--;
		}
	e->used = false;
	e->next_fh = c->free;
	c->free = i;
}

/* The clock's hand closes up to n entries nobody holds. */
static size_t
evict(struct cache *c, size_t n, struct closing *closing)
{
	struct cache_entry *e;
	size_t done = 0;
	uint32_t i, steps = c->n * 2;

	if (n > EVICT_ROOM)
		n = EVICT_ROOM;
	for (; steps > 0 && done < n; steps--) {
		i = c->hand;
		c->hand = (c->hand + 1) % c->n;
		e = entry(c, i);
		if (!e->used || e->refs > 0)
			continue;
		if (e->recent) {
			e->recent = false;
			continue;
		}
		unchain(c, e, i);
		recycle(c, e, i, closing);
		c->stats.evictions++;
		done++;
	}
	return done;
}

static uint32_t
fresh(struct cache *c, struct closing *closing)
{
	uint32_t i;

	if (c->free == NONE && c->n < c->max) {
		if (c->chunks[c->n / CHUNK] == NULL)
			c->chunks[c->n / CHUNK] =
			    aligned_alloc(_Alignof(struct cache_entry),
				CHUNK * sizeof(struct cache_entry));
		if (c->chunks[c->n / CHUNK] != NULL)
			return c->n++;
	}
	if (c->free == NONE && evict(c, 1, closing) == 0)
		return NONE;
	i = c->free;
	c->free = entry(c, i)->next_fh;
	return i;
}

static uint32_t
index_of(struct cache *c, const struct cache_entry *e)
{
	uint32_t i;

	for (i = 0; i < CHUNKS; i++)
		if (c->chunks[i] != NULL && e >= c->chunks[i] &&
		    e < c->chunks[i] + CHUNK)
			return i * CHUNK + (uint32_t)(e - c->chunks[i]);
	return NONE;
}

/* With the lock held. */
static struct cache_entry *
find(struct cache *c, const struct fh *fh)
{
	uint32_t i = *chain_fh(c, fh);

	while (i != NONE && memcmp(&entry(c, i)->fh, fh, sizeof(*fh)) != 0)
		i = entry(c, i)->next_fh;
	return i == NONE ? NULL : entry(c, i);
}

/* Out of the chains; at once gone when nobody holds it. */
static void
drop(struct cache *c, struct cache_entry *e, struct closing *closing)
{
	uint32_t i = index_of(c, e);

	unchain(c, e, i);
	if (e->refs == 0)
		recycle(c, e, i, closing);
}

static void
hold(struct cache *c, struct cache_entry *e)
{
	e->refs++;
	e->recent = true;
	e->born = c->now;
}

struct cache_entry *
cache_find(struct cache *c, const struct fh *fh, uint32_t generation)
{
	struct closing closing = { .n = 0 };
	struct cache_entry *e;

	pthread_mutex_lock(&c->lock);
	e = find(c, fh);
	if (e != NULL && e->generation != generation) {
		drop(c, e, &closing);
		e = NULL;
	}
	if (e != NULL) {
		hold(c, e);
		c->stats.hits++;
	} else
		c->stats.misses++;
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
	return e;
}

static void
set_fd(struct cache *c, struct cache_entry *e, int fd, enum cache_slot slot,
    bool write_reads, struct closing *closing)
{
	if (e->fds[slot] != -1) {
		closing->fds[closing->n++] = fd;
		return;
	}
	e->fds[slot] = fd;
	if (slot == CACHE_SLOT_WRITE)
		e->write_reads = write_reads;
	c->files++;
}

static struct cache_entry *
make(struct cache *c, const struct fh *fh, const struct stat *st,
    struct closing *closing)
{
	uint32_t i = fresh(c, closing), *link;
	struct cache_entry *e;

	if (i == NONE)
		return NULL;
	e = entry(c, i);
	memset(e, 0, sizeof(*e));
	e->fh = *fh;
	e->dev = st->st_dev;
	e->ino = st->st_ino;
	e->type = (uint16_t)(st->st_mode & S_IFMT);
	memset(e->fds, -1, sizeof(e->fds));
	e->used = true;
	link = chain_fh(c, fh);
	e->next_fh = *link;
	*link = i;
	link = chain_file(c, e->dev, e->ino);
	e->next_file = *link;
	*link = i;
	c->stats.entries++;
	return e;
}

struct cache_entry *
cache_add(struct cache *c, const struct fh *fh, uint32_t generation,
    const struct stat *st, int fd, enum cache_slot slot, unsigned int flags)
{
	struct closing closing = { .n = 0 }, gone = { .n = 0 };
	struct cache_entry *e;

	pthread_mutex_lock(&c->lock);
	e = find(c, fh);
	/* Of handles that tell a name: it is another file's by now. */
	if (e != NULL && (e->ino != st->st_ino || e->dev != st->st_dev)) {
		drop(c, e, &gone);
		e = NULL;
	}
	if (e == NULL)
		e = make(c, fh, st, &closing);
	if (e == NULL)
		closing.fds[closing.n++] = fd;
	else {
		hold(c, e);
		e->generation = generation;
		e->slow = (flags & CACHE_SLOW) != 0;
		set_fd(c, e, fd, slot, (flags & CACHE_READS) != 0, &closing);
		if (c->files > c->files_max && closing.n == 0)
			(void)evict(c, 2, &closing);
	}
	pthread_mutex_unlock(&c->lock);
	close_all(&gone);
	close_all(&closing);
	return e;
}

void
cache_add_fd(struct cache *c, struct cache_entry *e, int fd,
    enum cache_slot slot, bool write_reads)
{
	struct closing closing = { .n = 0 };

	pthread_mutex_lock(&c->lock);
	set_fd(c, e, fd, slot, write_reads, &closing);
	if (c->files > c->files_max)
		(void)evict(c, 2, &closing);
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

/* Any will do; one was there when the entry was made, and it stays. */
static int
path_fd(const struct cache_entry *e)
{
	if (e->fds[CACHE_SLOT_PATH] != -1)
		return e->fds[CACHE_SLOT_PATH];
	return e->fds[CACHE_SLOT_READ] != -1 ? e->fds[CACHE_SLOT_READ] :
					       e->fds[CACHE_SLOT_WRITE];
}

int
cache_fd(struct cache *c, const struct cache_entry *e, enum cache_slot slot)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = slot == CACHE_SLOT_PATH ? path_fd(e) : e->fds[slot];
	if (fd == -1 && slot == CACHE_SLOT_READ && e->write_reads)
		fd = e->fds[CACHE_SLOT_WRITE];
	pthread_mutex_unlock(&c->lock);
	return fd;
}

/* Closes the descriptors to list by that are from before a change. */
static void
drop_streams(struct cache *c, struct cache_entry *e,
    const struct timespec *ctime, struct closing *closing)
{
	size_t i;

	if (same_time(&e->listed, ctime))
		return;
	e->listed = *ctime;
	for (i = CACHE_SLOT_LIST; i < CACHE_SLOTS; i++) {
		if (e->fds[i] == -1)
			continue;
		if (!e->slow || !janitor_leave(c->janitor, e->fds[i]))
			closing->fds[closing->n++] = e->fds[i];
		e->fds[i] = -1;
		c->files--;
	}
}

/* Which of the descriptors to list by; CACHE_STREAMS: a new one. */
static size_t
choose_stream(const struct cache_entry *e, uint64_t want)
{
	size_t i, open = 0, any = CACHE_STREAMS, done = CACHE_STREAMS;

	for (i = 0; i < CACHE_STREAMS; i++) {
		if (e->fds[CACHE_SLOT_LIST + i] == -1)
			continue;
		if (e->at[i] == want)
			return i;
		if (e->at[i] == DOOR_ANYWHERE)
			done = i;
		any = i;
		open++;
	}
	if (done != CACHE_STREAMS)
		return done;
	return open + e->lent < CACHE_STREAMS ? CACHE_STREAMS : any;
}

int
cache_lend(struct cache *c, struct cache_entry *e, const struct timespec *ctime,
    uint64_t want, uint64_t *at)
{
	struct closing closing = { .n = 0 };
	int fd = -1;
	size_t i;

	pthread_mutex_lock(&c->lock);
	drop_streams(c, e, ctime, &closing);
	i = choose_stream(e, want);
	if (i < CACHE_STREAMS) {
		fd = e->fds[CACHE_SLOT_LIST + i];
		*at = e->at[i];
		e->fds[CACHE_SLOT_LIST + i] = -1;
		c->files--;
	}
	e->lent++;
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
	return fd;
}

void
cache_return(struct cache *c, struct cache_entry *e, int fd,
    const struct timespec *ctime, uint64_t at)
{
	struct closing closing = { .n = 0 };
	size_t i = 0;

	pthread_mutex_lock(&c->lock);
	e->lent--;
	if (fd != -1)
		drop_streams(c, e, ctime, &closing);
	while (i < CACHE_STREAMS && e->fds[CACHE_SLOT_LIST + i] != -1)
		i++;
	if (fd != -1 && i < CACHE_STREAMS) {
		set_fd(c, e, fd, (enum cache_slot)(CACHE_SLOT_LIST + i), false,
		    &closing);
		e->at[i] = at;
		if (c->files > c->files_max)
			(void)evict(c, 2, &closing);
	} else if (fd != -1)
		closing.fds[closing.n++] = fd;
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

static void
release(struct cache *c, struct cache_entry *e, struct closing *closing)
{
	if (--e->refs == 0 && e->dropped)
		recycle(c, e, index_of(c, e), closing);
}

void
cache_release(struct cache *c, struct cache_entry *e)
{
	struct closing closing = { .n = 0 };

	pthread_mutex_lock(&c->lock);
	release(c, e, &closing);
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

void
cache_release_files(struct cache *c, const struct cache_held *list, size_t n)
{
	struct closing closing = { .n = 0 };
	size_t i;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < n; i++) {
		if (list[i].entry != NULL)
			release(c, list[i].entry, &closing);
		if (closing.n + CACHE_SLOTS > nitems(closing.fds)) {
			pthread_mutex_unlock(&c->lock);
			close_all(&closing);
			pthread_mutex_lock(&c->lock);
		}
	}
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

void
cache_drop(struct cache *c, struct cache_entry *e)
{
	struct closing closing = { .n = 0 };

	pthread_mutex_lock(&c->lock);
	drop(c, e, &closing);
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

void
cache_forget(struct cache *c, dev_t dev, ino_t ino)
{
	struct closing closing = { .n = 0 };
	struct cache_entry *e;
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	i = *chain_file(c, dev, ino);
	while (i != NONE && closing.n + CACHE_SLOTS <= nitems(closing.fds)) {
		e = entry(c, i);
		i = e->next_file;
		if (e->ino == ino && e->dev == dev)
			drop(c, e, &closing);
	}
	pthread_mutex_unlock(&c->lock);
	close_all(&closing);
}

/* The entry of a file, in this export and dialect, or NULL. */
static struct cache_entry *
find_file(struct cache *c, uint32_t generation, uint16_t export_id, bool utf16,
    dev_t dev, ino_t ino)
{
	struct cache_entry *e;
	uint32_t i;

	for (i = *chain_file(c, dev, ino); i != NONE; i = e->next_file) {
		e = entry(c, i);
		if (e->ino == ino && e->dev == dev &&
		    e->generation == generation &&
		    fh_export_id(&e->fh) == export_id &&
		    fh_is_utf16(&e->fh) == utf16) {
			c->stats.hits++;
			return e;
		}
	}
	return NULL;
}

void
cache_hold_files(struct cache *c, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t dev, struct cache_held *list, size_t n)
{
	struct cache_entry *e;
	uint32_t first;
	size_t i;

	pthread_mutex_lock(&c->lock);
	/* Fetched from memory together, not one after the other. */
	for (i = 0; i < n; i++)
		__builtin_prefetch(chain_file(c, dev, list[i].ino));
	for (i = 0; i < n; i++) {
		first = *chain_file(c, dev, list[i].ino);
		if (first != NONE)
			__builtin_prefetch(entry(c, first));
	}
	for (i = 0; i < n; i++) {
		e = find_file(c, generation, export_id, utf16, dev,
		    list[i].ino);
		list[i].entry = e;
		if (e == NULL)
			continue;
		hold(c, e);
		list[i].fd = path_fd(e);
	}
	pthread_mutex_unlock(&c->lock);
}

bool
cache_has_room(struct cache *c, size_t n)
{
	bool room;

	pthread_mutex_lock(&c->lock);
	room = c->files + n <= c->files_max;
	pthread_mutex_unlock(&c->lock);
	return room;
}

bool
cache_handle(struct cache *c, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t dev, ino_t ino, struct fh *fh)
{
	const struct cache_entry *e;

	pthread_mutex_lock(&c->lock);
	e = find_file(c, generation, export_id, utf16, dev, ino);
	if (e != NULL)
		*fh = e->fh;
	pthread_mutex_unlock(&c->lock);
	return e != NULL;
}

void
cache_lock(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
}

void
cache_unlock(struct cache *c)
{
	pthread_mutex_unlock(&c->lock);
}

void
cache_set_limit(struct cache *c, size_t files)
{
	struct closing closing = { .n = 0 };
	unsigned int left = SHARE_AT_ONCE;
	bool over;

	if (files < CACHE_FILES_MIN)
		files = CACHE_FILES_MIN;
	do {
		pthread_mutex_lock(&c->lock);
		c->files_max = files < c->max ? files : c->max;
		over = c->files > c->files_max && evict(c, 1, &closing) > 0;
		pthread_mutex_unlock(&c->lock);
		close_all(&closing);
	} while (over && --left > 0);
}

size_t
cache_evict(struct cache *c, size_t n)
{
	struct closing closing = { .n = 0 };
	size_t done = 0, more;

	do {
		pthread_mutex_lock(&c->lock);
		more = c->n == 0 ? 0 : evict(c, n - done, &closing);
		pthread_mutex_unlock(&c->lock);
		close_all(&closing);
		done += more;
	} while (more > 0 && done < n);
	return done;
}

/* Is the file gone, or has nobody asked for it for a while? */
static bool
is_over(struct cache *c, struct cache_entry *e)
{
	struct stat st;
	int fd;

	if (c->now - e->born > CACHE_IDLE_S)
		return true;
	fd = cache_fd(c, e, CACHE_SLOT_PATH);
	return fd != -1 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

void
cache_sweep(struct cache *c)
{
	struct cache_entry *e;
	uint32_t left, i;

	pthread_mutex_lock(&c->lock);
	c->now++;
	left = (c->n + SWEEP_SHARE - 1) / SWEEP_SHARE;
	for (; left > 0 && c->n > 0; left--) {
		i = c->sweep_at = (c->sweep_at + 1) % c->n;
		e = entry(c, i);
		if (!e->used || e->dropped || e->refs > 0)
			continue;
		e->refs++;
		pthread_mutex_unlock(&c->lock);
		if (is_over(c, e))
			cache_drop(c, e);
		cache_release(c, e);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

void
cache_start_janitor(struct cache *c, void (*chore)(void *), void *arg)
{
	janitor_start(c->janitor, chore, arg);
}

void
cache_stats(struct cache *c, struct cache_stats *stats)
{
	pthread_mutex_lock(&c->lock);
	*stats = c->stats;
	stats->descriptors = c->files;
	pthread_mutex_unlock(&c->lock);
}
