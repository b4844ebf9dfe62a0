/* SPDX-License-Identifier: ISC */
/*
 * Names: what can be converted comes back the same, both ways round.
 * Runs in: fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char utf8[2048];
	uint8_t utf16[2048];
	size_t n, back;

	(void)name_check(data, len);
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
