/* SPDX-License-Identifier: ISC */
/*
 * Cached listings: keys, expiry and bounds.
 * Runs in: tests.
 */
#include <string.h>

#include "nfsd/door/list.h"
#include "tap.h"

#define NOW 500

static struct listings *all;
static uint8_t buf[LISTING_BYTES + 1];

static struct listing_key
key(uint64_t cookie)
{
	struct listing_key q = { .dir = { { 0x41, 1, 0, 7 } },
		.generation = 1,
		.ctime = { 1000, 5 },
		.ask = { .cookie = cookie,
		    .room = 4096,
		    .dir_room = 512,
		    .plus = true } };

	return q;
}

static bool
knows(const struct listing_key *q)
{
	size_t len = 0;
	bool eof;

	memset(buf, 0, sizeof(buf));
	return listings_find(all, q, NOW, buf, &len, &eof);
}

static void
answers(void)
{
	struct listing_key q = key(7), other;
	size_t len = 0;
	bool eof = false;

	ok(!knows(&q), "an empty cache misses");
	listings_add(all, &q, NOW, (const uint8_t *)"abc", 3, true);
	ok(listings_find(all, &q, NOW, buf, &len, &eof) && len == 3 && eof &&
		memcmp(buf, "abc", 3) == 0,
	    "a listing is found again");
	other = q;
	other.ctime.tv_nsec++;
	ok(!knows(&other), "another ctime of the directory is a miss");
	listings_add(all, &other, NOW, (const uint8_t *)"xy", 2, false);
	ok(listings_find(all, &other, NOW, buf, &len, &eof) && len == 2 && !eof,
	    "the listing after the change is found");
	ok(!knows(&q), "it has replaced the old one");
	ok(listings_find(all, &other, NOW + LISTING_S - 1, buf, &len, &eof),
	    "a listing is a hit until it expires");
	ok(!listings_find(all, &other, NOW + LISTING_S, buf, &len, &eof),
	    "an expired listing is a miss");
}

static void
keys(void)
{
	struct listing_key q = key(9), other[] = { q, q, q, q };
	unsigned int i, known = 0;

	listings_add(all, &q, NOW, buf, 8, false);
	other[0].ask.room++;
	other[1].ask.dir_room++;
	other[2].ask.plus = false;
	other[3].generation++;
	for (i = 0; i < 4; i++)
		known += knows(&other[i]);
	for (i = 1; i <= 255; i++) { /* some share a set */
		other[0] = other[1] = other[2] = q;
		other[0].dir.bytes[8] = (uint8_t)i;
		other[1].dir.bytes[31] = (uint8_t)i;
		other[2].ask.cookie += i;
		known +=
		    knows(&other[0]) || knows(&other[1]) || knows(&other[2]);
	}
	cmp_ok(known, "==", 0, "any other key is a miss");
}

static void
bounds(void)
{
	struct listing_key q = key(1);
	unsigned int i, known = 0;

	listings_add(all, &q, NOW, buf, sizeof(buf), false);
	ok(!knows(&q), "a listing that is too long is not cached");
	for (i = 0; i < 10 * LISTINGS_MAX; i++) {
		q = key(100 + i);
		listings_add(all, &q, NOW, buf, LISTING_BYTES, false);
	}
	ok(knows(&q), "the last of many is a hit");
	for (i = 0; i < 10 * LISTINGS_MAX; i++) {
		q = key(100 + i);
		known += knows(&q);
	}
	cmp_ok(known, "<=", LISTINGS_MAX, "the number of listings is bounded");
	cmp_ok(known, ">", LISTINGS_MAX / 2, "most of the room is used");
}

int
main(void)
{
	plan(NO_PLAN);
	all = listings_new();
	answers();
	keys();
	bounds();
	listings_free(all);
	listings_free(NULL);
	done_testing();
}
