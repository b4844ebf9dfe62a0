/* SPDX-License-Identifier: ISC */
/*
 * Names that are the same to a person: case, and composed or decomposed
 * characters; and names that are not.
 * Runs in: test program.
 */
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
	{ "\xff", "\xff", "bytes that are no text", true },
	{ "\xff", "\xfe", "other bytes that are none", false },
	{ "\xc3", "\xc3", "half a character", true },
	{ "\xe9", "\xc3\xa9", "Latin-1 is not UTF-8", false },
	{ "\xc0\x80", "\xc0\x80", "zero written too long", true },
	{ "\xc0\x80", "", "which does not end a name", false },
	{ "\xc1\xa1", "a", "a letter written too long", false },
	{ "\xf8\x90\x80\x80", "\xf0\x90\x80\x80", "no such character", false },
};

int
main(void)
{
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(cases); i++) {
		cmp_ok(name_same_folded(cases[i].a, cases[i].b),
		    "==", cases[i].same, "%s", cases[i].what);
		cmp_ok(name_same_folded(cases[i].b, cases[i].a),
		    "==", cases[i].same, "and the other way round");
	}
	done_testing();
}
