/* SPDX-License-Identifier: ISC */
/*
 * Record marking (RFC 5531, section 11): a byte stream in, whole records out.
 * A record that arrives in one piece is handed on where it lies; only an
 * incomplete one is copied, into memory that grows with what has arrived, not
 * with what was announced.
 * Runs in: the process that reads the network; fuzzers.
 */
#ifndef RPC_RECORD_H
#define RPC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_MARK_SIZE	     4
#define RPC_MARK_LAST	     0x80000000u
#define RPC_RECORD_EMPTY_MAX 16 /* fragments without a byte, per record */
#define RPC_RECORD_TRUST     65536 /* arrived: the rest is believed */

/* What precedes a fragment: its length, and whether it ends the record. */
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

/* Of a record of one fragment, as all that we send. */
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
	uint32_t left; /* of the fragment */
	unsigned int fragments, empty;
	uint8_t mark[RPC_MARK_SIZE];
	uint8_t have; /* bytes of the mark */
	bool last;
	bool done; /* the last call gave out buf */
};

enum rpc_record_state {
	RPC_RECORD_MORE, /* all input is used up */
	RPC_RECORD_DONE, /* *msg is a record */
	RPC_RECORD_LONG, /* longer than record_max */
	RPC_RECORD_FRAGMENTS, /* too many fragments */
	RPC_RECORD_MEMORY
};

/* A cleared struct is the start state. */
void rpc_record_clear(struct rpc_record *);
/* Has part of a record arrived? */
bool rpc_record_partial(const struct rpc_record *);
/*
 * Takes from *data what it needs for one record. The record lies in *data's
 * memory or in its own; it is valid until the next call.
 */
enum rpc_record_state rpc_record_next(struct rpc_record *, size_t record_max,
    unsigned int fragments_max, const uint8_t **data, size_t *len,
    const uint8_t **msg, size_t *msglen);
/*
 * Memory where the next bytes of the stream belong if they are read there
 * directly; 0 when they do not go to one place. rpc_record_filled() tells how
 * many came.
 */
size_t rpc_record_room(const struct rpc_record *, uint8_t **at);
void rpc_record_filled(struct rpc_record *, size_t);

#endif
