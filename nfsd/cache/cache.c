/* SPDX-License-Identifier: ISC */
/*
 * Entries are an array, linked by index into two tables of chains: by handle
 * and by inode. Memory grows in chunks that are never moved, so that an entry
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
#include "nfsd/cache/cache.h"
#include "nfsd/cache/janitor.h"

#define NONE	      UINT32_MAX
#define CHUNK	      1024 /* entries allocated together */
#define CHUNKS	      (CACHE_FILES_MAX / CHUNK)
#define SWEEP_SHARE   16 /* of the entries are looked at each second */
#define EVICT_ROOM    8 /* entries closed together */
#define ENTRY_FDS     (CACHE_SLOTS + CACHE_STREAMS)
#define PURGES	      5 /* sweeps: a call may still use old exports */
#define SHARE_AT_ONCE 512 /* files closed at a time when the limit falls */

struct cache {
	pthread_mutex_t lock;
	struct cache_entry *chunks[CHUNKS];
	uint32_t n, max; /* entries made, limit */
	uint32_t free; /* chain through next_fh */
	uint32_t hand, now;
	uint32_t sweep_at[2]; /* of the others, of slow entries */
	uint32_t generation; /* entries of others are to be closed */
	unsigned int purges; /* so often they still have to be looked for */
	size_t files, files_max;
	uint32_t *by_fh, *by_file;
	uint32_t mask;
	struct janitor *janitor;
	struct janitor *patient; /* for slow entries: it may hang */
	struct cache_stats stats;
};

/*
 * Descriptors to close when the lock is given up. They are read-only, or the
 * thread may wait.
 */
struct closing {
	bool may_wait;
	int fds[EVICT_ROOM * ENTRY_FDS];
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
	/* The tags spread the handles, and no client can choose them. */
	return &c->by_fh[hash_mix(w[0] ^ w[1] ^ w[2] ^ w[3]) & c->mask];
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
	c->patient = janitor_new(CACHE_FILES_MAX);
	c->mask = (uint32_t)(chains - 1);
	c->files_max = files;
	c->max = (uint32_t)files;
	c->free = NONE;
	return c;
}

/* For calls that mostly close nothing: the array is not cleared. */
static void
begin_closing(struct closing *closing)
{
	closing->may_wait = false;
	closing->n = 0;
}

/* Was the last name of the file removed? */
static bool
is_removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* The last close of a removed file frees its blocks, which may take long. */
static void
close_some(struct cache *c, struct closing *closing)
{
	int fd;

	while (closing->n > 0) {
		fd = closing->fds[--closing->n];
		if (closing->may_wait || !is_removed(fd) ||
		    !janitor_leave(c->janitor, fd))
			close(fd);
	}
}

/* Mostly there are none. */
static inline void
close_all(struct cache *c, struct closing *closing)
{
	if (closing->n > 0)
		close_some(c, closing);
}

/*
 * Removes a descriptor; closes it here or leaves it to the janitor. The close of
 * one that can write may write.
 */
static void
give_up(struct cache *c, const struct cache_entry *e, int fd, bool writes,
    struct closing *closing)
{
	c->files--;
	if (!(e->slow || (writes && !closing->may_wait)) ||
	    !janitor_leave(e->slow ? c->patient : c->janitor, fd))
		closing->fds[closing->n++] = fd;
}

/* From dropped to free. */
static void
recycle(struct cache *c, struct cache_entry *e, struct closing *closing)
{
	int fds[CACHE_STREAMS];
	size_t i, n;

	for (i = 0; i < CACHE_SLOTS; i++)
		if (e->fds[i] != -1)
			give_up(c, e, e->fds[i], i == CACHE_SLOT_WRITE,
			    closing);
	n = cache_dir_empty(&e->dir, fds);
	for (i = 0; i < n; i++)
		give_up(c, e, fds[i], false, closing);
	e->state = CACHE_FREE;
	e->next_fh = c->free;
	c->free = e->index;
}

void
cache_free(struct cache *c)
{
	struct closing closing = { .may_wait = true };
	uint32_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->n; i++) {
		if (entry(c, i)->state != CACHE_FREE)
			recycle(c, entry(c, i), &closing);
		close_all(c, &closing);
	}
	for (i = 0; i < CHUNKS; i++)
		free(c->chunks[i]);
	free(c->by_fh);
	free(c->by_file);
	janitor_free(c->janitor);
	janitor_free(c->patient);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* From live to dropped: out of both chains. */
static void
unchain(struct cache *c, struct cache_entry *e)
{
	uint32_t *link;

	if (e->state == CACHE_DROPPED)
		return;
	e->state = CACHE_DROPPED;
	for (link = chain_fh(c, &e->fh); *link != e->index;)
		link = &entry(c, *link)->next_fh;
	*link = e->next_fh;
	for (link = chain_file(c, e->dev, e->ino); *link != e->index;)
		link = &entry(c, *link)->next_file;
	*link = e->next_file;
	c->stats.entries--;
}

/* The hand evicts up to n entries that are not held. */
static size_t
evict(struct cache *c, size_t n, struct closing *closing)
{
	struct cache_entry *e;
	size_t done = 0;
	uint32_t steps = c->n * 2;

	if (n > EVICT_ROOM)
		n = EVICT_ROOM;
	for (; steps > 0 && done < n; steps--) {
		e = entry(c, c->hand);
		c->hand = (c->hand + 1) % c->n;
		if (e->state != CACHE_LIVE || e->refs > 0)
			continue;
		if (e->recent) {
			e->recent = false;
			continue;
		}
		unchain(c, e);
		recycle(c, e, closing);
		c->stats.evictions++;
		done++;
	}
	return done;
}

/* The index of a free entry, or NONE. */
static uint32_t
take_free(struct cache *c, struct closing *closing)
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

/* With the lock held. */
static struct cache_entry *
find_handle(struct cache *c, const struct fh *fh)
{
	uint32_t i = *chain_fh(c, fh);

	while (i != NONE && memcmp(&entry(c, i)->fh, fh, sizeof(*fh)) != 0)
		i = entry(c, i)->next_fh;
	return i == NONE ? NULL : entry(c, i);
}

/* From live to dropped, and to free if it is not held. */
static void
drop(struct cache *c, struct cache_entry *e, struct closing *closing)
{
	unchain(c, e);
	if (e->refs == 0)
		recycle(c, e, closing);
}

static void
hold(struct cache *c, struct cache_entry *e)
{
	e->refs++;
	e->recent = true;
	e->used_at = c->now;
}

struct cache_entry *
cache_find(struct cache *c, const struct fh *fh, uint32_t generation)
{
	struct closing closing;
	struct cache_entry *e;

	begin_closing(&closing);
	pthread_mutex_lock(&c->lock);
	e = find_handle(c, fh);
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
	close_all(c, &closing);
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
	if (slot == CACHE_SLOT_WRITE)
		e->write_reads = write_reads;
	e->fds[slot] = fd; /* last: cache_fd() takes no lock */
	c->files++;
}

/* From free to live. */
static struct cache_entry *
cache_make(struct cache *c, const struct fh *fh, const struct stat *st, int fd,
    struct closing *closing)
{
	uint32_t i = take_free(c, closing), *link;
	struct cache_entry *e;
	size_t slot;

	if (i == NONE)
		return NULL;
	e = entry(c, i);
	/* Not memset(3): cache_release() may look at it still. */
	e->state = CACHE_LIVE;
	e->refs = 0;
	e->fh = *fh;
	e->dev = st->st_dev;
	e->ino = st->st_ino;
	e->type = (uint16_t)(st->st_mode & S_IFMT);
	e->fd = fd;
	e->index = i;
	for (slot = 0; slot < CACHE_SLOTS; slot++)
		e->fds[slot] = -1;
	e->write_reads = false;
	e->inside_at = 0;
	memset(e->grants, 0, sizeof(e->grants));
	cache_dir_init(&e->dir);
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
	e = find_handle(c, fh);
	/*
	 * A handle that encodes a path may mean another file now. A descriptor that was
	 * opened under another list may be of another mount.
	 */
	if (e != NULL &&
	    (e->generation != generation || e->ino != st->st_ino ||
		e->dev != st->st_dev)) {
		drop(c, e, &gone);
		e = NULL;
	}
	if (e == NULL)
		e = cache_make(c, fh, st, fd, &closing);
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
	close_all(c, &gone);
	close_all(c, &closing);
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
	close_all(c, &closing);
}

int
cache_fd(const struct cache_entry *e, enum cache_slot slot)
{
	int fd = e->fds[slot];

	if (fd != -1 || slot != CACHE_SLOT_READ)
		return fd;
	fd = e->fds[CACHE_SLOT_WRITE];
	return fd != -1 && e->write_reads ? fd : -1;
}

/* Closes the streams from before a change of the directory. */
static void
drop_streams(struct cache *c, struct cache_entry *e,
    const struct timespec *ctime, struct closing *closing)
{
	int fds[CACHE_STREAMS];
	size_t i, n = cache_dir_change(&e->dir, ctime, fds);

	for (i = 0; i < n; i++)
		give_up(c, e, fds[i], false, closing);
}

int
cache_lend(struct cache *c, struct cache_entry *e, const struct timespec *ctime,
    uint64_t want, uint64_t *at)
{
	struct closing closing = { .n = 0 };
	int fd;

	pthread_mutex_lock(&c->lock);
	drop_streams(c, e, ctime, &closing);
	fd = cache_dir_lend(&e->dir, want, at);
	if (fd != -1)
		c->files--;
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
	return fd;
}

void
cache_return(struct cache *c, struct cache_entry *e, int fd,
    const struct timespec *ctime, uint64_t at)
{
	struct closing closing = { .n = 0 };

	pthread_mutex_lock(&c->lock);
	if (fd != -1)
		drop_streams(c, e, ctime, &closing);
	if (cache_dir_return(&e->dir, fd, at)) {
		c->files++;
		if (c->files > c->files_max)
			(void)evict(c, 2, &closing);
	} else if (fd != -1)
		closing.fds[closing.n++] = fd;
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
}

void
cache_hold(struct cache *c, struct cache_entry *e)
{
	pthread_mutex_lock(&c->lock);
	e->refs++;
	pthread_mutex_unlock(&c->lock);
}

/* The last call has released an entry that was dropped meanwhile. */
static void
bury(struct cache *c, struct cache_entry *e)
{
	struct closing closing;

	begin_closing(&closing);
	pthread_mutex_lock(&c->lock);
	/* The thread that dropped it may have seen the release before. */
	if (e->state == CACHE_DROPPED && e->refs == 0)
		recycle(c, e, &closing);
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
}

/*
 * Takes no lock. drop() first sets the state and then looks at refs; this is the
 * other way round. So one of the two sees both, and the entry is recycled. An
 * entry is never freed, so it can be looked at when it belongs to another file.
 */
void
cache_release(struct cache *c, struct cache_entry *e)
{
	if (atomic_fetch_sub(&e->refs, 1) == 1 &&
	    atomic_load(&e->state) == CACHE_DROPPED)
		bury(c, e);
}

void
cache_release_files(struct cache *c, const struct cache_held *list, size_t n)
{
	struct closing closing = { .n = 0 };
	struct cache_entry *e;
	size_t i;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < n; i++) {
		e = list[i].entry;
		if (e != NULL && --e->refs == 0 && e->state == CACHE_DROPPED)
			recycle(c, e, &closing);
		if (closing.n + ENTRY_FDS > nitems(closing.fds)) {
			pthread_mutex_unlock(&c->lock);
			close_all(c, &closing);
			pthread_mutex_lock(&c->lock);
		}
	}
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
}

void
cache_drop(struct cache *c, struct cache_entry *e)
{
	struct closing closing = { .n = 0 };

	pthread_mutex_lock(&c->lock);
	drop(c, e, &closing);
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
}

void
cache_forget(struct cache *c, dev_t dev, ino_t ino)
{
	struct closing closing = { .may_wait = true };
	struct cache_entry *e;
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	i = *chain_file(c, dev, ino);
	while (i != NONE && closing.n + ENTRY_FDS <= nitems(closing.fds)) {
		e = entry(c, i);
		i = e->next_file;
		if (e->ino == ino && e->dev == dev)
			drop(c, e, &closing);
	}
	pthread_mutex_unlock(&c->lock);
	close_all(c, &closing);
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
		if (e != NULL)
			hold(c, e);
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
		close_all(c, &closing);
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
		close_all(c, &closing);
		done += more;
	} while (more > 0 && done < n);
	return done;
}

/* Drops the entries that belong to exports of before. */
static void
purge(struct cache *c)
{
	struct closing closing = { .n = 0 };
	struct cache_entry *e;
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		pthread_mutex_lock(&c->lock);
		e = entry(c, i);
		if (e->state == CACHE_LIVE && e->generation != c->generation)
			drop(c, e, &closing);
		pthread_mutex_unlock(&c->lock);
		close_all(c, &closing);
	}
}

/* Looks at a part of the entries, of the slow ones or of the others. */
static void
sweep(struct cache *c, bool slow)
{
	struct cache_entry *e;
	uint32_t left, i;
	bool idle;

	pthread_mutex_lock(&c->lock);
	left = (c->n + SWEEP_SHARE - 1) / SWEEP_SHARE;
	for (; left > 0 && c->n > 0; left--) {
		i = c->sweep_at[slow] = (c->sweep_at[slow] + 1) % c->n;
		e = entry(c, i);
		if (e->state != CACHE_LIVE || e->refs > 0 || e->slow != slow)
			continue;
		idle = c->now - e->used_at > CACHE_IDLE_S;
		e->refs++;
		pthread_mutex_unlock(&c->lock);
		if (idle || is_removed(e->fd))
			cache_drop(c, e);
		cache_release(c, e);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

static void
sweep_slow(void *arg)
{
	sweep(arg, true);
}

void
cache_sweep(struct cache *c)
{
	bool stale;

	pthread_mutex_lock(&c->lock);
	c->now++;
	stale = c->purges > 0;
	c->purges -= stale;
	pthread_mutex_unlock(&c->lock);
	if (stale)
		purge(c);
	sweep(c, false);
}

void
cache_set_generation(struct cache *c, uint32_t generation)
{
	pthread_mutex_lock(&c->lock);
	c->generation = generation;
	c->purges = PURGES;
	pthread_mutex_unlock(&c->lock);
	janitor_wake(c->janitor);
}

void
cache_start_janitor(struct cache *c, void (*chore)(void *), void *arg)
{
	janitor_start(c->janitor, chore, arg);
	janitor_start(c->patient, sweep_slow, c);
}

void
cache_stats(struct cache *c, struct cache_stats *stats)
{
	pthread_mutex_lock(&c->lock);
	*stats = c->stats;
	stats->descriptors = c->files;
	pthread_mutex_unlock(&c->lock);
}
