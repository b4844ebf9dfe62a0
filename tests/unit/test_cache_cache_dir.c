/* SPDX-License-Identifier: ISC */
/*
 * Which stream of a directory a listing gets. The test opens no descriptors:
 * the numbers are invented.
 * Runs in: tests.
 */
#include "nfsd/cache/cache_dir.h"
#include "tap.h"

static const struct timespec then = { 5, 0 }, later = { 6, 0 };

static void
one_stream(void)
{
	struct cache_dir d;
	uint64_t at = 0;

	cache_dir_init(&d);
	ok(cache_dir_lend(&d, 0, &at) == -1, "a new directory has no stream");
	ok(cache_dir_return(&d, 10, 100), "a returned stream is kept");
	ok(cache_dir_lend(&d, 100, &at) == 10 && at == 100,
	    "a listing that continues at its position gets it");
	ok(cache_dir_lend(&d, 100, &at) == -1,
	    "a stream is lent to one listing at a time");
	ok(!cache_dir_return(&d, -1, 0), "a loan can end without a stream");
	ok(cache_dir_return(&d, 10, 100), "a loan can end with its stream");
	ok(cache_dir_lend(&d, 200, &at) == -1,
	    "a listing at another position does not get it");
	ok(cache_dir_return(&d, 11, CACHE_ANYWHERE),
	    "a stream whose listing has ended is kept");
	ok(cache_dir_lend(&d, 300, &at) == 11, "it serves any position");
}

static void
all_streams(void)
{
	struct cache_dir d;
	uint64_t at = 0;
	int i, fd[CACHE_STREAMS], seen = 0;

	cache_dir_init(&d);
	for (i = 0; i <= CACHE_STREAMS; i++)
		(void)cache_dir_lend(&d, 0, &at);
	for (i = 0; i < CACHE_STREAMS; i++)
		(void)cache_dir_return(&d, 20 + i, 100 + (uint64_t)i);
	ok(!cache_dir_return(&d, 99, 9),
	    "a stream beyond the limit is not kept");
	ok(cache_dir_lend(&d, 101, &at) == 21 && at == 101,
	    "a listing gets the stream at its position");
	(void)cache_dir_return(&d, 21, 101);
	ok(cache_dir_lend(&d, 7, &at) != -1 && at != 7,
	    "at the limit any stream is lent");
	(void)cache_dir_return(&d, 30, 7);
	for (i = 0; i < CACHE_STREAMS; i++)
		if ((fd[i] = cache_dir_lend(&d, 7, &at)) != -1)
			seen++;
	cmp_ok(seen, "==", CACHE_STREAMS, "each stream is lent once");
	ok(cache_dir_lend(&d, 7, &at) == -1, "none is lent if all are in use");
}

static void
changes(void)
{
	struct cache_dir d;
	int fds[CACHE_STREAMS];
	uint64_t at = 0;

	cache_dir_init(&d);
	cmp_ok(cache_dir_change(&d, &then, fds), "==", 0,
	    "a directory without streams has none to close");
	(void)cache_dir_lend(&d, 0, &at);
	(void)cache_dir_lend(&d, 0, &at);
	(void)cache_dir_return(&d, 10, 1);
	cmp_ok(cache_dir_change(&d, &then, fds), "==", 0,
	    "streams stay under the same ctime");
	ok(cache_dir_change(&d, &later, fds) == 1 && fds[0] == 10,
	    "another ctime returns them to be closed");
	(void)cache_dir_return(&d, 11, 2);
	ok(cache_dir_empty(&d, fds) == 1 && fds[0] == 11 &&
		cache_dir_empty(&d, fds) == 0,
	    "the end returns all streams once");
}

int
main(void)
{
	plan(NO_PLAN);
	one_stream();
	all_streams();
	changes();
	done_testing();
}
