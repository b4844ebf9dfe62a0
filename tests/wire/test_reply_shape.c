/* SPDX-License-Identifier: ISC */
/*
 * The checker of replies: which replies it accepts and which it refuses.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "reply_shape.h"
#include "tap.h"

/* Behind xid and REPLY: accepted, no verifier, success. */
#define GOOD                                                                   \
	"\0\0\0\0"                                                             \
	"\0\0\0\0"                                                             \
	"\0\0\0\0"                                                             \
	"\0\0\0\0"
#define ONE	  "\0\0\0\1"
#define ZERO	  "\0\0\0\0"
#define ROW(text) text, sizeof(text) - 1

static const struct reply_shape word = { "u", NULL };
static const struct reply_shape text = { "o", NULL };
static const struct reply_shape list = { "*(u?(u))b", NULL };
static const struct reply_shape array = { "#(u)", NULL };
static const struct reply_shape either = { "U", "u" };

/* clang-format off */
static const struct {
	const char *bytes;
	size_t len;
	const struct reply_shape *shape;
	bool whole;
	const char *what;
} rows[] = {
	{ ROW(GOOD ONE), &word, true, "a word" },
	{ ROW(GOOD), &word, false, "no word" },
	{ ROW(GOOD ONE ONE), &word, false, "a word too many" },
	{ ROW(GOOD "\0\0\0"), &word, false, "three bytes" },
	{ ROW(GOOD ONE), NULL, false, "results of an unknown procedure" },
	{ ROW(GOOD ONE "a\0\0\0"), &text, true, "a text" },
	{ ROW(GOOD ONE "a\0\0\1"), &text, false, "dirty padding" },
	{ ROW(GOOD "\0\0\0\5" "abcd"), &text, false, "a text longer than the reply" },
	{ ROW(GOOD ZERO ZERO), &list, true, "an empty list" },
	{ ROW(GOOD ONE ONE ZERO ONE ONE ONE ONE ZERO ONE), &list, true, "a list of two" },
	{ ROW(GOOD ONE ONE ZERO ONE), &list, false, "a list without end" },
	{ ROW(GOOD "\0\0\0\2" ZERO), &list, false, "a boolean of two" },
	{ ROW(GOOD "\0\0\0\2" ONE ONE), &array, true, "an array of two" },
	{ ROW(GOOD "\0\0\0\2" ONE), &array, false, "an array that is cut" },
	{ ROW(GOOD "\xff\xff\xff\xff"), &array, false, "an array of very many" },
	{ ROW(GOOD ZERO ONE ONE), &either, true, "success" },
	{ ROW(GOOD ONE ONE), &either, true, "an error" },
	{ ROW(GOOD ONE ONE ONE), &either, false, "an error with results" },
	{ ROW(ZERO ZERO ZERO ONE), NULL, true, "PROG_UNAVAIL" },
	{ ROW(ZERO ZERO ZERO "\0\0\0\2" ONE ONE), NULL, true, "PROG_MISMATCH" },
	{ ROW(ZERO ZERO ZERO "\0\0\0\2"), NULL, false, "PROG_MISMATCH without versions" },
	{ ROW(ZERO ZERO ZERO "\0\0\0\4" ONE), &word, false, "GARBAGE_ARGS with results" },
	{ ROW(ZERO ZERO ZERO "\0\0\0\6"), NULL, false, "an unknown accept status" },
	{ ROW(ONE ZERO ONE ONE), NULL, true, "RPC_MISMATCH" },
	{ ROW(ONE ONE ONE), NULL, true, "AUTH_ERROR" },
	{ ROW(ONE ONE), NULL, false, "AUTH_ERROR without a reason" },
	{ ROW("\0\0\0\2" ONE), NULL, false, "neither accepted nor denied" },
};
/* clang-format on */

int
main(void)
{
	uint8_t reply[128] = { 0, 0, 0, 7, 0, 0, 0, 1 };
	size_t i;

	plan(nitems(rows) + 7);
	for (i = 0; i < nitems(rows); i++) {
		memcpy(reply + 8, rows[i].bytes, rows[i].len);
		cmp_ok(reply_is_whole(reply, 8 + rows[i].len, rows[i].shape),
		    "==", rows[i].whole, "%s", rows[i].what);
	}
	reply[7] = 0;
	ok(!reply_is_whole(reply, 24, &word), "a call is no reply");
	ok(reply_shape_find(100003, 3, 21) != NULL, "COMMIT has a shape");
	ok(reply_shape_find(100003, 3, 22) == NULL, "the next number has none");
	ok(reply_shape_find(100003, 4, 1) == NULL, "nor has version 4");
	cmp_ok(reply_shape_number(100003, 3, "COMMIT"), "==", 21,
	    "COMMIT by its name");
	cmp_ok(reply_shape_number(100003, 2, "COMMIT"), "==", -1,
	    "version 2 has none");
	cmp_ok(reply_shape_number(100003, 4, "NULL"), "==", -1,
	    "version 4 has no names");
	done_testing();
}
