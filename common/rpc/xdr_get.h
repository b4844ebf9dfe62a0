/* SPDX-License-Identifier: ISC */
/*
 * What most codecs read: words and opaque bytes. In a header, so that a codec
 * compiles to loads instead of calls, and keeps a cursor of its own in
 * registers. Part of xdr.h.
 * Runs in: every process that speaks RPC; tests; fuzzers.
 */
#ifndef RPC_XDR_GET_H
#define RPC_XDR_GET_H

#include <endian.h>
#include <string.h>

#include "rpc/xdr.h"

static inline void
xdr_in_init(struct xdr_in *x, const void *data, size_t len)
{
	x->pos = data;
	x->left = len;
	x->failed = false;
}

static inline void
xdr_get_fail(struct xdr_in *x)
{
	x->failed = true;
	x->left = 0;
}

/* Takes len bytes, without padding. Returns NULL if there are fewer. */
static inline const uint8_t *
xdr_take(struct xdr_in *x, size_t len)
{
	const uint8_t *at;

	if (len > x->left) {
		xdr_get_fail(x);
		return NULL;
	}
	at = x->pos;
	x->pos += len;
	x->left -= len;
	return at;
}

/*
 * Takes len bytes. Returns a cursor over them, which has failed if there are fewer.
 * If len is a constant, gets that fit compile to loads without a check.
 */
static inline struct xdr_in
xdr_get_part(struct xdr_in *x, size_t len)
{
	const uint8_t *at = xdr_take(x, len);

	return (struct xdr_in){
		.pos = at, .left = at == NULL ? 0 : len, .failed = at == NULL
	};
}

static inline uint32_t
xdr_get_u32(struct xdr_in *x)
{
	const uint8_t *at;
	uint32_t v;

	at = xdr_take(x, sizeof(v));
	if (at == NULL)
		return 0;
	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
xdr_get_u64(struct xdr_in *x)
{
	const uint8_t *at;
	uint64_t v;

	at = xdr_take(x, sizeof(v));
	if (at == NULL)
		return 0;
	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static inline struct slice
xdr_get_opaque(struct xdr_in *x, size_t max)
{
	struct slice s = { .data = NULL, .len = 0 };
	uint32_t len = xdr_get_u32(x);
	size_t pad = xdr_pad(len);

	if (len > max || len > x->left || pad > x->left - len) {
		xdr_get_fail(x);
		return s;
	}
	s.data = x->pos;
	s.len = len;
	x->pos += len + pad;
	x->left -= len + pad;
	return s;
}

static inline uint32_t
xdr_get_count(struct xdr_in *x, uint32_t max, size_t min_size)
{
	uint32_t n;

	n = xdr_get_u32(x);
	if (n > max || (min_size != 0 && n > x->left / min_size)) {
		xdr_get_fail(x);
		return 0;
	}
	return n;
}

#endif
