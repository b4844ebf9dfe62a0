/* SPDX-License-Identifier: ISC */
/*
 * Caches the replies of calls that must not run twice. If a reply is lost, the
 * client repeats the call and gets the cached reply. Memory is fixed: a full
 * cache evicts the oldest entry of the client that has most. A client that has
 * used its share evicts its own oldest entry. The reply to a call that was
 * refused before it did anything is not kept.
 *
 * The replies may lie in memory that outlives the process, and that its siblings
 * read. Then its successor answers repeats of calls that it never saw, and so do
 * they.
 * Runs in: the process that reads the network, event loop only, but for
 * reply_cache_keep().
 */
#ifndef RPC_REPLY_CACHE_H
#define RPC_REPLY_CACHE_H

#include "base/hash.h"
#include "rpc/rpc.h"

#define REPLY_CACHE_REPLY_MAX 512 /* longer replies are not kept */
#define REPLY_CACHE_SUM_MAX   4096 /* argument bytes that are hashed */
#define REPLY_CACHE_SECONDS   120 /* an entry expires after this time */
#define REPLY_CACHE_PATIENCE_NS                                                \
	UINT64_C(5000000000) /* a repeat waits for a sibling's call so long */
#define REPLY_CACHE_SHARE 4 /* one client may hold 1/4 of all entries */

struct deferred; /* a call on a file thread */
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
	REPLY_CACHE_BUSY, /* in progress: do not run the repeat */
	REPLY_CACHE_HIT, /* hit: send the cached reply */
	REPLY_CACHE_FULL, /* all entries are in progress: run without caching */
	REPLY_CACHE_ELSEWHERE, /* a sibling runs it: look again soon */
	REPLY_CACHE_LOST /* a sibling has run it for long: drop the repeat */
};

struct reply_cache_stats {
	uint64_t hits, busy, misses, evicted, too_long;
};

/* Returns the bytes of memory for so many entries. */
size_t reply_cache_memory(size_t entries);
/*
 * memory: reply_cache_memory() bytes that are zero or those of a predecessor;
 * NULL: its own. secret: of the keys, that of the predecessor too; NULL: random.
 */
struct reply_cache *reply_cache_new(size_t entries, void *memory,
    const struct hash_key *secret);
/*
 * Takes over the replies that lie in the memory, before anything else. Whatever
 * lies there, it does no more harm than a wrong reply. Returns how many.
 */
size_t reply_cache_recall(struct reply_cache *, uint64_t now_ns);
void reply_cache_free(struct reply_cache *);
void reply_cache_key(const struct reply_cache *, struct reply_cache_key *,
    const struct rpc_call *, const uint8_t *args, size_t len);
/*
 * Looks a call up. The entry is valid unless the cache is FULL, until the next find
 * or finish.
 */
enum reply_cache_found reply_cache_find(struct reply_cache *,
    const struct reply_cache_key *, uint64_t now_ns,
    struct reply_cache_entry **);
/*
 * Other processes have caches of as many entries with the same secret. Their memory
 * may be read only. Whatever they write there, it does no more harm than a wrong
 * reply. The list is copied.
 */
void reply_cache_siblings(struct reply_cache *, void *const *memory, size_t n);
/*
 * Looks an entry of NEW up in the caches of the siblings. NEW: none has it. Else
 * the entry is finished. HIT: it has their reply. now_ns 0: the clock is read
 * when the siblings can see the entry. A time before that would not do: the entry of
 * one that began meanwhile would seem to be of the future.
 */
enum reply_cache_found reply_cache_ask(struct reply_cache *,
    struct reply_cache_entry *, uint64_t now_ns);
struct slice reply_cache_reply(const struct reply_cache_entry *);
/*
 * Keeps the reply of an entry of NEW, from any thread. A repeat gets it after
 * reply_cache_finish(), and from a successor at once.
 */
void reply_cache_keep(struct reply_cache_entry *, const uint8_t *reply,
    size_t len);
/* Sets which call an entry of NEW is, and returns it: NULL until it was set. */
void reply_cache_set_call(struct reply_cache_entry *, struct deferred *);
struct deferred *reply_cache_call(const struct reply_cache_entry *);
/* Finishes an entry of NEW. If no reply was kept, forgets the call. */
void reply_cache_finish(struct reply_cache *, struct reply_cache_entry *);
const struct reply_cache_stats *reply_cache_stats(const struct reply_cache *);

#endif
