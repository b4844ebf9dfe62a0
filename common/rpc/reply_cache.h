/* SPDX-License-Identifier: ISC */
/*
 * Replies to calls that must not be executed twice, kept for the client that
 * sends the same call again because the reply got lost. Fixed memory: a full
 * cache forgets the oldest, and a client that fills its share forgets its own.
 * Runs in: the process that reads the network, event loop only.
 */
#ifndef RPC_REPLY_CACHE_H
#define RPC_REPLY_CACHE_H

#include "rpc/rpc.h"

#define REPLY_CACHE_REPLY_MAX 512 /* longer replies are not kept */
#define REPLY_CACHE_SUM_MAX   4096 /* argument bytes that are summed */
#define REPLY_CACHE_SECONDS   120 /* a repeat after this is a new call */
#define REPLY_CACHE_SHARE     4 /* one client may hold 1/4 of all entries */

struct reply_cache;
struct reply_cache_entry;

/*
 * Everything that makes two calls the same call. The sum covers the arguments,
 * the credential, the caller and the xid under a random key: it is the hash.
 */
struct reply_cache_key {
	struct addr from;
	uint32_t xid, prog, vers, proc;
	size_t len;
	uint64_t sum;
};

enum reply_cache_found {
	REPLY_CACHE_NEW, /* not seen; an entry in progress was made */
	REPLY_CACHE_BUSY, /* being executed now: drop the repeat */
	REPLY_CACHE_HIT, /* answered before: send that reply again */
	REPLY_CACHE_FULL /* everything is in progress; execute without */
};

struct reply_cache_stats {
	uint64_t hits, busy, misses, evicted, too_long;
};

struct reply_cache *reply_cache_new(size_t entries);
void reply_cache_free(struct reply_cache *);
void reply_cache_key(const struct reply_cache *, struct reply_cache_key *,
    const struct rpc_call *, const uint8_t *args, size_t len);
/* The entry is valid for NEW and HIT, until the next find or finish. */
enum reply_cache_found reply_cache_find(struct reply_cache *,
    const struct reply_cache_key *, uint64_t now_ns,
    struct reply_cache_entry **);
struct slice reply_cache_reply(const struct reply_cache_entry *);
/* Ends what NEW began, with the reply to keep, or NULL to forget the call. */
void reply_cache_finish(struct reply_cache *, struct reply_cache_entry *,
    const uint8_t *reply, size_t len);
const struct reply_cache_stats *reply_cache_stats(const struct reply_cache *);

#endif
