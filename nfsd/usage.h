/* SPDX-License-Identifier: ISC */
/*
 * Counters of a worker for each export, and for each client in each export, in
 * memory shared with the parent: see stats.h. And the last calls, while an
 * administrator looks at them. All tables have a fixed size. What was not used
 * for longest makes room.
 *
 * The event loop of the worker is the only writer. A reader believes nothing in
 * this memory: usage_copy() says whether a row is whole, and every number of it
 * may still be wrong. There is no text in it but names of files.
 * Runs in: nfsd worker (counts), nfsd parent (reads).
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define USAGE_BUCKETS 24 /* latency: bucket i holds up to 2^i microseconds */
#define USAGE_EXPORTS 256
#define USAGE_CLIENTS 512
#define USAGE_WAYS    4 /* rows that a key may use */
#define USAGE_RECENT  256
#define USAGE_NAME    64 /* bytes that are kept of a name */

/* How a client called: bits of usage_row.kinds. */
#define USAGE_V2  0x01u
#define USAGE_V3  0x02u
#define USAGE_UDP 0x04u
#define USAGE_TCP 0x08u
#define USAGE_TLS 0x10u

/* What happened in one call. */
struct usage_call {
	uint64_t now_ns; /* clock_ns() at its end */
	uint64_t ns; /* that it took */
	unsigned int bucket; /* of ns: stats_bucket() */
	bool failed;
	bool refused; /* by client, handle or read-only export */
	uint64_t read, written; /* bytes */
	uint32_t kinds;
};

enum usage_count {
	USAGE_CALLS,
	USAGE_ERRORS,
	USAGE_REFUSED,
	USAGE_READ,
	USAGE_WRITTEN,
	USAGE_NS,
	USAGE_COUNTS
};

/* An export (from.family is 0), or a client in an export (export 0: none). */
struct usage_row {
	_Atomic uint64_t turn; /* odd: it changes hands; 0: never used */
	struct addr from; /* without port */
	uint32_t export; /* its number */
	_Atomic uint32_t kinds;
	_Atomic uint64_t since, last; /* clock_ns() */
	_Atomic uint64_t counts[USAGE_COUNTS];
	_Atomic uint64_t latency[USAGE_BUCKETS];
};

/* A call, for an administrator that looks. */
struct usage_recent {
	_Atomic uint64_t turn;
	uint64_t at_ns;
	struct addr from;
	uint32_t export, version, procedure, status;
	uint32_t uid; /* as the client sent it */
	uint32_t times; /* so many such calls in a row */
	uint64_t fileid; /* of the object; 0: not known */
	uint32_t len; /* of the name; 0: none */
	uint8_t name[USAGE_NAME];
};

struct usage {
	struct usage_row exports[USAGE_EXPORTS];
	struct usage_row clients[USAGE_CLIENTS];
	_Atomic uint64_t replaced; /* clients that made room */
	_Atomic uint64_t nrecent; /* ever; the last are in the ring */
	struct usage_recent recent[USAGE_RECENT];
};

/* The rows of the last call: the next one mostly needs the same. */
struct usage_memo {
	struct addr from;
	uint32_t export;
	struct usage_row *rows[2]; /* NULL: none yet */
};

/* Counts a call of this client in this export; 0: in none. */
void usage_count(struct usage *, struct usage_memo *, const struct addr *from,
    uint32_t export, const struct usage_call *);
/* Keeps a call, or counts it if it is like one of the last few. */
void usage_note(struct usage *, const struct usage_recent *);

/*
 * Copies a row. Returns false if it was never used, or changed hands meanwhile.
 */
bool usage_copy(const struct usage_row *, struct usage_row *);
bool usage_copy_recent(const struct usage_recent *, struct usage_recent *);

#endif
