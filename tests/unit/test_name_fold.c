/* SPDX-License-Identifier: ISC */
/*
 * Names that fold to the same: case, and composed or decomposed characters; and
 * names that do not.
 * Runs in: test program.
 */
#include <string.h>

#include "base/name.h"
#include "base/util.h"
#include "tap.h"

static const struct {
	const char *a, *b, *what;
	bool same;
} cases[] = {
	{ "PIONEER", "Pioneer", "ASCII in another case", true },
	{ "", "", "nothing and nothing", true },
	{ "a", "", "something and nothing", false },
	{ "a", "ab", "a part", false },
	{ "a", "b", "other letters", false },
	{ "\xc3\xa9", "e\xcc\x81", "e acute composed and decomposed", true },
	{ "\xc3\x89", "e\xcc\x81", "the same in another case", true },
	{ "\xc3\xa9", "e", "with and without the accent", false },
	{ "\xc3\x98", "\xc3\xb8", "O with stroke", true },
	{ "\xe1\xbb\x87", "e\xcc\xa3\xcc\x82", "two marks", true },
	{ "\xce\xa3", "\xcf\x83", "Greek", true },
	{ "\xd0\x96", "\xd0\xb6", "Cyrillic", true },
	{ "\xd0\x99", "\xd0\xb8\xcc\x86", "Cyrillic short i", true },
	{ "\xe3\x82\xac", "\xe3\x82\xab\xe3\x82\x99", "ga is ka and a mark",
	    true },
	{ "\xe3\x82\xac", "\xe3\x82\xab", "ga is not ka", false },
	{ "\xe3\x81\x8b", "\xe3\x82\xab", "hiragana is not katakana", false },
	{ "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8",
	    "Hangul of three", true },
	{ "\xea\xb0\x80", "\xe1\x84\x80\xe1\x85\xa1", "Hangul of two", true },
	{ "\xce\x91\xce\xa3", "\xce\xb1\xcf\x82", "sigma at the end of a word",
	    true },
	{ "\xc3\x9f", "SS", "sharp s", true },
	{ "\xd8\xa2", "\xd8\xa7\xd9\x93", "Arabic alef with madda", true },
	{ "\xd8\xa2", "\xd8\xa7", "which is not alef", false },
	{ "\xd7\xa9\xd6\xbc", "\xef\xad\x89", "Hebrew shin with dagesh", true },
	{ "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc", "Devanagari qa", true },
	{ "\xe1\xb2\x90", "\xe1\x83\x90", "Georgian", true },
	{ "\xe1\x8e\xa0", "\xea\xad\xb0", "Cherokee", true },
	{ "\xf0\x90\x90\x80", "\xf0\x90\x90\xa8", "Deseret, beyond 16 bits",
	    true },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81", "two faces", false },
	{ "\xff", "\xff", "equal bytes that are not UTF-8", true },
	{ "\xff", "\xfe", "different bytes that are not UTF-8", false },
	{ "\xc3", "\xc3", "half a character", true },
	{ "\xe9", "\xc3\xa9", "Latin-1 is not UTF-8", false },
	{ "\xc0\x80", "\xc0\x80", "an overlong zero", true },
	{ "\xc0\x80", "", "an overlong zero does not end a name", false },
	{ "\xc1\xa1", "a", "an overlong letter", false },
	{ "\xf8\x90\x80\x80", "\xf0\x90\x80\x80", "a character beyond Unicode",
	    false },
};

static size_t
put_utf8(char *out, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	out[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0u) | c >> 6 * (n - 1));
	for (i = 1; i < n; i++)
		out[i] = (char)(0x80u | (c >> 6 * (n - 1 - i) & 0x3fu));
	return n;
}

/* Each is itself, with nothing behind it, and no control character. */
static void
test_all(void)
{
	char a[8] = "", b[8] = "";
	unsigned int bad = 0;
	uint32_t c;
	size_t n;

	for (c = 1; c < 0x110000; c++) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		n = put_utf8(a, c);
		a[n] = '\0';
		memcpy(b, a, sizeof(b));
		bad += !name_same_folded(a, b) ||
		    name_same_folded(a, "\x7f") != (c == 0x7f);
		b[n] = 'x';
		b[n + 1] = '\0';
		bad += name_same_folded(a, b);
	}
	cmp_ok(bad, "==", 0, "every character of Unicode");
}

int
main(void)
{
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(cases); i++) {
		cmp_ok(name_same_folded(cases[i].a, cases[i].b),
		    "==", cases[i].same, "%s", cases[i].what);
		cmp_ok(name_same_folded(cases[i].b, cases[i].a),
		    "==", cases[i].same, "the same in the other order");
	}
	test_all();
	done_testing();
}
