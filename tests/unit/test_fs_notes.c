/* SPDX-License-Identifier: ISC */
/*
 * Handles without descriptors: when they are believed.
 * Runs in: tests.
 */
#include <stdio.h>
#include <string.h>

#include "fs_notes.h"
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
	struct fs_notes *n = fs_notes_new(0);
	struct timespec born = { 1000, 5 }, other = { 1000, 6 };
	struct timespec later = { 2000, 0 }, now = { 1000, 9 };
	struct fh fh = handle(9), out;

	fs_notes_add(n, 1, false, 1, 9, &born, &now, &fh);
	ok(!fs_notes_find(n, 1, 7, false, 1, 9, &born, &out),
	    "a file born just now is not noted");
	fs_notes_add(n, 1, false, 1, 9, &born, &later, &fh);
	ok(fs_notes_find(n, 1, 7, false, 1, 9, &born, &out) &&
		memcmp(&out, &fh, sizeof(fh)) == 0,
	    "an older one is, without a descriptor");
	ok(!fs_notes_find(n, 1, 7, false, 1, 9, &other, &out),
	    "a new file with the same number is not taken for it");
	ok(!fs_notes_find(n, 2, 7, false, 1, 9, &born, &out),
	    "nor is it believed under other exports");
	fs_notes_free(n);
}

/* How many of the files first, first + 1, ... are known. */
static uint32_t
known(struct fs_notes *n, ino_t first, uint32_t count, uint32_t dev)
{
	struct timespec born = { 1000, 5 };
	uint32_t i, hits = 0;
	struct fh fh, want;

	for (i = 0; i < count; i++) {
		want = handle((uint32_t)(first + i));
		if (fs_notes_find(n, 1, 7, false, dev, first + i, &born, &fh))
			hits += memcmp(&fh, &want, sizeof(fh)) == 0;
	}
	return hits;
}

/* In an order of no meaning, as names have none. */
static void
note_all(struct fs_notes *n, ino_t first, uint32_t count, uint32_t dev)
{
	struct timespec born = { 1000, 5 }, later = { 2000, 0 };
	struct fh fh;
	uint32_t i;
	ino_t ino;

	for (i = 0; i < count; i++) {
		ino = first + (uint64_t)i * 7919 % count;
		fh = handle((uint32_t)ino);
		fs_notes_add(n, 1, false, dev, ino, &born, &later, &fh);
	}
}

/* Resident memory in pages. */
static long
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all, pages = -1;

	if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2)
		pages = -1;
	if (f != NULL)
		fclose(f);
	return pages;
}

#define MANY ((uint32_t)FS_NOTES_MAX / 2)

static void
many(void)
{
	struct fs_notes *n = fs_notes_new(FS_NOTES_MAX);
	long before = resident(), few, all;

	note_all(n, 11, 1000, 1);
	few = resident();
	cmp_ok(few - before, "<", 1000, "a few notes take little memory");
	note_all(n, 1011, MANY, 1);
	all = resident();
	cmp_ok(known(n, 1011, MANY, 1), "==", MANY,
	    "half of the room: all are known");
	cmp_ok(known(n, 11, 1000, 1), "==", 1000, "the first ones too");
	cmp_ok(known(n, 1011, 1000, 2), "==", 0,
	    "those of another device are not");
	/* What lies far away has its own place, or shares with few. */
	note_all(n, (ino_t)7 << 32, 100000, 1);
	cmp_ok(known(n, (ino_t)7 << 32, 100000, 1), "==", 100000,
	    "numbers far away");
	cmp_ok(known(n, 1011, MANY, 1), ">", MANY / 2,
	    "most of the others stay");
	note_all(n, 11, 2 * (uint32_t)FS_NOTES_MAX, 3);
	cmp_ok(known(n, 11, 2 * (uint32_t)FS_NOTES_MAX, 3), ">",
	    FS_NOTES_MAX * 3 / 4, "more than fit: most of the room is used");
	fs_notes_free(n);
	cmp_ok(all - before, ">", 1000, "many took more");
}

static void
rest(void)
{
	struct fs_notes *n = fs_notes_new(FS_NOTES_MAX);
	int i;

	fs_notes_rest(n);
	note_all(n, 1, 100000, 1);
	for (i = 0; i < FS_NOTES_REST_S; i++)
		fs_notes_rest(n);
	cmp_ok(known(n, 1, 1, 1), "==", 1, "kept for a while");
	for (i = 0; i < FS_NOTES_REST_S; i++)
		fs_notes_rest(n);
	cmp_ok(known(n, 1, 100000, 1), "==", 100000,
	    "longer when they are used");
	for (i = 0; i <= FS_NOTES_REST_S; i++)
		fs_notes_rest(n);
	cmp_ok(known(n, 1, 100000, 1), "==", 0,
	    "then the memory is given back");
	note_all(n, 1, 100, 1);
	cmp_ok(known(n, 1, 100, 1), "==", 100, "and taken again");
	fs_notes_free(n);
}

int
main(void)
{
	plan(NO_PLAN);
	notes();
	many();
	rest();
	fs_notes_free(NULL);
	done_testing();
}
