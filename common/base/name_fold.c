/* SPDX-License-Identifier: ISC */
/*
 * Compares names without case and without Unicode form. Windows and Linux write
 * an accented letter as one character (NFC), macOS as letter and mark (NFD).
 * Folding is that of case-insensitive ext4 and APFS: Unicode's full case
 * folding, so sharp s equals "ss". Several marks on one letter are compared in
 * the order they are written. No allocation, no system call.
 *
 * libutf8proc provides the tables. It receives one valid character at a time,
 * never a string, and writes into an array of this file. It neither parses nor
 * allocates.
 * Runs in: nfsd worker, tests.
 */
#include <string.h>

#include <utf8proc.h>

#include "base/name.h"
#include "base/util.h"

#define PIECES_MAX 8 /* code points of a folded character; Unicode needs 4 */
#define UTF8_MAX   4 /* bytes of a character */
#define ASCII	   0x80u /* characters below it are folded here */
#define NO_CHAR	   0x110000u /* plus an invalid byte: above all of Unicode */

/*
 * A position in a text, with the remaining pieces of the character just read.
 */
struct pieces {
	const char *at;
	utf8proc_int32_t left[PIECES_MAX];
	size_t next, n;
};

/*
 * Returns the next character, never 0. A byte that is not UTF-8 returns NO_CHAR
 * plus its value.
 */
static uint32_t
next_char(const char **at)
{
	const uint8_t *s = (const uint8_t *)*at;
	/* no character extends past the end of the string */
	size_t n = strnlen(*at, UTF8_MAX);
	uint32_t c;

	n = name_get_utf8(s, n, &c);
	*at += n == 0 ? 1 : n;
	return n == 0 ? NO_CHAR | s[0] : c;
}

/* Returns the next letter or mark, folded; 0 at the end. */
static uint32_t
next_piece(struct pieces *p)
{
	utf8proc_ssize_t n;
	uint32_t c;

	if (p->next < p->n)
		return (uint32_t)p->left[p->next++];
	if (*p->at == '\0')
		return 0;
	c = next_char(&p->at);
	if (c < ASCII)
		return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
	if (c >= NO_CHAR)
		return c;
	n = utf8proc_decompose_char((utf8proc_int32_t)c, p->left, PIECES_MAX,
	    UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE, NULL);
	if (n < 1 || n > PIECES_MAX)
		return c;
	p->n = (size_t)n;
	p->next = 1;
	return (uint32_t)p->left[0];
}

bool
name_same_folded(const char *a, const char *b)
{
	struct pieces pa = { .at = a }, pb = { .at = b };
	uint32_t c;

	do {
		c = next_piece(&pa);
		if (c != next_piece(&pb))
			return false;
	} while (c != 0);
	return true;
}
