/* SPDX-License-Identifier: ISC */
/*
 * Names: single components of a path; strict UTF-16LE and UTF-8.
 * Runs in: tests.
 */
#include <string.h>

#include "base/name.h"
#include "tap.h"

static void
test_check(void)
{
	char longest[NAME_UTF8_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	cmp_ok(name_check("file", 4), "==", NAME_OK, "an ordinary name");
	cmp_ok(name_check("", 0), "==", NAME_BAD, "the empty name");
	cmp_ok(name_check(".", 1), "==", NAME_DOT, "dot");
	cmp_ok(name_check("..", 2), "==", NAME_DOTDOT, "dot dot");
	cmp_ok(name_check("...", 3), "==", NAME_OK, "three dots are a name");
	cmp_ok(name_check(".x", 2), "==", NAME_OK, "a hidden file");
	cmp_ok(name_check("a/b", 3), "==", NAME_BAD, "a slash");
	cmp_ok(name_check("a\0b", 3), "==", NAME_BAD, "a NUL inside");
	cmp_ok(name_check("a\0", 2), "==", NAME_BAD, "a NUL at the end");
	cmp_ok(name_check("\xff\x80\n", 3), "==", NAME_OK,
	    "any other byte is a name");
	cmp_ok(name_check(longest, 255), "==", NAME_OK, "255 bytes");
	cmp_ok(name_check(longest, 256), "==", NAME_LONG, "256 bytes");
}

struct row {
	const char *what;
	const char *utf16;
	size_t utf16_len;
	const char *utf8; /* NULL: refused */
};

static void
test_from_utf16(void)
{
	static const struct row rows[] = {
		{ "ASCII", "C\0o\0", 4, "Co" },
		{ "nothing", "", 0, "" },
		{ "a dingbat", "\x42\x27", 2, "\xe2\x9d\x82" },
		{ "katakana", "\xab\x30\xac\x30\xdf\x30", 6,
		    "\xe3\x82\xab\xe3\x82\xac\xe3\x83\x9f" },
		{ "two bytes", "\xff\x07\x80\x00", 4, "\xdf\xbf\xc2\x80" },
		{ "a surrogate pair", "\x3d\xd8\x00\xde", 4,
		    "\xf0\x9f\x98\x80" },
		{ "the last character", "\xff\xdb\xff\xdf", 4,
		    "\xf4\x8f\xbf\xbf" },
		{ "an odd length", "C\0o", 3, NULL },
		{ "a high surrogate alone", "\x3d\xd8", 2, NULL },
		{ "a high surrogate before a letter",
		    "\x3d\xd8"
		    "a\0",
		    4, NULL },
		{ "a low surrogate alone", "\x00\xde", 2, NULL },
		{ "a pair in the wrong order", "\x00\xde\x3d\xd8", 4, NULL },
	};
	char out[64];
	size_t i, len;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		len = 99;
		out[0] = '!';
		if (!name_from_utf16(out, sizeof(out), &len,
			(const uint8_t *)rows[i].utf16, rows[i].utf16_len)) {
			ok(rows[i].utf8 == NULL && len == 99 && out[0] == '!',
			    "%s: refused, nothing written", rows[i].what);
			continue;
		}
		ok(rows[i].utf8 != NULL && len == strlen(rows[i].utf8) &&
			memcmp(out, rows[i].utf8, len) == 0,
		    "%s", rows[i].what);
	}
	ok(!name_from_utf16(out, 2, &len, (const uint8_t *)"\x42\x27", 2),
	    "a result that does not fit");
	ok(name_from_utf16(out, 3, &len, (const uint8_t *)"\x42\x27", 2),
	    "a result that just fits");
	ok(name_from_utf16(out, 3, &len, (const uint8_t *)"a\0\0\0b\0", 6) &&
		len == 3 && memcmp(out, "a\0b", 3) == 0,
	    "NUL stays NUL, for name_check() to refuse");
}

static void
test_to_utf16(void)
{
	static const struct {
		const char *what, *utf8;
		size_t len;
	} bad[] = {
		{ "a lone continuation", "\x80", 1 },
		{ "an overlong slash", "\xc0\xaf", 2 },
		{ "an overlong slash of three", "\xe0\x80\xaf", 3 },
		{ "an overlong slash of four", "\xf0\x80\x80\xaf", 4 },
		{ "a coded surrogate", "\xed\xa0\x80", 3 },
		{ "beyond the last character", "\xf4\x90\x80\x80", 4 },
		{ "five bytes", "\xf8\x88\x80\x80\x80", 5 },
		{ "a truncated character", "\xe3\x82", 2 },
		{ "Latin-1", "caf\xe9", 4 },
		{ "Latin-1 inside", "\xe9t\xe9", 3 },
	};
	uint8_t out[NAME_UTF16_MAX];
	char text[NAME_UTF16_UNITS + 1];
	size_t i, len = 99;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!name_to_utf16(out, sizeof(out), &len, bad[i].utf8,
		       bad[i].len) &&
			len == 99,
		    "%s: refused", bad[i].what);
	memset(text, 'x', sizeof(text));
	ok(name_to_utf16(out, sizeof(out), &len, text, NAME_UTF16_UNITS) &&
		len == NAME_UTF16_MAX,
	    "255 units are 510 bytes");
	ok(!name_to_utf16(out, sizeof(out), &len, text, NAME_UTF16_UNITS + 1),
	    "256 do not fit");
}

/* Every character survives the conversion to UTF-16LE and back. */
static void
test_all_characters(void)
{
	uint8_t in[4], back[4];
	char utf8[8];
	size_t len, u8len, backlen;
	uint32_t c, bad;

	bad = 0;
	for (c = 0; c <= 0x10ffff; c++) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		len = c < 0x10000 ? 2 : 4;
		in[0] = (uint8_t)c;
		in[1] = (uint8_t)(c >> 8);
		if (len == 4) {
			in[0] = (uint8_t)((c - 0x10000) >> 10);
			in[1] = (uint8_t)(0xd8 | (c - 0x10000) >> 18);
			in[2] = (uint8_t)c;
			in[3] = (uint8_t)(0xdc | (c >> 8 & 3));
		}
		if (!name_from_utf16(utf8, sizeof(utf8), &u8len, in, len) ||
		    !name_to_utf16(back, sizeof(back), &backlen, utf8, u8len) ||
		    backlen != len || memcmp(in, back, len) != 0)
			bad++;
	}
	cmp_ok(bad, "==", 0, "every character survives both conversions");
}

int
main(void)
{
	plan(NO_PLAN);
	test_check();
	test_from_utf16();
	test_to_utf16();
	test_all_characters();
	done_testing();
}
