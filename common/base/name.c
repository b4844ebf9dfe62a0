/* SPDX-License-Identifier: ISC */
/*
 * Names: see name.h. Both conversions run twice: first to check and count, then
 * to write. A refused name therefore leaves out unchanged.
 * Runs in: every process that decodes names; tests; fuzzers.
 */
#include <string.h>

#include "base/name.h"

enum name_kind
name_check(const void *bytes, size_t len)
{
	const char *s = bytes;

	if (len == 0)
		return NAME_BAD;
	if (len > NAME_UTF8_MAX)
		return NAME_LONG;
	if (memchr(s, '/', len) != NULL || memchr(s, '\0', len) != NULL)
		return NAME_BAD;
	if (s[0] != '.' || len > 2)
		return NAME_OK;
	if (len == 1)
		return NAME_DOT;
	return s[1] == '.' ? NAME_DOTDOT : NAME_OK;
}

static uint32_t
unit_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/*
 * Reads one character of UTF-16LE. Returns the bytes it took, or 0 if there is
 * none.
 */
static size_t
get_utf16(const uint8_t *p, size_t left, uint32_t *c)
{
	uint32_t high, low;

	if (left < 2)
		return 0;
	high = unit_at(p);
	if (high < 0xd800 || high > 0xdfff) {
		*c = high;
		return 2;
	}
	if (high > 0xdbff || left < 4)
		return 0;
	low = unit_at(p + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

/* Returns the bytes of c in UTF-8. If out is not NULL, writes them. */
static size_t
put_utf8(char *out, uint32_t c)
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n, i;

	n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	if (out == NULL)
		return n;
	for (i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(lead[n > 1 ? n : 0] | c);
	return n;
}

bool
name_from_utf16(char *out, size_t size, size_t *outlen, const uint8_t *bytes,
    size_t len)
{
	size_t at, n, total;
	uint32_t c;

	total = 0;
	for (at = 0; at < len; at += n) {
		n = get_utf16(bytes + at, len - at, &c);
		if (n == 0)
			return false;
		total += put_utf8(NULL, c);
		if (total > size)
			return false;
	}
	total = 0;
	for (at = 0; at < len; at += n) {
		n = get_utf16(bytes + at, len - at, &c);
		total += put_utf8(out + total, c);
	}
	*outlen = total;
	return true;
}

size_t
name_get_utf8(const uint8_t *p, size_t left, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n, i;

	if (p[0] < 0x80) {
		*c = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
		return 0;
	*c = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	if (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return 0;
	return n;
}

static void
put_unit(uint8_t *out, uint32_t unit)
{
	out[0] = (uint8_t)(unit & 0xff);
	out[1] = (uint8_t)(unit >> 8);
}

static size_t
put_utf16(uint8_t *out, uint32_t c)
{
	if (c < 0x10000) {
		if (out != NULL)
			put_unit(out, c);
		return 2;
	}
	if (out != NULL) {
		put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
		put_unit(out + 2, 0xdc00 + ((c - 0x10000) & 0x3ff));
	}
	return 4;
}

bool
name_to_utf16(uint8_t *out, size_t size, size_t *outlen, const char *bytes,
    size_t len)
{
	const uint8_t *in = (const uint8_t *)bytes;
	size_t at, n, total;
	uint32_t c;

	total = 0;
	for (at = 0; at < len; at += n) {
		n = name_get_utf8(in + at, len - at, &c);
		if (n == 0)
			return false;
		total += put_utf16(NULL, c);
		if (total > size)
			return false;
	}
	total = 0;
	for (at = 0; at < len; at += n) {
		n = name_get_utf8(in + at, len - at, &c);
		total += put_utf16(out + total, c);
	}
	*outlen = total;
	return true;
}
