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

#define RPC_CACHE_REPLY_MAX 512 /* longer replies are not kept */
#define RPC_CACHE_SUM_MAX   4096 /* argument bytes that are summed */
#define RPC_CACHE_SECONDS   120 /* a repeat after this is a new call */
#define RPC_CACHE_SHARE	    4 /* one client may hold 1/4 of all entries */

struct rpc_cache;
struct rpc_cache_entry;

/*
 * Everything that makes two calls the same call. The sum covers the arguments,
 * the credential, the caller and the xid under a random key: it is the hash.
 */
struct rpc_cache_key {
	struct addr from;
	uint32_t xid, prog, vers, proc;
	size_t len;
	uint64_t sum;
};

enum rpc_cache_found {
	RPC_CACHE_NEW, /* not seen; an entry in progress was made */
	RPC_CACHE_BUSY, /* being executed now: drop the repeat */
	RPC_CACHE_HIT, /* answered before: send that reply again */
	RPC_CACHE_FULL /* everything is in progress; execute without */
};

struct rpc_cache_stats {
	uint64_t hits, busy, misses, evicted, too_long;
};

struct rpc_cache *rpc_cache_new(size_t entries);
void rpc_cache_free(struct rpc_cache *);
void rpc_cache_key(const struct rpc_cache *, struct rpc_cache_key *,
    const struct rpc_call *, const uint8_t *args, size_t len);
/* The entry is valid for NEW and HIT, until the next find or finish. */
enum rpc_cache_found rpc_cache_find(struct rpc_cache *,
    const struct rpc_cache_key *, uint64_t now_ns, struct rpc_cache_entry **);
struct slice rpc_cache_reply(const struct rpc_cache_entry *);
/* Ends what NEW began, with the reply to keep, or NULL to forget the call. */
void rpc_cache_finish(struct rpc_cache *, struct rpc_cache_entry *,
    const uint8_t *reply, size_t len);
const struct rpc_cache_stats *rpc_cache_stats(const struct rpc_cache *);

#endif
