/* SPDX-License-Identifier: ISC */
/*
 * Octal escapes: "\040" for a blank, as in exports(5), /proc/self/mountinfo and
 * log lines. No allocation, no system call.
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

#endif
