/* SPDX-License-Identifier: ISC */
/*
 * Caches the replies of calls that must not run twice. If a reply is lost, the
 * client repeats the call and gets the cached reply. Memory is fixed: a full
 * cache evicts the oldest entry of the client that has most. A client that has
 * used its share evicts its own oldest entry. The reply to a call that was
 * refused before it did anything is not kept.
 * Runs in: the process that reads the network, event loop only.
 */
#ifndef RPC_REPLY_CACHE_H
#define RPC_REPLY_CACHE_H

#include "rpc/rpc.h"

#define REPLY_CACHE_REPLY_MAX 512 /* longer replies are not kept */
#define REPLY_CACHE_SUM_MAX   4096 /* argument bytes that are hashed */
#define REPLY_CACHE_SECONDS   120 /* an entry expires after this time */
#define REPLY_CACHE_SHARE     4 /* one client may hold 1/4 of all entries */

struct reply_cache;
struct reply_cache_entry;

/*
 * The key of a call: equal keys are the same call. sum is a keyed hash of
 * arguments, credential, caller, what TLS proved about it, and xid.
 */
struct reply_cache_key {
	struct addr from;
	uint32_t xid, prog, vers, proc;
	size_t len;
	uint64_t sum;
};

enum reply_cache_found {
	REPLY_CACHE_NEW, /* miss: an entry in progress was made */
	REPLY_CACHE_BUSY, /* in progress: drop the repeat */
	REPLY_CACHE_HIT, /* hit: send the cached reply */
	REPLY_CACHE_FULL /* all entries are in progress: run without caching */
};

struct reply_cache_stats {
	uint64_t hits, busy, misses, evicted, too_long;
};

struct reply_cache *reply_cache_new(size_t entries);
void reply_cache_free(struct reply_cache *);
void reply_cache_key(const struct reply_cache *, struct reply_cache_key *,
    const struct rpc_call *, const uint8_t *args, size_t len);
/*
 * Looks a call up. The entry is valid for NEW and HIT, until the next find or
 * finish.
 */
enum reply_cache_found reply_cache_find(struct reply_cache *,
    const struct reply_cache_key *, uint64_t now_ns,
    struct reply_cache_entry **);
struct slice reply_cache_reply(const struct reply_cache_entry *);
/*
 * Finishes an entry of NEW. Keeps the reply, or if it is NULL, forgets the
 * call.
 */
void reply_cache_finish(struct reply_cache *, struct reply_cache_entry *,
    const uint8_t *reply, size_t len);
const struct reply_cache_stats *reply_cache_stats(const struct reply_cache *);

#endif
