/* SPDX-License-Identifier: ISC */
/*
 * Answers of directories: to which question, under which time, how many.
 * Runs in: tests.
 */
#include <string.h>

#include "fs_listings.h"
#include "tap.h"

static struct fs_listings *all;
static uint8_t buf[FS_LISTING_BYTES + 1];

static struct fs_question
question(uint64_t cookie)
{
	struct fs_question q = { .dev = 1,
		.ino = 2,
		.ctime = { 1000, 5 },
		.cookie = cookie,
		.room = 4096,
		.dir_room = 512,
		.plus = true };

	return q;
}

static bool
knows(const struct fs_question *q)
{
	size_t len = 0;
	bool eof;

	memset(buf, 0, sizeof(buf));
	return fs_listings_find(all, q, buf, &len, &eof);
}

static void
answers(void)
{
	struct fs_question q = question(7), other;
	size_t len = 0;
	bool eof = false;

	ok(!knows(&q), "nothing is known at first");
	fs_listings_add(all, &q, (const uint8_t *)"abc", 3, true);
	ok(fs_listings_find(all, &q, buf, &len, &eof) && len == 3 && eof &&
		memcmp(buf, "abc", 3) == 0,
	    "the answer comes back");
	other = q;
	other.ctime.tv_nsec++;
	ok(!knows(&other), "not when the directory has changed");
	fs_listings_add(all, &other, (const uint8_t *)"xy", 2, false);
	ok(fs_listings_find(all, &other, buf, &len, &eof) && len == 2 && !eof,
	    "its new answer does");
	ok(!knows(&q), "and took the place of the old one");
}

static void
questions(void)
{
	struct fs_question q = question(9), other[] = { q, q, q, q, q, q, q };
	unsigned int i, known = 0;

	other[0].dev++;
	other[1].ino++;
	other[2].cookie++;
	other[3].room++;
	other[4].dir_room++;
	other[5].plus = false;
	other[6].utf16 = true;
	fs_listings_add(all, &q, buf, 8, false);
	for (i = 0; i < 7; i++)
		known += knows(&other[i]);
	cmp_ok(known, "==", 0, "no other question has that answer");
}

static void
bounds(void)
{
	struct fs_question q = question(1);
	unsigned int i, known = 0;

	fs_listings_add(all, &q, buf, sizeof(buf), false);
	ok(!knows(&q), "a long answer is not kept");
	for (i = 0; i < 10 * FS_LISTINGS_MAX; i++) {
		q = question(100 + i);
		fs_listings_add(all, &q, buf, FS_LISTING_BYTES, false);
	}
	ok(knows(&q), "the last of many is");
	for (i = 0; i < 10 * FS_LISTINGS_MAX; i++) {
		q = question(100 + i);
		known += knows(&q);
	}
	cmp_ok(known, "<=", FS_LISTINGS_MAX, "others had to go for it");
}

int
main(void)
{
	plan(NO_PLAN);
	all = fs_listings_new();
	answers();
	questions();
	bounds();
	fs_listings_free(all);
	fs_listings_free(NULL);
	done_testing();
}
