/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes: see text.h.
 * Runs in: every process.
 */
#include <string.h>

#include "base/text.h"

#define DIGITS (TEXT_ESCAPED - 1)

void
text_escape(char out[TEXT_ESCAPED], unsigned char c)
{
	out[0] = '\\';
	out[1] = (char)('0' + (c >> 6));
	out[2] = (char)('0' + (c >> 3 & 7));
	out[3] = (char)('0' + (c & 7));
}

bool
text_octal(const char *digits, size_t left, unsigned char *c)
{
	unsigned int value = 0;
	size_t i;

	if (left < DIGITS)
		return false;
	for (i = 0; i < DIGITS; i++) {
		if (digits[i] < '0' || digits[i] > '7')
			return false;
		value = value * 8 + (unsigned int)(digits[i] - '0');
	}
	if (value > 0377)
		return false;
	*c = (unsigned char)value;
	return true;
}

void
text_unescape(char *text)
{
	char *out = text;
	size_t left = strlen(text);
	unsigned char c;

	while (left > 0) {
		if (*text == '\\' && text_octal(text + 1, left - 1, &c)) {
			*out++ = (char)c;
			text += TEXT_ESCAPED;
			left -= TEXT_ESCAPED;
		} else {
			*out++ = *text++;
			left--;
		}
	}
	*out = '\0';
}
