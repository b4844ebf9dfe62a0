/* SPDX-License-Identifier: ISC */
/*
 * What most codecs write: words and opaque bytes. In a header, so that a codec
 * compiles to stores instead of calls, and keeps a cursor of its own in
 * registers. Part of xdr.h.
 * Runs in: every process that speaks RPC; tests; fuzzers.
 */
#ifndef RPC_XDR_PUT_H
#define RPC_XDR_PUT_H

#include <endian.h>
#include <string.h>

#include "rpc/xdr.h"

static inline void
xdr_out_init(struct xdr_out *x, void *base, size_t cap)
{
	x->base = base;
	x->len = 0;
	x->cap = cap;
	x->failed = false;
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

/*
 * Reserves len bytes. Returns a cursor over them, which has failed if there is no
 * room. If len is a constant, puts that fit compile to stores without a check.
 */
static inline struct xdr_out
xdr_put_part(struct xdr_out *x, size_t len)
{
	uint8_t *at = xdr_reserve(x, len);

	return (struct xdr_out){
		.base = at, .cap = at == NULL ? 0 : len, .failed = at == NULL
	};
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

static inline void
xdr_put_bool(struct xdr_out *x, bool v)
{
	xdr_put_u32(x, v ? 1 : 0);
}

#endif
