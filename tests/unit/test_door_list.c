/* SPDX-License-Identifier: ISC */
/*
 * Listings: streams that go on, and cached ones: keys, expiry and bounds.
 * Runs in: tests.
 */
#include <dirent.h>
#include <err.h>
#include <string.h>
#include <unistd.h>

#include "door_call.h"
#include "door_fixture.h"
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

/* Until a change of the directory would show in its ctime. */
static void
open_settled(struct door_call *c, struct door_obj *dir)
{
	for (;;) {
		if (door_open(&c->ctx, &c->root, DOOR_DIR | DOOR_LIST, dir) !=
		    NFS_OK)
			errx(1, "the directory does not open");
		if (dir->settled)
			return;
		door_close(dir);
		usleep(1000);
	}
}

/* Reads some entries of a listing; where it stands then. */
static uint64_t
read_some(const struct door_list *list)
{
	_Alignas(struct dirent64) uint8_t entries[64];

	if (getdents64(list->fd, entries, sizeof(entries)) <= 0)
		err(1, "getdents64");
	return (uint64_t)lseek(list->fd, 0, SEEK_CUR);
}

/* A listing that goes on gets the stream of the one before. */
static void
streams(struct door_call *c)
{
	struct door_list list;
	struct door_obj dir;
	uint64_t at;

	open_settled(c, &dir);
	ok(door_list_open(&c->ctx, &dir, 0, &list) == NFS_OK && list.at == 0,
	    "a listing begins at the start");
	list.resume = at = read_some(&list);
	door_list_close(&list);
	(void)door_list_open(&c->ctx, &dir, at, &list);
	ok(list.at == at && lseek(list.fd, 0, SEEK_CUR) == (off_t)at,
	    "the next one goes on where it ended, without a seek");
	door_list_close(&list);
	door_close(&dir);
	fixture_file("more", "", 0644);
	open_settled(c, &dir);
	(void)door_list_open(&c->ctx, &dir, at, &list);
	ok(list.at == 0 && lseek(list.fd, 0, SEEK_CUR) == 0,
	    "after a change it gets a new stream");
	door_list_close(&list);
	door_close(&dir);
}

static void
memory(struct door_call *c)
{
	const struct door_list_ask ask = { .cookie = 1, .room = 100 };
	struct door_obj dir;
	bool eof = false;
	size_t len = 0;

	open_settled(c, &dir);
	ok(!door_list_recall(&dir, &ask, buf, &len, &eof), "nothing at first");
	door_list_remember(&dir, &ask, (const uint8_t *)"abc", 3, true);
	skip(!dir.export->local_metadata, 1, "a filesystem whose times lie");
	ok(door_list_recall(&dir, &ask, buf, &len, &eof) && len == 3 && eof,
	    "what was remembered is recalled");
	end_skip;
	fixture_file("one more", "", 0644);
	ok(!door_list_unchanged(&dir), "a change is seen");
	door_list_remember(&dir, &ask, (const uint8_t *)"abcd", 4, true);
	door_close(&dir);
	open_settled(c, &dir);
	ok(!door_list_recall(&dir, &ask, buf, &len, &eof),
	    "and ends what was remembered; nothing new was");
	dir.settled = false;
	door_list_remember(&dir, &ask, (const uint8_t *)"abcd", 4, true);
	ok(!door_list_recall(&dir, &ask, buf, &len, &eof),
	    "without a settled ctime nothing is remembered");
	door_close(&dir);
}

static void
through_the_door(void)
{
	struct door_call c;

	fixture_file("a", "", 0644);
	fixture_file("b", "", 0644);
	fixture_file("c", "", 0644);
	door_call_init(&c, "rw,no_root_squash");
	streams(&c);
	memory(&c);
	door_call_clear(&c);
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
	through_the_door();
	done_testing();
}
