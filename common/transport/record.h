/* SPDX-License-Identifier: ISC */
/*
 * Record marking (RFC 5531, section 11): splits a byte stream into records. A
 * record that arrives in one piece is not copied. An incomplete one is copied
 * into memory that grows with the bytes received, not with the announced
 * length.
 * Runs in: the process that reads the network; fuzzers.
 */
#ifndef TRANSPORT_RECORD_H
#define TRANSPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_MARK_SIZE	     4
#define RPC_MARK_LAST	     0x80000000u
#define RPC_RECORD_EMPTY_MAX 16 /* empty fragments per record */
#define RPC_RECORD_TRUST     65536 /* bytes; then allocate all of it */

/* The mark before a fragment: its length, and if it is the last one. */
struct rpc_mark {
	uint32_t len;
	bool last;
};

static inline struct rpc_mark
rpc_mark_get(const uint8_t in[RPC_MARK_SIZE])
{
	uint32_t word = (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 |
	    (uint32_t)in[2] << 8 | in[3];

	return (struct rpc_mark){ word & ~RPC_MARK_LAST,
		(word & RPC_MARK_LAST) != 0 };
}

/* Writes the mark of a record of one fragment. Tern sends no others. */
static inline void
rpc_mark_put(uint8_t out[RPC_MARK_SIZE], size_t len)
{
	uint32_t word = RPC_MARK_LAST | (uint32_t)len;

	out[0] = (uint8_t)(word >> 24);
	out[1] = (uint8_t)(word >> 16);
	out[2] = (uint8_t)(word >> 8);
	out[3] = (uint8_t)word;
}

struct rpc_record {
	uint8_t *buf; /* NULL unless a record is incomplete */
	size_t len, cap;
	uint32_t left; /* bytes left of the fragment */
	unsigned int fragments, empty;
	uint8_t mark[RPC_MARK_SIZE];
	uint8_t have; /* bytes of the mark that have arrived */
	bool last;
	bool done; /* the last call returned buf */
};

enum rpc_record_state {
	RPC_RECORD_MORE, /* all input is consumed */
	RPC_RECORD_DONE, /* *msg is a record */
	RPC_RECORD_LONG, /* longer than record_max */
	RPC_RECORD_FRAGMENTS, /* too many fragments */
	RPC_RECORD_MEMORY
};

/* Frees the memory. A zeroed struct is the start state. */
void rpc_record_clear(struct rpc_record *);
/* Has part of a record arrived? */
static inline bool
rpc_record_partial(const struct rpc_record *r)
{
	return !r->done && (r->have != 0 || r->fragments != 0);
}
/*
 * Consumes input from *data up to the end of a record. The record points into
 * *data or into its own memory. It is valid until the next call.
 */
enum rpc_record_state rpc_record_next(struct rpc_record *, size_t record_max,
    unsigned int fragments_max, const uint8_t **data, size_t *len,
    const uint8_t **msg, size_t *msglen);
/*
 * Returns the size of the memory that the next bytes of the stream can be read
 * into directly; 0 if there is none. rpc_record_filled() says how many bytes
 * were read.
 */
size_t rpc_record_room(const struct rpc_record *, uint8_t **at);
void rpc_record_filled(struct rpc_record *, size_t);

/* Waiting bytes: input not yet served, or output not yet sent. */
struct rpc_bytes {
	uint8_t *buf;
	size_t at, len, cap; /* buf[at..len) waits */
};

/* Appends data. Returns false if there is no memory. */
bool rpc_bytes_add(struct rpc_bytes *, const void *data, size_t len);
/* Is the first record of the data complete and in one fragment? */
bool rpc_record_is_whole(const uint8_t *data, size_t len);

#endif
