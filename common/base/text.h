/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes: "\040" for a blank, as in exports(5), /proc/self/mountinfo and
 * log lines. And "did you mean": the known word that is nearest to a misspelt
 * one. No allocation, no system call.
 * Runs in: every process.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ESCAPED 4 /* bytes of one escape */

/* Writes a byte as a backslash and three digits, without a terminator. */
void text_escape(char out[TEXT_ESCAPED], unsigned char c);
/*
 * Reads three octal digits of at most left bytes. Returns false if there are
 * fewer or if the value is above 0377.
 */
bool text_octal(const char *digits, size_t left, unsigned char *c);
/* Replaces all escapes of a string in place. Other backslashes stay. */
void text_unescape(char *);

#define TEXT_WORD_MAX 32 /* a longer word is near to none */

struct text_near {
	const char *word; /* the misspelt word, of len bytes */
	size_t len;
	const char *best; /* the nearest so far; NULL: none is near enough */
	unsigned int distance; /* letters in which best differs */
};

/* Compares one known word. The caller sets word and len, the rest is zero. */
void text_near(struct text_near *, const char *known);

#endif
