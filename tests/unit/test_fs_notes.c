/* SPDX-License-Identifier: ISC */
/*
 * Handles without descriptors: when they are believed.
 * Runs in: tests.
 */
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
	struct fs_notes *n = fs_notes_new();
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

int
main(void)
{
	plan(NO_PLAN);
	notes();
	fs_notes_free(NULL);
	done_testing();
}
