/* SPDX-License-Identifier: ISC */
/*
 * Names. A name that can be converted must be the same after both conversions.
 * Folding must be reflexive and symmetric.
 * Runs in: fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Compares the two halves of the input as names. */
static void
compare(const uint8_t *data, size_t len)
{
	char a[NAME_UTF8_MAX + 1] = "", b[NAME_UTF8_MAX + 1] = "";

	if (len / 2 > NAME_UTF8_MAX)
		return;
	memcpy(a, data, len / 2);
	memcpy(b, data + len / 2, len / 2);
	if (!name_same_folded(a, a) ||
	    name_same_folded(a, b) != name_same_folded(b, a))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char utf8[2048];
	uint8_t utf16[2048];
	size_t n, back;

	(void)name_check(data, len);
	compare(data, len);
	if (len > sizeof(utf8) / 3)
		return 0;
	if (name_from_utf16(utf8, sizeof(utf8), &n, data, len) &&
	    (!name_to_utf16(utf16, sizeof(utf16), &back, utf8, n) ||
		back != len || memcmp(utf16, data, len) != 0))
		abort();
	memcpy(utf8, data, len);
	if (name_to_utf16(utf16, sizeof(utf16), &n, utf8, len) &&
	    (!name_from_utf16(utf8, sizeof(utf8), &back, utf16, n) ||
		back != len || memcmp(utf8, data, len) != 0))
		abort();
	return 0;
}
