/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes: encoding and decoding. Misspelt words.
 * Runs in: test program.
 */
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "tap.h"

static const struct {
	const char *in, *out, *what;
} cases[] = {
	{ "", "", "nothing" },
	{ "/srv", "/srv", "text without escapes" },
	{ "my\\040files", "my files", "a blank" },
	{ "\\011\\012\\134", "\t\n\\", "tab, newline, backslash" },
	{ "\\1340", "\\0", "a digit behind an escape is not part of it" },
	{ "\\377", "\377", "the last byte" },
	{ "\\400", "\\400", "a number beyond a byte" },
	{ "\\04", "\\04", "two digits are no escape" },
	{ "\\", "\\", "a backslash at the end" },
	{ "\\089", "\\089", "no octal digits" },
};

static const char *const known[] = { "rw", "ro", "all_squash", "dump-all",
	"a-word-that-is-longer-than-thirty-two-letters" };

static const struct {
	const char *word, *best;
} misspelt[] = {
	{ "rww", "rw" },
	{ "all-squash", "all_squash" },
	{ "dumpall", "dump-all" },
	{ "dumpalll", "dump-all" },
	{ "xy", NULL },
	{ "", NULL },
	{ "unlike-all-of-them", NULL },
	{ "a-word-that-is-longer-than-thirty-two-letter", NULL },
};

static void
test_near(void)
{
	size_t i, j;

	for (i = 0; i < nitems(misspelt); i++) {
		struct text_near near = { .word = misspelt[i].word,
			.len = strlen(misspelt[i].word) };

		for (j = 0; j < nitems(known); j++)
			text_near(&near, known[j]);
		is(near.best, misspelt[i].best, "nearest to \"%s\"",
		    misspelt[i].word);
	}
}

int
main(void)
{
	char text[64], escape[TEXT_ESCAPED + 1] = "";
	unsigned int c, bad = 0;
	unsigned char back;
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(cases); i++) {
		(void)strlcpy(text, cases[i].in, sizeof(text));
		text_unescape(text);
		is(text, cases[i].out, "%s", cases[i].what);
	}
	for (c = 0; c <= UINT8_MAX; c++) {
		text_escape(escape, (unsigned char)c);
		bad += escape[0] != '\\' ||
		    !text_octal(escape + 1, strlen(escape + 1), &back) ||
		    back != c;
	}
	cmp_ok(bad, "==", 0, "every byte survives both conversions");
	ok(!text_octal("1234", 2, &back), "no digit is read beyond the end");
	test_near();
	done_testing();
}
