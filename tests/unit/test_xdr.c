/* SPDX-License-Identifier: ISC */
/*
 * XDR cursors: every type is encoded and decoded, and every overrun fails.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "rpc/xdr.h"
#include "tap.h"

static uint8_t buf[256];

static struct xdr_in
in_of(const char *bytes, size_t len)
{
	struct xdr_in x;

	xdr_in_init(&x, bytes, len);
	return x;
}

static void
test_numbers(void)
{
	struct xdr_out out;
	struct xdr_in in;

	xdr_out_init(&out, buf, sizeof(buf));
	xdr_put_u32(&out, 0xfedcba98);
	xdr_put_i32(&out, -2);
	xdr_put_u64(&out, 0x0123456789abcdef);
	xdr_put_i64(&out, INT64_MIN);
	xdr_put_bool(&out, true);
	xdr_put_bool(&out, false);
	xdr_put_float(&out, -1.5f);
	xdr_put_double(&out, 1e300);
	cmp_ok(out.len, "==", 4 + 4 + 8 + 8 + 4 + 4 + 4 + 8,
	    "each type has its size");
	cmp_mem(buf, "\xfe\xdc\xba\x98\xff\xff\xff\xfe\x01\x23\x45\x67", 12,
	    "numbers are big-endian");
	cmp_mem(buf + 32, "\xbf\xc0\0\0", 4, "a float is IEEE single");
	xdr_in_init(&in, buf, out.len);
	ok(xdr_get_u32(&in) == 0xfedcba98, "unsigned comes back");
	ok(xdr_get_i32(&in) == -2, "int comes back");
	ok(xdr_get_u64(&in) == 0x0123456789abcdef, "unsigned hyper comes back");
	ok(xdr_get_i64(&in) == INT64_MIN, "hyper comes back");
	ok(xdr_get_bool(&in), "true comes back");
	ok(!xdr_get_bool(&in), "false comes back");
	ok(xdr_get_float(&in) == -1.5f, "float comes back");
	ok(xdr_get_double(&in) == 1e300, "double comes back");
	ok(!in.failed && in.left == 0, "nothing is left over");
}

static void
test_sticky(void)
{
	struct xdr_in in = in_of("\0\0\0\1\0\0\0", 7);
	uint8_t fixed[3] = { 9, 9, 9 };

	ok(xdr_get_u32(&in) == 1, "a whole word is read");
	ok(xdr_get_u32(&in) == 0 && in.failed,
	    "a truncated word fails and is zero");
	ok(xdr_get_u64(&in) == 0, "after an error all numbers are zero");
	ok(!xdr_get_bool(&in), "after an error all booleans are false");
	ok(xdr_get_opaque(&in, 10).len == 0,
	    "after an error all strings are empty");
	ok(xdr_get_count(&in, 10, 1) == 0,
	    "after an error all arrays are empty");
	xdr_get_fixed(&in, fixed, sizeof(fixed));
	cmp_mem(fixed, "\0\0\0", 3, "after an error fixed bytes are zero");
	ok(in.failed && in.left == 0, "the error stays");
}

static void
test_enums(void)
{
	struct xdr_in in;

	in = in_of("\0\0\0\2", 4);
	ok(!xdr_get_bool(&in) && in.failed, "a boolean of 2 fails");
	in = in_of("\0\0\0\4", 4);
	ok(xdr_get_enum(&in, 5) == 4 && !in.failed,
	    "the last value of an enum is valid");
	in = in_of("\0\0\0\5", 4);
	ok(xdr_get_enum(&in, 5) == 0 && in.failed, "the next value fails");
	in = in_of("\0\0\0\3abcd", 8);
	ok(xdr_get_count(&in, 3, 1) == 3, "a count that fits is valid");
	in = in_of("\0\0\0\3abcd", 8);
	ok(xdr_get_count(&in, 3, 2) == 0 && in.failed,
	    "a count of more elements than bytes fails");
	in = in_of("\xff\xff\xff\xff"
		   "abcd",
	    8);
	ok(xdr_get_count(&in, UINT32_MAX, 4) == 0 && in.failed,
	    "a count whose product overflows fails");
	in = in_of("\0\0\0\3abcd", 8);
	ok(xdr_get_count(&in, 2, 1) == 0 && in.failed,
	    "a count over its maximum fails");
	in = in_of("\0\0\0\3", 4);
	ok(xdr_get_count(&in, 3, 0) == 3, "elements of no size always fit");
}

static void
test_opaque_in(void)
{
	struct xdr_in in;
	struct slice s;
	uint8_t fixed[5];

	in = in_of("\0\0\0\5helloXYZ\0\0\0\7", 16);
	s = xdr_get_opaque(&in, 5);
	ok(s.len == 5 && memcmp(s.data, "hello", 5) == 0, "opaque is read");
	ok(xdr_get_u32(&in) == 7, "dirty padding is skipped");
	in = in_of("\0\0\0\5helloXY", 11);
	ok(xdr_get_opaque(&in, 5).len == 0 && in.failed,
	    "missing padding fails");
	in = in_of("\0\0\0\5helloXYZ", 12);
	ok(xdr_get_opaque(&in, 4).len == 0 && in.failed,
	    "opaque over its maximum fails");
	in = in_of("\xff\xff\xff\xfd", 4);
	ok(xdr_get_opaque(&in, SIZE_MAX).len == 0 && in.failed,
	    "a length that wraps to 0 when rounded up fails");
	in = in_of("\0\0\0\0", 4);
	s = xdr_get_opaque(&in, 0);
	ok(s.len == 0 && !in.failed, "empty opaque is read");
	in = in_of("helloXYZ", 8);
	xdr_get_fixed(&in, fixed, 5);
	cmp_mem(fixed, "hello", 5, "fixed opaque is read");
	ok(in.left == 0, "its padding is skipped");
	xdr_get_fixed(&in, fixed, 0);
	ok(!in.failed, "no bytes can always be read");
}

static void
test_opaque_out(void)
{
	struct xdr_out out;

	memset(buf, 0xee, sizeof(buf));
	xdr_out_init(&out, buf, 12);
	xdr_put_opaque(&out, "hello", 5);
	cmp_mem(buf, "\0\0\0\5hello\0\0\0", 12, "padding is zero");
	ok(xdr_out_left(&out) == 0, "no room is left");
	xdr_put_u32(&out, 1);
	ok(out.failed && out.len == 12, "a put beyond the end fails");
	xdr_out_init(&out, buf, 11);
	xdr_put_string(&out, "hello");
	ok(out.failed && out.len == 0,
	    "opaque without room for its padding is not written");
	ok(xdr_out_left(&out) == 0, "after an error there is no room");
	xdr_put_u64(&out, 1);
	xdr_put_fixed(&out, "a", 1);
	ok(out.len == 0, "after an error puts do nothing");
	xdr_out_init(&out, buf, 3);
	xdr_put_opaque(&out, NULL, 0);
	ok(out.failed, "opaque without room for its length fails");
	xdr_out_init(&out, buf, sizeof(buf));
	xdr_put_opaque(&out, NULL, 0);
	ok(!out.failed && out.len == 4, "empty opaque needs no data");
	xdr_put_fixed(&out, buf, SIZE_MAX);
	ok(out.failed, "a length near SIZE_MAX fails");
#if SIZE_MAX > UINT32_MAX
	xdr_out_init(&out, buf, sizeof(buf));
	xdr_put_opaque(&out, buf, (size_t)UINT32_MAX + 1);
	ok(out.failed, "a length over 32 bits fails");
#endif
}

static void
test_in_place(void)
{
	struct xdr_out out;

	xdr_out_init(&out, buf, sizeof(buf));
	memcpy(buf + 4, "in place", 9);
	buf[13] = buf[14] = buf[15] = 0xee;
	xdr_put_opaque(&out, buf + 4, 9);
	cmp_mem(buf, "\0\0\0\11in place\0\0\0\0", 16,
	    "data that is in place is not moved");
	memcpy(buf + 2, "overlap", 7);
	xdr_out_init(&out, buf, sizeof(buf));
	xdr_put_opaque(&out, buf + 2, 7);
	cmp_mem(buf, "\0\0\0\7overlap\0", 12,
	    "data under the length word is moved first");
	memcpy(buf + 100, "behind", 6);
	xdr_put_opaque(&out, buf + 100, 6);
	cmp_mem(buf + 12, "\0\0\0\6behind\0\0", 12,
	    "data behind its place is copied");
}

static void
test_patch(void)
{
	struct xdr_out out;

	xdr_out_init(&out, buf, 8);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 2);
	xdr_patch_u32(&out, 0, 0x01020304);
	cmp_mem(buf, "\1\2\3\4\0\0\0\2", 8, "a word is overwritten");
	xdr_patch_u32(&out, 5, 0xffffffff);
	xdr_patch_u32(&out, 9, 0xffffffff);
	cmp_mem(buf, "\1\2\3\4\0\0\0\2", 8,
	    "a word beyond the end is not overwritten");
	xdr_put_u32(&out, 1);
	xdr_patch_u32(&out, 0, 0);
	cmp_mem(buf, "\1\2\3\4", 4, "no word is overwritten after an error");
}

/* Every prefix of a message fails without reading beyond its end. */
static void
test_prefixes(void)
{
	static const char msg[] = "\0\0\0\1\0\0\0\3abc\0\0\0\0\0\0\0\0\5";
	size_t n, len = 20, bad = 0;
	struct xdr_in in;
	char *copy;

	for (n = 0; n <= len; n++) {
		copy = malloc(n + 1);
		if (copy == NULL)
			BAIL_OUT("no memory");
		memcpy(copy, msg, n);
		xdr_in_init(&in, copy, n);
		(void)xdr_get_bool(&in);
		(void)xdr_get_opaque(&in, 8);
		(void)xdr_get_u64(&in);
		if (in.failed != (n < len))
			bad++;
		free(copy);
	}
	ok(bad == 0, "every prefix fails, the whole message does not");
}

int
main(void)
{
	plan(NO_PLAN);
	test_numbers();
	test_sticky();
	test_enums();
	test_opaque_in();
	test_opaque_out();
	test_in_place();
	test_patch();
	test_prefixes();
	done_testing();
}
