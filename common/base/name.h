/* SPDX-License-Identifier: ISC */
/*
 * One path component: when it is one, and how DJ players spell it. Players
 * send UTF-16LE without byte order mark or terminator; files are named in
 * UTF-8. Conversion is strict both ways: what cannot be converted exactly is
 * refused, so two names on the wire never mean one file. Pure.
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

/* Judges len bytes; bytes above 0x7f are nobody's business here. */
enum name_kind name_check(const void *bytes, size_t len);

/*
 * UTF-16LE to UTF-8. False (out untouched) for an odd length, an unpaired
 * surrogate, more than size bytes of result. *outlen without terminator, and
 * none is written.
 */
bool name_from_utf16(char *out, size_t size, size_t *outlen,
    const uint8_t *bytes, size_t len);
/*
 * UTF-8 to UTF-16LE. False (out untouched) for anything that is not shortest
 * form UTF-8 of a character outside the surrogates, or when size bytes are
 * not enough.
 */
bool name_to_utf16(uint8_t *out, size_t size, size_t *outlen, const char *bytes,
    size_t len);

/*
 * One character of UTF-8 (RFC 3629: the shortest form, no surrogates) of at most
 * left bytes; the bytes taken, 0 when they are none.
 */
size_t name_get_utf8(const uint8_t *, size_t left, uint32_t *c);

/*
 * Do two names differ in nothing but case and composed characters? Both are
 * strings; what is no UTF-8 must be equal (name_fold.c).
 */
bool name_same_folded(const char *, const char *);

#endif
