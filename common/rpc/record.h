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

#define RPC_RECORD_LAST	     0x80000000u
#define RPC_RECORD_EMPTY_MAX 16 /* fragments without a byte, per record */
#define RPC_RECORD_TRUST     65536 /* arrived: the rest is believed */

struct rpc_record {
	uint8_t *buf; /* NULL unless a record is incomplete */
	size_t len, cap;
	uint32_t left; /* of the fragment */
	unsigned int fragments, empty;
	uint8_t mark[4];
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
