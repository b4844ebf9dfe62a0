/* SPDX-License-Identifier: ISC */
/*
 * Reading and writing of single words. In a header, so that a codec compiles to
 * stores instead of calls. Part of xdr.h.
 * Runs in: every process that speaks RPC; tests; fuzzers.
 */
#ifndef RPC_XDR_WORD_H
#define RPC_XDR_WORD_H

#include <endian.h>
#include <string.h>

#include "rpc/xdr.h"

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

static inline size_t
xdr_out_left(const struct xdr_out *x)
{
	return x->failed ? 0 : x->cap - x->len;
}

/* Reserves len bytes. Returns NULL if there is no room. */
static inline uint8_t *
xdr_reserve(struct xdr_out *x, size_t len)
{
	uint8_t *at;

	if (len > xdr_out_left(x)) {
		x->failed = true;
		return NULL;
	}
	at = x->base + x->len;
	x->len += len;
	return at;
}

static inline void
xdr_put_u32(struct xdr_out *x, uint32_t v)
{
	uint8_t *at;

	at = xdr_reserve(x, sizeof(v));
	if (at == NULL)
		return;
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static inline void
xdr_put_u64(struct xdr_out *x, uint64_t v)
{
	uint8_t *at;

	at = xdr_reserve(x, sizeof(v));
	if (at == NULL)
		return;
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

#endif
