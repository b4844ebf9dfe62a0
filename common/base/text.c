/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes and misspelt words: see text.h.
 * Runs in: every process.
 */
#include <string.h>

#include "base/text.h"

#define DIGITS	    (TEXT_ESCAPED - 1)
#define NEAR_ENOUGH 3 /* letters that may differ in a suggestion */

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

/* A dash and an underscore count as equal, because they are often confused. */
static bool
same_letter(char a, char b)
{
	return (a == '-' ? '_' : a) == (b == '-' ? '_' : b);
}

/* Returns the number of edits (change, insert, delete) between two words. */
static unsigned int
distance(const char *a, size_t alen, const char *b)
{
	unsigned int row[TEXT_WORD_MAX + 1], diagonal, above, best;
	size_t i, j, blen = strlen(b);

	for (j = 0; j <= blen; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= alen; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= blen; j++) {
			above = row[j];
			best = diagonal + !same_letter(a[i - 1], b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[blen];
}

void
text_near(struct text_near *n, const char *known)
{
	unsigned int d;

	if (n->len > TEXT_WORD_MAX || strlen(known) > TEXT_WORD_MAX)
		return;
	d = distance(n->word, n->len, known);
	if (d > NEAR_ENOUGH || d >= n->len ||
	    (n->best != NULL && d >= n->distance))
		return;
	n->distance = d;
	n->best = known;
}
