/* SPDX-License-Identifier: ISC */
/*
 * XDR cursors: RFC 4506. A length from the wire is checked against the
 * remaining bytes before it is used. Input padding is skipped without a check,
 * since clients send random bytes there. Output padding is zero.
 * Runs in: every process that speaks RPC; tests; fuzzers.
 */
#include "rpc/xdr.h"

static const uint8_t zeros[4];

int32_t
xdr_get_i32(struct xdr_in *x)
{
	return (int32_t)xdr_get_u32(x);
}

int64_t
xdr_get_i64(struct xdr_in *x)
{
	return (int64_t)xdr_get_u64(x);
}

bool
xdr_get_bool(struct xdr_in *x)
{
	return xdr_get_enum(x, 2) == 1;
}

uint32_t
xdr_get_enum(struct xdr_in *x, uint32_t count)
{
	uint32_t v;

	v = xdr_get_u32(x);
	if (v < count)
		return v;
	xdr_get_fail(x);
	return 0;
}

float
xdr_get_float(struct xdr_in *x)
{
	uint32_t bits;
	float v;

	bits = xdr_get_u32(x);
	memcpy(&v, &bits, sizeof(v));
	return v;
}

double
xdr_get_double(struct xdr_in *x)
{
	uint64_t bits;
	double v;

	bits = xdr_get_u64(x);
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Takes len bytes and their padding. Checks the bound before rounding up. */
static const uint8_t *
take_padded(struct xdr_in *x, size_t len)
{
	const uint8_t *at;

	at = xdr_take(x, len);
	if (at == NULL || xdr_take(x, xdr_pad(len)) == NULL)
		return NULL;
	return at;
}

void
xdr_get_fixed(struct xdr_in *x, void *to, size_t len)
{
	const uint8_t *at;

	if (len == 0)
		return;
	at = take_padded(x, len);
	if (at == NULL)
		memset(to, 0, len);
	else
		memcpy(to, at, len);
}

void
xdr_put_i32(struct xdr_out *x, int32_t v)
{
	xdr_put_u32(x, (uint32_t)v);
}

void
xdr_put_i64(struct xdr_out *x, int64_t v)
{
	xdr_put_u64(x, (uint64_t)v);
}

void
xdr_put_float(struct xdr_out *x, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	xdr_put_u32(x, bits);
}

void
xdr_put_double(struct xdr_out *x, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	xdr_put_u64(x, bits);
}

void
xdr_put_fixed(struct xdr_out *x, const void *data, size_t len)
{
	uint8_t *at;

	/* Subtract, do not add: len may be any number. */
	if (len > xdr_out_left(x) || xdr_pad(len) > xdr_out_left(x) - len) {
		x->failed = true;
		return;
	}
	at = xdr_reserve(x, len + xdr_pad(len));
	if (at == NULL || len == 0)
		return;
	if (at != data)
		memmove(at, data, len);
	memcpy(at + len, zeros, xdr_pad(len));
}

void
xdr_put_opaque(struct xdr_out *x, const void *data, size_t len)
{
	size_t at;

	at = x->len;
	if (len > UINT32_MAX || xdr_out_left(x) < sizeof(uint32_t)) {
		x->failed = true;
		return;
	}
	/* Move the data first: it may lie where the length is written. */
	x->len += sizeof(uint32_t);
	xdr_put_fixed(x, data, len);
	if (x->failed)
		x->len = at;
	else
		xdr_patch_u32(x, at, (uint32_t)len);
}

void
xdr_put_string(struct xdr_out *x, const char *s)
{
	xdr_put_opaque(x, s, strlen(s));
}

void
xdr_patch_u32(struct xdr_out *x, size_t at, uint32_t v)
{
	if (x->failed || at > x->len || x->len - at < sizeof(v))
		return;
	v = htobe32(v);
	memcpy(x->base + at, &v, sizeof(v));
}
