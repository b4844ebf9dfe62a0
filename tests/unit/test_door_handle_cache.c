/* SPDX-License-Identifier: ISC */
/*
 * Handles without descriptors: when they are believed.
 * Runs in: tests.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/door/handle_cache.h"
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
	    "a file born just now is not noted");
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 7, 1, 9, &born, &out) &&
		memcmp(&out, &fh, sizeof(fh)) == 0,
	    "an older one is, without a descriptor");
	ok(!handle_cache_find(n, 1, 7, 1, 9, &other, &out),
	    "a new file with the same number is not taken for it");
	ok(!handle_cache_find(n, 1, 7, 2, 9, &born, &out),
	    "nor on another device");
	ok(!handle_cache_find(n, 1, 8, 1, 9, &born, &out),
	    "nor in another export");
	ok(!handle_cache_find(n, 2, 7, 1, 9, &born, &out),
	    "nor when the exports have changed");
	fh.bytes[2] = 0;
	fh.bytes[3] = 8;
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 8, 1, 9, &born, &out) &&
		fh_export_id(&out) == 8,
	    "two exports may have it");
	ok(handle_cache_find(n, 1, 7, 1, 9, &born, &out) &&
		fh_export_id(&out) == 7,
	    "each with its handle");
	handle_cache_free(n);
	n = handle_cache_new(4); /* all lie in one place */
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(handle_cache_find(n, 1, 8, 1, 9, &born, &out) &&
		!handle_cache_find(n, 1, 8, 2, 9, &born, &out) &&
		!handle_cache_find(n, 1, 8, 1, 10, &born, &out),
	    "side by side they are not mistaken for each other");
	handle_cache_free(n);
	n = handle_cache_new(0);
	handle_cache_add(n, 1, 1, 9, &born, &later, &fh);
	ok(!handle_cache_find(n, 1, 8, 1, 9, &born, &out), "no room, no notes");
	handle_cache_free(n);
}

/* How many of count files from first on are known. */
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
 * Notes them: 64 with numbers side by side, the next ones step further on. Not
 * in order, since names come in none: first every fourth of all, then the next.
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
	    "10,000 notes take little memory");
	end_skip;
	note_all(n, 1, 11, ALL / 2, 64);
	cmp_ok(known(n, 1, 11, ALL / 2, 64), "==", ALL / 2,
	    "half of the room is used: all are known");
	note_all(n, 2, 11, ALL / 2, 64);
	note_all(n, 2, 11 + ALL / 2, ALL / 4, 64);
	cmp_ok(known(n, 2, 11, ALL / 4 * 3, 64), ">", ALL / 4 * 3 - 20,
	    "those of older exports are not in the way");
	handle_cache_free(n);

	n = handle_cache_new(ALL);
	note_all(n, 1, 128, ALL / 2, 576);
	cmp_ok(known(n, 1, 128, ALL / 2, 576), ">", ALL / 2 / 10 * 9,
	    "numbers with gaps: nine of ten at least");
	note_all(n, 1, (ino_t)7 << 32, ALL, 64);
	cmp_ok(known(n, 1, (ino_t)7 << 32, ALL, 64), ">", ALL / 2,
	    "more than fit: new ones take the place of old");
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
	cmp_ok(known(n, 1, 1, 1, 64), "==", 1, "kept for a while");
	for (i = 0; i < HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	cmp_ok(known(n, 1, 1, ALL / 2, 64), "==", ALL / 2,
	    "longer when they are used");
	for (i = 0; i <= HANDLE_CACHE_TRIM_S; i++)
		handle_cache_trim(n);
	cmp_ok(known(n, 1, 1, ALL / 2, 64), "==", 0, "then they are forgotten");
	cmp_ok(before - resident(), ">", 30 * 1024,
	    "and the memory given back");
	note_all(n, 1, 1, 100, 64);
	cmp_ok(known(n, 1, 1, 100, 64), "==", 100, "and taken again");
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
