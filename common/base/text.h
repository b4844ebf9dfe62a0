/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes: "\040" for a blank, as exports(5), /proc/self/mountinfo and our
 * log lines write it. Pure.
 * Runs in: every process.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ESCAPED 4 /* bytes of one escape */

/* Writes a byte as a backslash and three digits; no terminator. */
void text_escape(char out[TEXT_ESCAPED], unsigned char c);
/* Three octal digits of at most left bytes, not above 0377: their byte. */
bool text_octal(const char *digits, size_t left, unsigned char *c);
/* Undoes all escapes of a string in place; any other backslash stays. */
void text_unescape(char *);

#endif
