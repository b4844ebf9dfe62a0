/* SPDX-License-Identifier: ISC */
/*
 * Which stream of a directory a listing gets. The numbers are no descriptors:
 * nothing here opens or closes one.
 * Runs in: tests.
 */
#include "nfsd/door/cache_dir.h"
#include "tap.h"

static const struct timespec then = { 5, 0 }, later = { 6, 0 };

static void
one_stream(void)
{
	struct cache_dir d;
	uint64_t at = 0;

	cache_dir_init(&d);
	ok(cache_dir_lend(&d, 0, &at) == -1, "a new directory has no stream");
	ok(cache_dir_return(&d, 10, 100), "one that was opened is kept");
	ok(cache_dir_lend(&d, 100, &at) == 10 && at == 100,
	    "the listing that goes on where it stands gets it");
	ok(cache_dir_lend(&d, 100, &at) == -1, "one listing only");
	ok(!cache_dir_return(&d, -1, 0), "a loan may end without a stream");
	ok(cache_dir_return(&d, 10, 100), "or with the one it had");
	ok(cache_dir_lend(&d, 200, &at) == -1,
	    "another listing gets one of its own");
	ok(cache_dir_return(&d, 11, CACHE_ANYWHERE), "and is over");
	ok(cache_dir_lend(&d, 300, &at) == 11,
	    "a stream that no listing comes back to is used first");
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
	ok(!cache_dir_return(&d, 99, 9), "one too many is not kept");
	ok(cache_dir_lend(&d, 101, &at) == 21 && at == 101,
	    "of several the right one");
	(void)cache_dir_return(&d, 21, 101);
	ok(cache_dir_lend(&d, 7, &at) != -1 && at != 7,
	    "if there may be no more, any will do");
	(void)cache_dir_return(&d, 30, 7);
	for (i = 0; i < CACHE_STREAMS; i++)
		if ((fd[i] = cache_dir_lend(&d, 7, &at)) != -1)
			seen++;
	cmp_ok(seen, "==", CACHE_STREAMS, "each is lent once");
	ok(cache_dir_lend(&d, 7, &at) == -1, "then a new one is needed");
}

static void
changes(void)
{
	struct cache_dir d;
	int fds[CACHE_STREAMS];
	uint64_t at = 0;

	cache_dir_init(&d);
	cmp_ok(cache_dir_change(&d, &then, fds), "==", 0, "nothing to close");
	(void)cache_dir_lend(&d, 0, &at);
	(void)cache_dir_lend(&d, 0, &at);
	(void)cache_dir_return(&d, 10, 1);
	cmp_ok(cache_dir_change(&d, &then, fds), "==", 0,
	    "under the same ctime streams stay");
	ok(cache_dir_change(&d, &later, fds) == 1 && fds[0] == 10,
	    "after a change they are handed out to be closed");
	(void)cache_dir_return(&d, 11, 2);
	ok(cache_dir_empty(&d, fds) == 1 && fds[0] == 11 &&
		cache_dir_empty(&d, fds) == 0,
	    "and all of them at the end, once");
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
