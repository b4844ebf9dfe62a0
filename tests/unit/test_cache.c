/* SPDX-License-Identifier: ISC */
/*
 * The descriptor cache: entries are found, bounded, and not closed while held.
 * Runs in: tests.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"
#include "nfsd/cache/cache.h"
#include "tap.h"

static struct fh
handle(uint32_t n)
{
	struct fh fh = { { 0x41, 1, 0, 7 } };

	memcpy(fh.bytes + 4, &n, sizeof(n));
	return fh;
}

static struct stat
file(ino_t ino)
{
	struct stat st;

	memset(&st, 0, sizeof(st));
	st.st_dev = 1;
	st.st_ino = ino;
	st.st_mode = S_IFREG | 0644;
	return st;
}

static int
some_fd(void)
{
	return open("/dev/null", O_PATH | O_CLOEXEC);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

static struct cache_entry *
put(struct cache *c, uint32_t n, enum cache_slot slot)
{
	struct fh fh = handle(n);
	struct stat st = file(n);

	return cache_add(c, &fh, 1, &st, some_fd(), slot, false);
}

/* A file that is opened again when the exports are new. */
static void
new_exports(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = put(c, 1, CACHE_SLOT_PATH);
	struct fh fh = handle(1);
	struct stat st = file(1);
	int old = e->fd, new = some_fd();

	cache_release(c, e);
	cache_set_generation(c, 2);
	e = cache_add(c, &fh, 2, &st, new, CACHE_SLOT_PATH, false);
	ok(e->fd == new &&is_open(new) && !is_open(old),
	    "its descriptor is the new one");
	cache_release(c, e);
	e = cache_find(c, &fh, 2);
	ok(e != NULL && e->fd == new, "which is found");
	cache_release(c, e);
	cache_free(c);
}

static void
finding(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = put(c, 1, CACHE_SLOT_PATH), *again;
	struct fh fh = handle(1), out;
	int fd = e->fd;

	cache_release(c, e);
	again = cache_find(c, &fh, 1);
	ok(again == e && e->fd == fd,
	    "an added entry is found with its descriptor");
	ok(cache_fd(e, CACHE_SLOT_READ) == -1,
	    "an O_PATH descriptor is not one to read by");
	cache_add_fd(c, e, some_fd(), CACHE_SLOT_WRITE, true);
	ok(cache_fd(e, CACHE_SLOT_READ) != -1,
	    "a descriptor for reading and writing serves readers");
	ok(cache_handle(c, 1, 7, false, 1, 1, &out) &&
		memcmp(&out, &fh, sizeof(fh)) == 0,
	    "a handle is found by device and inode number");
	ok(!cache_handle(c, 1, 8, false, 1, 1, &out) &&
		!cache_handle(c, 1, 7, true, 1, 1, &out),
	    "but not for another export or for players");
	cache_release(c, again);
	ok(cache_find(c, &fh, 2) == NULL && !is_open(fd),
	    "after a reload of exports the entry is a miss and is closed");
	cache_free(c);
}

static void
limits(void)
{
	struct cache *c = cache_new(16);
	struct cache_stats stats;
	struct cache_entry *held = put(c, 0, CACHE_SLOT_PATH), *e;
	struct fh fh = handle(0);
	int fd = held->fd;
	uint32_t i;

	for (i = 1; i < 1000; i++) {
		e = put(c, i, CACHE_SLOT_PATH);
		if (e != NULL)
			cache_release(c, e);
	}
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "<=", 17,
	    "the number of descriptors is bounded");
	ok(is_open(fd), "a held entry stays open");
	e = cache_find(c, &fh, 1);
	ok(e == held, "a held entry is found");
	cache_release(c, e);
	cache_release(c, held);
	cmp_ok(cache_evict(c, 1000), ">=", 15,
	    "all unused descriptors can be evicted at once");
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "<=", 1, "they are closed");
	cache_free(c);
}

static void
sharing(void)
{
	struct cache *c = cache_new(64);
	struct cache_stats stats;
	struct cache_entry *e[20];
	uint32_t i;

	for (i = 0; i < 64; i++)
		cache_release(c, put(c, i, CACHE_SLOT_PATH));
	ok(!cache_has_room(c, 1), "a full cache has no room");
	cache_set_limit(c, 40);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 40, "a lower limit evicts the rest");
	ok(!cache_has_room(c, 1), "there is no room above the lower limit");
	cache_set_limit(c, 1000);
	ok(cache_has_room(c, 24), "a higher limit gives room again");
	ok(!cache_has_room(c, 25), "but no more than at first");
	cache_set_limit(c, 0);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", CACHE_FILES_MIN,
	    "a minimum of entries always stays");
	cache_free(c);

	c = cache_new(64);
	for (i = 0; i < 20; i++) { /* two descriptors each */
		e[i] = put(c, i, CACHE_SLOT_PATH);
		cache_add_fd(c, e[i], some_fd(), CACHE_SLOT_READ, false);
	}
	cache_set_limit(c, 20);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 40, "held entries are not evicted");
	for (i = 0; i < 20; i++)
		cache_release(c, e[i]);
	cache_set_limit(c, 20);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 20,
	    "no more is evicted than necessary");
	cache_free(c);
}

static void
everything_held(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e[16];
	uint32_t i;

	for (i = 0; i < 16; i++)
		e[i] = put(c, i, CACHE_SLOT_PATH);
	ok(put(c, 16, CACHE_SLOT_PATH) == NULL,
	    "a cache with all entries held takes no more");
	for (i = 0; i < 16; i++)
		cache_release(c, e[i]);
	cache_free(c);
}

static void
dropping(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = put(c, 5, CACHE_SLOT_PATH);
	struct fh fh = handle(5), out;
	int fd = e->fd;

	cache_forget(c, 1, 5);
	ok(cache_find(c, &fh, 1) == NULL && is_open(fd),
	    "a forgotten file is a miss, but stays open while held");
	ok(!cache_handle(c, 1, 7, false, 1, 5, &out),
	    "its inode number is a miss too");
	cache_release(c, e);
	ok(!is_open(fd), "it is closed after the last release");
	cache_free(c);
}

static void
lending(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = put(c, 6, CACHE_SLOT_PATH);
	struct timespec then = { 5, 0 }, now = { 6, 0 };
	struct cache_stats stats;
	uint64_t at = 0;
	int fd = some_fd();

	ok(cache_lend(c, e, &then, 0, &at) == -1,
	    "a directory has no stream to list by at first");
	cache_return(c, e, fd, &then, 100);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 2,
	    "a returned stream counts as a descriptor");
	ok(cache_lend(c, e, &then, 100, &at) == fd && at == 100,
	    "a listing that continues at its position gets it");
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 1, "a lent stream does not count");
	cache_return(c, e, fd, &then, 200);
	ok(cache_lend(c, e, &now, 200, &at) == -1 && !is_open(fd),
	    "a change of the directory closes it");
	cache_return(c, e, -1, &now, 0);
	(void)cache_lend(c, e, &now, 0, &at);
	cache_return(c, e, fd = some_fd(), &now, 1);
	cache_drop(c, e);
	ok(is_open(fd),
	    "streams of a dropped directory stay open while it is held");
	cache_release(c, e);
	ok(!is_open(fd), "they are closed on release");
	cache_free(c);
}

static void
by_number(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = put(c, 6, CACHE_SLOT_PATH);
	struct cache_held held[2] = { { .ino = 6 }, { .ino = 5 } };
	int fd = e->fd;

	cache_hold_files(c, 1, 7, false, 1, held, 2);
	ok(held[0].entry == e, "an open file is found by inode number");
	ok(held[1].entry == NULL, "a file that is not open is not found");
	cache_release(c, e);
	cache_drop(c, e);
	ok(is_open(fd), "a dropped entry stays open while held");
	cache_release_files(c, held, 2);
	ok(!is_open(fd), "it is closed on release");
	ok(cache_has_room(c, 16) && !cache_has_room(c, 17),
	    "there is room up to the limit");
	cache_free(c);
}

/* Handles that encode a name, which moves to another file. */
static void
renaming(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *old = put(c, 1, CACHE_SLOT_PATH), *e;
	struct fh fh = handle(1), out;
	struct stat other = file(2);
	struct cache_stats stats;
	int was = old->fd, now = some_fd();

	e = cache_add(c, &fh, 1, &other, now, CACHE_SLOT_PATH, 0);
	ok(e != NULL && e != old && e->fd == now,
	    "the handle means the file that has the name now");
	ok(is_open(was), "the old file stays open while held");
	cache_release(c, old);
	ok(!is_open(was), "it is closed on release");
	ok(cache_handle(c, 1, fh_export_id(&fh), false, 1, 2, &out) &&
		!cache_handle(c, 1, fh_export_id(&fh), false, 1, 1, &out),
	    "its inode number is a miss then");
	cache_release(c, e);
	other.st_dev = 9;
	cache_release(c,
	    cache_add(c, &fh, 1, &other, some_fd(), CACHE_SLOT_PATH, 0));
	ok(cache_handle(c, 1, fh_export_id(&fh), false, 9, 2, &out) &&
		!cache_handle(c, 1, fh_export_id(&fh), false, 1, 2, &out),
	    "the same inode number on another device is another file");
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "==", 1,
	    "an old file that is not held is closed at once");
	ok(!is_open(now), "its descriptor is closed");
	cache_free(c);
}

static void
sweeping(void)
{
	struct cache *c = cache_new(64);
	char path[128];
	struct fh fh = handle(3);
	struct cache_entry *e;
	struct stat st;
	int i, fd;

	fixture_file("gone", "x", 0644);
	snprintf(path, sizeof(path), "%s/gone", fixture_dir());
	fd = open(path, O_PATH | O_CLOEXEC);
	fstat(fd, &st);
	e = cache_add(c, &fh, 1, &st, fd, CACHE_SLOT_PATH, false);
	cache_release(c, e);
	for (i = 0; i < 20; i++)
		cache_sweep(c);
	ok(is_open(fd), "an existing file stays open");
	unlink(path);
	for (i = 0; i < 20; i++)
		cache_sweep(c);
	ok(!is_open(fd), "a removed file is closed, which frees its space");
	cache_release(c, put(c, 4, CACHE_SLOT_PATH));
	for (i = 0; i < 2 * CACHE_IDLE_S; i++)
		cache_sweep(c);
	fh = handle(4);
	ok(cache_find(c, &fh, 1) == NULL, "idle files are closed");
	cache_free(c);
}

static _Atomic int watched = -1; /* a descriptor */
static _Atomic pid_t closer; /* the thread that closed it */

/* Stands before that of the C library. */
int
close(int fd)
{
	if (fd == atomic_load(&watched))
		atomic_store(&closer, gettid());
	return (int)syscall(SYS_close, fd);
}

static void
do_nothing(void *arg UNUSED)
{
}

/* Drops a file. Returns true if this thread closed it, not the janitor. */
static bool
closed_here(struct cache *c, enum cache_slot slot, bool removed)
{
	struct fh fh = handle(5);
	struct cache_entry *e;
	char path[128];
	struct stat st;
	int fd;

	fixture_file("large", "x", 0644);
	snprintf(path, sizeof(path), "%s/large", fixture_dir());
	fd = open(path, slot == CACHE_SLOT_WRITE ? O_RDWR : O_PATH);
	fstat(fd, &st);
	e = cache_add(c, &fh, 1, &st, fd, slot, 0);
	if (removed)
		unlink(path);
	atomic_store(&closer, 0);
	atomic_store(&watched, fd);
	cache_drop(c, e);
	cache_release(c, e);
	while (atomic_load(&closer) == 0)
		(void)usleep(1000);
	atomic_store(&watched, -1);
	return atomic_load(&closer) == gettid();
}

/* A close that may wait is left to the janitor: the event loop cannot wait. */
static void
closing_elsewhere(void)
{
	static struct cache *c; /* never freed, as its janitor never ends */

	c = cache_new(64);
	cache_start_janitor(c, do_nothing, NULL);
	ok(closed_here(c, CACHE_SLOT_PATH, false), "a file is closed at once");
	ok(!closed_here(c, CACHE_SLOT_PATH, true),
	    "a removed one by the janitor, since that frees its blocks");
	ok(!closed_here(c, CACHE_SLOT_WRITE, false),
	    "so is one that can write, since that may write");
}

static _Atomic unsigned int closed; /* while held */

static void *
hammer(void *arg)
{
	struct cache *c = arg;
	struct cache_entry *e;
	struct fh fh;
	uint32_t i, n;

	for (i = 0; i < 20000; i++) {
		n = (i * 7919u) % 100;
		fh = handle(n);
		e = cache_find(c, &fh, 1);
		if (e == NULL)
			e = put(c, n,
			    i % 2 ? CACHE_SLOT_PATH : CACHE_SLOT_READ);
		if (e == NULL)
			continue;
		if (i % 97 == 0)
			cache_drop(c, e);
		if (!is_open(e->fd))
			closed++;
		cache_release(c, e);
		if (i % 501 == 0)
			cache_sweep(c);
	}
	return NULL;
}

static void
together(void)
{
	struct cache *c = cache_new(32);
	struct cache_stats stats;
	pthread_t threads[4];
	size_t i;

	for (i = 0; i < nitems(threads); i++)
		pthread_create(&threads[i], NULL, hammer, c);
	for (i = 0; i < nitems(threads); i++)
		pthread_join(threads[i], NULL);
	cache_stats(c, &stats);
	cmp_ok(stats.descriptors, "<=", 40,
	    "four threads: the number of descriptors is bounded");
	cmp_ok(closed, "==", 0, "no held descriptor is closed");
	cache_free(c);
}

int
main(void)
{
	plan(NO_PLAN);
	finding();
	new_exports();
	limits();
	sharing();
	everything_held();
	dropping();
	lending();
	by_number();
	renaming();
	sweeping();
	closing_elsewhere();
	together();
	done_testing();
}
