/* SPDX-License-Identifier: ISC */
/*
 * Cached handles of files without a descriptor: hits and misses.
 * Runs in: tests.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/cache/handle_cache.h"
#include "tap.h"

static struct fh
handle(uint32_t n)
{
	struct fh fh = { { 0x41, 1, 0, 7 } };

	memcpy(fh.bytes + 4, &n, sizeof(n));
	return fh;
}

static void
notes(void)
{
	struct handle_cache *n = handle_cache_new(1000);
	struct timespec born = { 1000, 5 }, other = { 1000, 6 };
	struct timespec later = { 2000, 0 }, now = { 1000, 9 };
	struct fh fh = handle(9), out;

	handle_cache_add(n, 1, 1, 9, &born, &now, &fh);
	ok(!handle_cache_find(n, 1, 7, 1, 9, &born, &out),
	    "a file that was just created is not cached");
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 7, 1, 9, &born, &out) &&
		memcmp(&out, &fh, sizeof(fh)) == 0,
	    "an older file is cached without a descriptor");
	ok(!handle_cache_find(n, 1, 7, 1, 9, &other, &out),
	    "another creation time is a miss: the inode number was reused");
	ok(!handle_cache_find(n, 1, 7, 2, 9, &born, &out),
	    "another device is a miss");
	ok(!handle_cache_find(n, 1, 8, 1, 9, &born, &out),
	    "another export is a miss");
	ok(!handle_cache_find(n, 2, 7, 1, 9, &born, &out),
	    "a reload of exports makes all entries a miss");
	fh.bytes[2] = 0;
	fh.bytes[3] = 8;
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 8, 1, 9, &born, &out) &&
		fh_export_id(&out) == 8,
	    "a file can be cached for two exports");
	ok(handle_cache_find(n, 1, 7, 1, 9, &born, &out) &&
		fh_export_id(&out) == 7,
	    "each export has its own handle");
	handle_cache_free(n);
	n = handle_cache_new(4); /* all share one slot */
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 8, 1, 9, &born, &out) &&
		!handle_cache_find(n, 1, 8, 2, 9, &born, &out) &&
		!handle_cache_find(n, 1, 8, 1, 10, &born, &out),
	    "other files in the same slot are a miss");
	handle_cache_free(n);
	n = handle_cache_new(0);
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(!handle_cache_find(n, 1, 8, 1, 9, &born, &out),
	    "a cache without room caches nothing");
	handle_cache_free(n);
}

/* How many of count files from first on are cached. */
static uint32_t
known(struct handle_cache *n, uint32_t generation, ino_t first, uint32_t count,
    ino_t step)
{
	struct timespec born = { 1000, 5 };
	struct fh fh, want;
	uint32_t i, hits = 0;
	ino_t ino;

	for (i = 0; i < count; i++) {
		ino = first + i / 64 * step + i % 64;
		want = handle((uint32_t)ino);
		if (handle_cache_find(n, generation, 7, 1, ino, &born, &fh))
			hits += memcmp(&fh, &want, sizeof(fh)) == 0;
	}
	return hits;
}

/*
 * Caches count files: 64 with consecutive inode numbers, then a step. Every
 * fourth file first, then the next fourth, since names come in no order.
 */
static void
note_all(struct handle_cache *n, uint32_t generation, ino_t first,
    uint32_t count, ino_t step)
{
	struct timespec born = { 1000, 5 }, later = { 2000, 0 };
	uint32_t k, i;
	struct fh fh;
	ino_t ino;

	for (k = 0; k < 4; k++)
		for (i = k; i < count; i += 4) {
			ino = first + i / 64 * step + i % 64;
			fh = handle((uint32_t)ino);
			handle_cache_add(n, generation, 1, ino, &born, &later,
			    &fh);
		}
}

/* Resident memory in KiB. */
static long
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all, pages = 0;

	if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2)
		pages = 0;
	if (f != NULL)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

#define ALL ((uint32_t)HANDLE_CACHE_MAX)
#ifdef __SANITIZE_THREAD__
#define WATCHED true
#else
#define WATCHED false
#endif

static void
many(void)
{
	struct handle_cache *n = handle_cache_new(ALL);
	long before = resident();

	note_all(n, 1, 11, 10000, 64);
	skip(WATCHED, 1, "the sanitizer's own memory grows as well");
	cmp_ok(resident() - before, "<", 4096,
	    "10,000 entries take little memory");
	end_skip;
	note_all(n, 1, 11, ALL / 2, 64);
	cmp_ok(known(n, 1, 11, ALL / 2, 64), "==", ALL / 2,
	    "all files are a hit while half of the room is used");
	note_all(n, 2, 11, ALL / 2, 64);
	note_all(n, 2, 11 + ALL / 2, ALL / 4, 64);
	cmp_ok(known(n, 2, 11, ALL / 4 * 3, 64), ">", ALL / 4 * 3 - 20,
	    "entries from before a reload take no room");
	handle_cache_free(n);

	n = handle_cache_new(ALL);
	note_all(n, 1, 128, ALL / 2, 576);
	cmp_ok(known(n, 1, 128, ALL / 2, 576), ">", ALL / 2 / 10 * 9,
	    "nine of ten files with gaps in their numbers are a hit");
	note_all(n, 1, (ino_t)7 << 32, ALL, 64);
	cmp_ok(known(n, 1, (ino_t)7 << 32, ALL, 64), ">", ALL / 2,
	    "new entries replace old ones when the cache is full");
	handle_cache_free(n);
}

static void
rest(void)
{
	struct handle_cache *n = handle_cache_new(ALL);
	long before;
	int i;

	handle_cache_trim(n);
	note_all(n, 1, 1, ALL / 2, 64);
	before = resident();
	for (i = 0; i < HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	note_all(n, 1, 1, 1, 64);
	for (i = 0; i < HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	cmp_ok(known(n, 1, 1, 1, 64), "==", 1, "an entry stays for some time");
	for (i = 0; i < HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	cmp_ok(known(n, 1, 1, ALL / 2, 64), "==", ALL / 2,
	    "use prolongs its time");
	for (i = 0; i <= HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	cmp_ok(known(n, 1, 1, ALL / 2, 64), "==", 0, "unused entries expire");
	cmp_ok(before - resident(), ">", 30 * 1024,
	    "their memory is returned to the kernel");
	note_all(n, 1, 1, 100, 64);
	cmp_ok(known(n, 1, 1, 100, 64), "==", 100,
	    "the cache works again afterwards");
	handle_cache_free(n);
}

int
main(void)
{
	plan(NO_PLAN);
	notes();
	many();
	rest();
	handle_cache_free(NULL);
	done_testing();
}
