/* SPDX-License-Identifier: ISC */
/*
 * How much a client may use of something: buckets that fill at a steady rate,
 * and a table with one for each client. And which clients have proven by a TCP
 * connection that their address is theirs; the sender of a datagram can be
 * forged. Memory is fixed: many clients never get more than few do.
 * Runs in: the process that reads the network; parents make shared memory.
 */
#ifndef BASE_METER_H
#define BASE_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/hash.h"

/* Zeroed, it fills up to the burst at its first use. */
struct bucket {
	uint64_t level; /* thousandths */
	uint64_t at_ms; /* of that level; 0: never used */
};

struct bucket_rate {
	uint64_t per_second;
	uint64_t burst; /* the most that a bucket holds */
};

/* Takes n from the bucket. Returns false and takes nothing if it has less. */
bool bucket_take(struct bucket *, const struct bucket_rate *, uint64_t n,
    uint64_t now_ms);

/* Puts n back that were taken before. */
void bucket_give(struct bucket *, uint64_t n);

struct meter;

/* Never returns NULL. */
struct meter *meter_new(const struct bucket_rate *);
void meter_free(struct meter *);
/*
 * Takes n from the bucket of a client, see addr_client(). A client that gets
 * the bucket of another one finds no more in it than was left.
 */
bool meter_take(struct meter *, const struct addr *, uint64_t n,
    uint64_t now_ms);

void meter_give(struct meter *, const struct addr *, uint64_t n);

#define PROOFS_SLOTS   4096
#define PROOFS_MINUTES 10 /* a proof is good for this time */

/*
 * Addresses with a TCP connection now or a short time ago. Processes may share
 * it. A later address may displace an earlier one.
 */
struct proofs {
	struct hash_key key; /* set before it is shared */
	_Atomic uint64_t slots[PROOFS_SLOTS];
};

void proofs_add(struct proofs *, const struct addr *, uint64_t now_ms);
bool proofs_have(struct proofs *, const struct addr *, uint64_t now_ms);

#endif
