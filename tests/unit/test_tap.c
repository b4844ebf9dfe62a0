/* SPDX-License-Identifier: ISC */
/*
 * The test library itself: which results it counts as failures.
 * Runs in: test program.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"

int
main(void)
{
	const char *none = NULL;

	plan(NO_PLAN);
	ok(1, "ok takes a truth");
	ok("x" != NULL, "and any scalar");
	is("a", "a", "equal strings are equal");
	is(none, none, "so are two NULLs");
	isnt("a", "b", "different strings differ");
	isnt("a", none, "a string is not NULL");
	cmp_ok(1, "<", 2, "integers compare");
	cmp_ok(0xffffffffU, "==", 0xffffffffU, "unsigned stays unsigned");
	cmp_ok(6, "&", 2, "bits can be asked for");
	cmp_mem("abc", "abd", 2, "memory compares up to the length");
	like("stale file handle", "^stale .*handle$", "regex matches");
	unlike("fresh", "stale", "regex does not match");
	pass("%s", "a name is a format");
	skip(1, 1, "a skip counts as one test")
	{
		fail("not reached");
	}
	end_skip;
	todo("a todo may fail");
	ok(0, "fails without harm");
	end_todo;
	dies_ok(abort(), "abort is death");
	lives_ok((void)strlen("x"), "a return is not");
	dies_ok(exit(3), "a non-zero exit is death");
	done_testing();
}
