/* SPDX-License-Identifier: ISC */
/*
 * Cached rights: of which callers, for which rights, until when.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "nfsd/door/state.h"
#include "tap.h"

static struct cache_entry *
some_entry(struct cache *c)
{
	const struct fh fh = { { 0x41, 1, 0, 7 } };
	const struct stat st = { .st_dev = 1, .st_ino = 7 };

	return cache_add(c, &fh, 1, &st, open("/dev/null", O_PATH | O_CLOEXEC),
	    CACHE_SLOT_PATH, 0);
}

static void
remembering(void)
{
	struct cache *c = cache_new(16);
	struct cache_entry *e = some_entry(c);
	struct timespec t = { 10, 0 }, changed = { 11, 0 };
	int granted = -1;

	ok(!rights_find(c, e, 1, &t, R_OK, &granted), "an empty cache misses");
	rights_add(c, e, 1, &t, R_OK | W_OK, R_OK);
	ok(rights_find(c, e, 1, &t, R_OK | W_OK, &granted) && granted == R_OK,
	    "granted and refused rights are both a hit");
	ok(!rights_find(c, e, 1, &t, X_OK, &granted),
	    "a right that was not asked for is a miss");
	ok(!rights_find(c, e, 1, &changed, R_OK, &granted),
	    "another ctime of the file is a miss");
	ok(!rights_find(c, e, 2, &t, R_OK, &granted),
	    "another caller is a miss");
	rights_add(c, e, 1, &t, X_OK, X_OK);
	ok(rights_find(c, e, 1, &t, R_OK | X_OK, &granted) &&
		granted == (R_OK | X_OK),
	    "rights of later questions are added");
	rights_add(c, e, 2, &t, R_OK, 0);
	rights_add(c, e, 3, &t, R_OK, 0);
	ok(!rights_find(c, e, 1, &t, R_OK, &granted) &&
		rights_find(c, e, 3, &t, R_OK, &granted),
	    "the last two callers are a hit");
	cache_release(c, e);
	cache_free(c);
}

/* A recent ctime is not settled: another change could leave it the same. */
static void
settling(void)
{
	struct timespec t = clock_wall();

	ok(!door_settled(&t), "the current time as ctime is not settled");
	t.tv_nsec = 0;
	ok(!door_settled(&t),
	    "a ctime of whole seconds is not settled for two seconds");
	t.tv_sec -= 3;
	ok(door_settled(&t), "it is settled after that");
	t = clock_wall();
	t.tv_sec -= 1;
	t.tv_nsec |= 1;
	ok(door_settled(&t),
	    "a ctime with nanoseconds is settled after a second");
	t.tv_sec += 100;
	ok(!door_settled(&t), "a ctime in the future is not settled");
}

int
main(void)
{
	plan(NO_PLAN);
	remembering();
	settling();
	done_testing();
}
