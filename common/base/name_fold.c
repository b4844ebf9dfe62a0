/* SPDX-License-Identifier: ISC */
/*
 * Names that mean the same to a person: without case, and whether a character
 * is written in one piece (NFC, as Windows and Linux do) or as letter and mark
 * (NFD, as macOS does). Folds as case-insensitive ext4 and APFS do: by Unicode's
 * full case folding, so that sharp s is "ss". Several marks on one letter are
 * compared in the order they are written. Pure.
 *
 * libutf8proc has the tables. It sees one valid character at a time, never a
 * string, and writes into our array: it parses and allocates nothing.
 * Runs in: nfsd worker, tests.
 */
#include <string.h>

#include <utf8proc.h>

#include "base/name.h"
#include "base/util.h"

#define PIECES_MAX 8 /* of one character; Unicode needs 4 */
#define UTF8_MAX   4 /* bytes of one */
#define ASCII	   0x80u /* characters below are folded here */
#define NO_CHAR	   0x110000u /* and a byte: beyond what Unicode has */

/* What is left of a text: pieces still to come of the character just read. */
struct pieces {
	const char *at;
	utf8proc_int32_t left[PIECES_MAX];
	size_t next, n;
};

/* The next character, never 0; bytes that are no UTF-8 stand for themselves. */
static uint32_t
next_char(const char **at)
{
	const uint8_t *s = (const uint8_t *)*at;
	/* no character goes on behind the end of a string */
	size_t n = strnlen(*at, UTF8_MAX);
	uint32_t c;

	n = name_get_utf8(s, n, &c);
	*at += n == 0 ? 1 : n;
	return n == 0 ? NO_CHAR | s[0] : c;
}

/* The next letter or mark, folded; 0 at the end. */
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
