/* SPDX-License-Identifier: ISC */
/*
 * XDR (RFC 4506) over memory the caller owns. Two cursors, one rule: the first
 * error sticks. After it every get returns zero and every put does nothing, so
 * a codec is a plain list of fields and one place checks `failed` at the end.
 * Nothing here allocates, logs or makes a system call.
 * Runs in: every process that speaks RPC; tests; fuzzers.
 */
#ifndef RPC_XDR_H
#define RPC_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xdr_in {
	const uint8_t *pos;
	size_t left;
	bool failed;
};

struct xdr_out {
	uint8_t *base;
	size_t len; /* written so far */
	size_t cap;
	bool failed;
};

/* A run of bytes inside somebody else's buffer (lifetime: that buffer's). */
struct slice {
	const uint8_t *data;
	size_t len;
};

void xdr_in_init(struct xdr_in *, const void *, size_t);
static inline uint32_t xdr_get_u32(struct xdr_in *);
int32_t xdr_get_i32(struct xdr_in *);
static inline uint64_t xdr_get_u64(struct xdr_in *);
int64_t xdr_get_i64(struct xdr_in *);
/* Only 0 and 1 are booleans; anything else fails. */
bool xdr_get_bool(struct xdr_in *);
/* A value below `count`, else fails (RFC 4506, 4.3: undeclared enum). */
uint32_t xdr_get_enum(struct xdr_in *, uint32_t count);
float xdr_get_float(struct xdr_in *);
double xdr_get_double(struct xdr_in *);
/* Copies len bytes and skips the padding, whatever is in it. */
void xdr_get_fixed(struct xdr_in *, void *, size_t len);
/* Length, bytes, padding; fails when longer than max. Borrowed. */
struct slice xdr_get_opaque(struct xdr_in *, size_t max);
/* Element count of an array; fails above max, or when count * min_size bytes
 * are not left. */
uint32_t xdr_get_count(struct xdr_in *, uint32_t max, size_t min_size);
void xdr_get_fail(struct xdr_in *);

void xdr_out_init(struct xdr_out *, void *, size_t cap);
static inline void xdr_put_u32(struct xdr_out *, uint32_t);
void xdr_put_i32(struct xdr_out *, int32_t);
static inline void xdr_put_u64(struct xdr_out *, uint64_t);
void xdr_put_i64(struct xdr_out *, int64_t);
void xdr_put_bool(struct xdr_out *, bool);
void xdr_put_float(struct xdr_out *, float);
void xdr_put_double(struct xdr_out *, double);
/* Bytes and zero padding, no length. */
void xdr_put_fixed(struct xdr_out *, const void *, size_t len);
/*
 * Length, bytes, zero padding. When data already lies where it has to go
 * (an operation read straight into the reply buffer) nothing is copied; when
 * it overlaps otherwise it is moved.
 */
void xdr_put_opaque(struct xdr_out *, const void *data, size_t len);
void xdr_put_string(struct xdr_out *, const char *);
/* Room left, in bytes. */
static inline size_t xdr_out_left(const struct xdr_out *);
/* Overwrites a word written before, e.g. a count known only at the end. */
void xdr_patch_u32(struct xdr_out *, size_t at, uint32_t);

/* Bytes of XDR padding behind len bytes. */
static inline size_t
xdr_pad(size_t len)
{
	return (4 - (len & 3)) & 3;
}

#include "rpc/xdr_word.h"

#endif
