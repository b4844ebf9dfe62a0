/* SPDX-License-Identifier: ISC */
/*
 * One path component: its check, and its conversion for DJ players. Players
 * send UTF-16LE without byte order mark or terminator; files are named in
 * UTF-8. Both conversions are exact or fail, so two names on the wire never
 * mean one file. No allocation, no system call.
 * Runs in: every process that decodes names; tests; fuzzers.
 */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_UTF8_MAX	 255 /* bytes of a component on Linux */
#define NAME_UTF16_UNITS 255 /* as on FAT */
#define NAME_UTF16_MAX	 (2 * NAME_UTF16_UNITS) /* bytes */

enum name_kind {
	NAME_OK, /* an ordinary component */
	NAME_DOT, /* "." */
	NAME_DOTDOT, /* ".." */
	NAME_BAD, /* empty, or with '/' or NUL inside */
	NAME_LONG /* more than NAME_UTF8_MAX bytes */
};

/* Classifies len bytes. Bytes above 0x7f are not checked. */
enum name_kind name_check(const void *bytes, size_t len);

/*
 * Converts UTF-16LE to UTF-8, without a terminator. Returns false for an odd
 * length, an unpaired surrogate, or a result of more than size bytes; out is
 * then unchanged.
 */
bool name_from_utf16(char *out, size_t size, size_t *outlen,
    const uint8_t *bytes, size_t len);
/*
 * Converts UTF-8 to UTF-16LE. Returns false if the text is not valid UTF-8
 * (name_get_utf8()), or if size is too small; out is then unchanged.
 */
bool name_to_utf16(uint8_t *out, size_t size, size_t *outlen, const char *bytes,
    size_t len);

/*
 * Reads one character of UTF-8 (RFC 3629: the shortest form, no surrogates) of
 * at most left bytes. Returns the bytes it took, or 0 if it is invalid.
 */
size_t name_get_utf8(const uint8_t *, size_t left, uint32_t *c);

/*
 * Are two names equal without case and Unicode form? Bytes that are not UTF-8
 * must be equal (name_fold.c).
 */
bool name_same_folded(const char *, const char *);

#endif
