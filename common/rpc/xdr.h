/* SPDX-License-Identifier: ISC */
/*
 * XDR (RFC 4506) over memory of the caller. There are two cursors, and the
 * first error is permanent: after it, every get returns zero and every put does
 * nothing. A codec is therefore a list of fields, and one place checks `failed`
 * at the end. No allocation, no log line, no system call.
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
	size_t len; /* bytes written */
	size_t cap;
	bool failed;
};

/* Bytes inside a buffer. Valid as long as that buffer. */
struct slice {
	const uint8_t *data;
	size_t len;
};

static inline void xdr_in_init(struct xdr_in *, const void *, size_t);
static inline uint32_t xdr_get_u32(struct xdr_in *);
int32_t xdr_get_i32(struct xdr_in *);
static inline uint64_t xdr_get_u64(struct xdr_in *);
int64_t xdr_get_i64(struct xdr_in *);
/* Fails if the value is not 0 or 1. */
bool xdr_get_bool(struct xdr_in *);
/*
 * Returns a value below `count`, else fails (RFC 4506, 4.3: undeclared enum).
 */
uint32_t xdr_get_enum(struct xdr_in *, uint32_t count);
float xdr_get_float(struct xdr_in *);
double xdr_get_double(struct xdr_in *);
/* Copies len bytes and skips the padding. */
void xdr_get_fixed(struct xdr_in *, void *, size_t len);
/*
 * Reads length, bytes, padding. Fails if longer than max. The slice points into
 * the message.
 */
static inline struct slice xdr_get_opaque(struct xdr_in *, size_t max);
/*
 * Reads the element count of an array. Fails if it is above max, or if fewer
 * than count * min_size bytes are left.
 */
static inline uint32_t xdr_get_count(struct xdr_in *, uint32_t max,
    size_t min_size);
static inline void xdr_get_fail(struct xdr_in *);

static inline void xdr_out_init(struct xdr_out *, void *, size_t cap);
static inline void xdr_put_u32(struct xdr_out *, uint32_t);
void xdr_put_i32(struct xdr_out *, int32_t);
static inline void xdr_put_u64(struct xdr_out *, uint64_t);
void xdr_put_i64(struct xdr_out *, int64_t);
static inline void xdr_put_bool(struct xdr_out *, bool);
void xdr_put_float(struct xdr_out *, float);
void xdr_put_double(struct xdr_out *, double);
/* Writes bytes and zero padding, no length. */
void xdr_put_fixed(struct xdr_out *, const void *, size_t len);
/*
 * Writes length, bytes, zero padding. If data is already in place (an operation
 * has read into the reply buffer), it is not copied. If it overlaps otherwise,
 * it is moved.
 */
void xdr_put_opaque(struct xdr_out *, const void *data, size_t len);
void xdr_put_string(struct xdr_out *, const char *);
/* Returns the free bytes. */
static inline size_t xdr_out_left(const struct xdr_out *);
/* Overwrites a word, such as a count that is known only at the end. */
void xdr_patch_u32(struct xdr_out *, size_t at, uint32_t);

/* Returns the bytes of XDR padding after len bytes. */
static inline size_t
xdr_pad(size_t len)
{
	return (4 - (len & 3)) & 3;
}

#include "rpc/xdr_get.h"
#include "rpc/xdr_put.h"

#endif
