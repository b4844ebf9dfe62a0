/* SPDX-License-Identifier: ISC */
/*
 * The duplicate request cache: see reply_cache.h. Entries are in one array and
 * linked twice: by hash, and by age within their client. An entry in progress is
 * in no age list, so it cannot be evicted before it is finished.
 *
 * Each entry has a row (rpc/reply_rows.h), in memory that may outlive this
 * process. A row is whole before the call is answered. So a process that is killed
 * leaves no half of a reply behind. The rows of a predecessor are read once, at the
 * start, and each is checked: the predecessor may have been compromised. After that
 * the entries say what is where.
 * Runs in: the process that reads the network, event loop only, but for
 * reply_cache_keep().
 */
#include <sys/queue.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rank.h"
#include "rpc/reply_cache.h"
#include "rpc/reply_rows.h"

#define CHAIN_MAX 32 /* rows of a predecessor with one hash; more are forged */

struct cache_client;

struct reply_cache_entry {
	struct reply_cache_key key;
	LIST_ENTRY(reply_cache_entry) hash;
	TAILQ_ENTRY(reply_cache_entry) own; /* by age, of its client */
	struct cache_client *client;
	struct reply_cache *cache;
	uint32_t slot; /* of the index, which has its row */
	uint64_t made_ns;
	struct deferred *call; /* while busy */
	bool busy;
	bool too_long;
	uint32_t len; /* of the reply; 0: none was kept */
};

TAILQ_HEAD(entry_list, reply_cache_entry);
LIST_HEAD(entry_bucket, reply_cache_entry);

/* One client, with any port. There are at most as many as entries. */
struct cache_client {
	struct addr host; /* see addr_client() */
	struct rank_member kept; /* how many finished ones it has */
	LIST_ENTRY(cache_client) hash;
	struct entry_list entries; /* finished ones, oldest first */
	size_t count; /* including those in progress */
};

LIST_HEAD(client_bucket, cache_client);

struct reply_cache {
	struct reply_cache_entry *entries;
	size_t nentries;
	struct reply_rows rows; /* one for each entry */
	struct reply_rows *siblings; /* of other processes */
	size_t nsiblings;
	void *own; /* the memory of the rows, or NULL */
	struct cache_client *clients;
	struct entry_bucket *buckets;
	struct client_bucket *client_buckets;
	struct entry_bucket unused;
	struct client_bucket clients_unused;
	struct rank by_kept; /* clients */
	size_t nbuckets; /* a power of two */
	size_t share;
	struct reply_cache_stats stats;
	struct hash_key secret;
};

static void *
must_calloc(size_t n, size_t size)
{
	void *p;

	p = calloc(n, size);
	if (p == NULL)
		fatal("reply cache: %zu entries", n);
	return p;
}

size_t
reply_cache_memory(size_t entries)
{
	return reply_rows_memory(entries);
}

struct reply_cache *
reply_cache_new(size_t entries, void *memory, const struct hash_key *secret)
{
	struct reply_cache *c;
	size_t i;

	c = must_calloc(1, sizeof(*c));
	for (c->nbuckets = 16; c->nbuckets < entries;)
		c->nbuckets *= 2;
	c->share = entries / REPLY_CACHE_SHARE;
	if (c->share == 0)
		c->share = 1;
	c->nentries = entries;
	c->entries = must_calloc(entries, sizeof(*c->entries));
	if (memory == NULL)
		memory = c->own = must_calloc(1, reply_cache_memory(entries));
	reply_rows_at(&c->rows, memory, entries);
	c->clients = must_calloc(entries, sizeof(*c->clients));
	c->buckets = must_calloc(c->nbuckets, sizeof(*c->buckets));
	c->client_buckets =
	    must_calloc(c->nbuckets, sizeof(*c->client_buckets));
	rank_init(&c->by_kept);
	for (i = entries; i-- > 0;) {
		c->entries[i].cache = c;
		LIST_INSERT_HEAD(&c->unused, &c->entries[i], hash);
		TAILQ_INIT(&c->clients[i].entries);
		c->clients[i].kept.owner = &c->clients[i];
		LIST_INSERT_HEAD(&c->clients_unused, &c->clients[i], hash);
	}
	if (secret != NULL)
		c->secret = *secret;
	else
		hash_key_random(&c->secret);
	return c;
}

void
reply_cache_free(struct reply_cache *c)
{
	if (c == NULL)
		return;
	free(c->own);
	free(c->siblings);
	free(c->entries);
	free(c->clients);
	free(c->buckets);
	free(c->client_buckets);
	free(c);
}

static uint64_t
sum_host(const struct reply_cache *c, const struct addr *host)
{
	uint8_t flat[sizeof(host->bytes) + sizeof(host->scope) + 1];

	memcpy(flat, host->bytes, sizeof(host->bytes));
	memcpy(flat + sizeof(host->bytes), &host->scope, sizeof(host->scope));
	flat[sizeof(flat) - 1] = host->family;
	return hash_bytes(&c->secret, flat, sizeof(flat));
}

void
reply_cache_key(const struct reply_cache *c, struct reply_cache_key *key,
    const struct rpc_call *call, const uint8_t *args, size_t len)
{
	uint64_t parts[5];

	memset(key, 0, sizeof(*key));
	key->from = call->peer->from;
	key->xid = call->xid;
	key->prog = call->prog->prog;
	key->vers = call->vers->vers;
	key->proc = call->procnum;
	key->len = len;
	parts[0] = hash_bytes(&c->secret, args,
	    len < REPLY_CACHE_SUM_MAX ? len : REPLY_CACHE_SUM_MAX);
	/* Without padding, and zero after ngids. */
	parts[1] = hash_bytes(&c->secret, &call->cred, sizeof(call->cred));
	/*
	 * Clients choose these values. The secret keeps them from aiming at a
	 * bucket.
	 */
	parts[2] = sum_host(c, &key->from);
	parts[3] = (uint64_t)key->from.port << 32 | key->xid;
	/* What TLS proved: no peer gets the reply of another. */
	parts[4] = peer_key(call->peer->identity);
	key->sum = hash_bytes(&c->secret, parts, sizeof(parts));
}

static struct entry_bucket *
bucket_of(struct reply_cache *c, const struct reply_cache_key *key)
{
	return &c->buckets[key->sum & (c->nbuckets - 1)];
}

static struct cache_client *
client_find(struct reply_cache *c, const struct addr *from, bool make)
{
	struct addr host = addr_client(from);
	struct client_bucket *bucket;
	struct cache_client *cl;

	bucket = &c->client_buckets[sum_host(c, &host) & (c->nbuckets - 1)];
	LIST_FOREACH (cl, bucket, hash)
		if (addr_same_host(&cl->host, &host))
			return cl;
	cl = LIST_FIRST(&c->clients_unused);
	if (!make || cl == NULL)
		return NULL;
	LIST_REMOVE(cl, hash);
	LIST_INSERT_HEAD(bucket, cl, hash);
	cl->host = host;
	cl->count = 0;
	return cl;
}

static size_t
row_of(const struct reply_cache_entry *e)
{
	return (size_t)(e - e->cache->entries);
}

/* Puts an entry on the unused list. It must be in no age list. */
static void
entry_release(struct reply_cache *c, struct reply_cache_entry *e)
{
	reply_rows_end(&c->rows, row_of(e), e->slot);
	LIST_REMOVE(e, hash);
	LIST_INSERT_HEAD(&c->unused, e, hash);
	if (--e->client->count == 0) {
		LIST_REMOVE(e->client, hash);
		LIST_INSERT_HEAD(&c->clients_unused, e->client, hash);
	}
}

static void
entry_evict(struct reply_cache *c, struct reply_cache_entry *e)
{
	struct cache_client *cl = e->client;

	TAILQ_REMOVE(&cl->entries, e, own);
	rank_set(&c->by_kept, &cl->kept, cl->kept.n - 1);
	entry_release(c, e);
}

/*
 * Returns an unused entry for this host, or NULL. May evict the oldest entry of
 * the host, or of the client with most.
 */
static struct reply_cache_entry *
entry_take(struct reply_cache *c, const struct addr *host)
{
	struct cache_client *cl;
	struct reply_cache_entry *victim;

	victim = NULL;
	cl = client_find(c, host, false);
	if (cl != NULL && cl->count >= c->share) {
		victim = TAILQ_FIRST(&cl->entries);
		if (victim == NULL)
			return NULL;
	} else if (LIST_EMPTY(&c->unused)) {
		cl = rank_greatest(&c->by_kept);
		victim = cl == NULL ? NULL : TAILQ_FIRST(&cl->entries);
	}
	if (victim != NULL) {
		c->stats.evicted++;
		entry_evict(c, victim);
	}
	return LIST_FIRST(&c->unused);
}

/* Gives an unused entry to a call. */
static void
entry_begin(struct reply_cache *c, struct reply_cache_entry *e,
    const struct reply_cache_key *key, uint64_t now_ns)
{
	LIST_REMOVE(e, hash);
	LIST_INSERT_HEAD(bucket_of(c, key), e, hash);
	e->client = client_find(c, &key->from, true);
	e->client->count++;
	e->key = *key;
	e->made_ns = now_ns & ~ROWS_RUNNING;
	e->call = NULL;
	e->busy = true;
	e->too_long = false;
	e->len = 0;
}

static struct reply_cache_entry *
entry_find(struct reply_cache *c, const struct reply_cache_key *key,
    unsigned int *chain)
{
	struct reply_cache_entry *e;

	*chain = 0;
	LIST_FOREACH (e, bucket_of(c, key), hash) {
		if (reply_cache_same(&e->key, key))
			break;
		(*chain)++;
	}
	return e;
}

enum reply_cache_found
reply_cache_find(struct reply_cache *c, const struct reply_cache_key *key,
    uint64_t now_ns, struct reply_cache_entry **out)
{
	struct reply_cache_entry *e;
	unsigned int chain;

	e = entry_find(c, key, &chain);
	if (e != NULL && e->busy) {
		c->stats.busy++;
		*out = e;
		return REPLY_CACHE_BUSY;
	}
	if (e != NULL && reply_cache_is_fresh(e->made_ns, now_ns)) {
		c->stats.hits++;
		*out = e;
		return REPLY_CACHE_HIT;
	}
	if (e != NULL)
		entry_evict(c, e);
	c->stats.misses++;
	*out = entry_take(c, &key->from);
	if (*out == NULL)
		return REPLY_CACHE_FULL;
	entry_begin(c, *out, key, now_ns);
	reply_rows_begin(&c->rows, row_of(*out), key, (*out)->made_ns,
	    &(*out)->slot);
	return REPLY_CACHE_NEW;
}

struct slice
reply_cache_reply(const struct reply_cache_entry *e)
{
	struct slice s = { .data = e->cache->rows.rows[row_of(e)].reply,
		.len = e->len };

	return s;
}

void
reply_cache_set_call(struct reply_cache_entry *e, struct deferred *call)
{
	e->call = call;
}

struct deferred *
reply_cache_call(const struct reply_cache_entry *e)
{
	return e->call;
}

void
reply_cache_keep(struct reply_cache_entry *e, const uint8_t *reply, size_t len)
{
	struct reply_row *row = &e->cache->rows.rows[row_of(e)];

	e->too_long = len > sizeof(row->reply);
	if (e->too_long)
		return;
	row->len = e->len = (uint32_t)len;
	memcpy(row->reply, reply, len);
	reply_rows_keep(&e->cache->rows, row_of(e), e->made_ns);
}

void
reply_cache_finish(struct reply_cache *c, struct reply_cache_entry *e)
{
	if (e->too_long)
		c->stats.too_long++;
	if (e->len == 0) {
		entry_release(c, e);
		return;
	}
	e->busy = false;
	TAILQ_INSERT_TAIL(&e->client->entries, e, own);
	rank_set(&c->by_kept, &e->client->kept, e->client->kept.n + 1);
}

/*
 * Reads the row of an unused entry. Only the copy is checked and believed.
 * Returns false if it is of no use.
 */
static bool
entry_recall(struct reply_cache *c, struct reply_cache_entry *e,
    uint64_t now_ns)
{
	struct reply_cache_entry *old;
	struct cache_client *cl;
	struct reply_row row;
	unsigned int chain;

	if ((e->made_ns & ROWS_RUNNING) != 0 ||
	    !reply_cache_is_fresh(e->made_ns, now_ns))
		return false;
	memcpy(&row, &c->rows.rows[row_of(e)], sizeof(row));
	if (!reply_row_is_sound(&row))
		return false;
	old = entry_find(c, &row.key, &chain);
	cl = client_find(c, &row.key.from, false);
	if (old != NULL || chain >= CHAIN_MAX ||
	    (cl != NULL && cl->count >= c->share))
		return false;
	entry_begin(c, e, &row.key, e->made_ns);
	e->slot = reply_rows_recall(&c->rows, row_of(e), row.key.sum);
	e->busy = false;
	e->len = (uint32_t)row.len;
	TAILQ_INSERT_HEAD(&e->client->entries, e, own);
	rank_set(&c->by_kept, &e->client->kept, e->client->kept.n + 1);
	return true;
}

static int
newest_first(const void *a, const void *b)
{
	const struct reply_cache_entry *const *x = a, *const *y = b;

	return ((*x)->made_ns < (*y)->made_ns) -
	    ((*x)->made_ns > (*y)->made_ns);
}

/* Clears the slots of a predecessor that have the row of no entry. */
static void
forget_slots(struct reply_cache *c)
{
	uint32_t i, value;

	for (i = 0; i < c->rows.nslots; i++) {
		value = c->rows.slots[i];
		if (value != 0 &&
		    (value > c->nentries || c->entries[value - 1].slot != i))
			c->rows.slots[i] = 0;
	}
}

size_t
reply_cache_recall(struct reply_cache *c, uint64_t now_ns)
{
	struct reply_cache_entry **order;
	size_t i, n = 0;

	order = must_calloc(c->nentries, sizeof(*order));
	for (i = 0; i < c->nentries; i++) {
		order[i] = &c->entries[i];
		order[i]->made_ns = c->rows.times[i];
		order[i]->slot = ROWS_NO_SLOT;
	}
	qsort(order, c->nentries, sizeof(*order), newest_first);
	for (i = 0; i < c->nentries; i++) {
		if (entry_recall(c, order[i], now_ns))
			n++;
		else if (order[i]->made_ns != 0)
			c->rows.times[row_of(order[i])] = 0;
	}
	free(order);
	forget_slots(c);
	return n;
}

const struct reply_cache_stats *
reply_cache_stats(const struct reply_cache *c)
{
	return &c->stats;
}

void
reply_cache_siblings(struct reply_cache *c, void *const *memory, size_t n)
{
	size_t i;

	c->siblings = must_calloc(n, sizeof(*c->siblings));
	for (i = 0; i < n; i++)
		reply_rows_at(&c->siblings[i], memory[i], c->nentries);
	c->nsiblings = n;
}

enum reply_cache_found
reply_cache_ask(struct reply_cache *c, struct reply_cache_entry *e,
    uint64_t now_ns)
{
	enum reply_cache_found found = REPLY_CACHE_NEW;
	struct reply_row row;
	uint64_t since_ns;
	size_t i;

	/* Of two that begin the same call at once, one sees the other at least. */
	atomic_thread_fence(memory_order_seq_cst);
	if (now_ns == 0)
		now_ns = clock_ns();
	for (i = 0; i < c->nsiblings && found == REPLY_CACHE_NEW; i++)
		found = reply_rows_find(&c->siblings[i], &e->key, now_ns, &row,
		    &since_ns);
	if (found == REPLY_CACHE_NEW)
		return found;
	c->stats.misses--;
	if (found == REPLY_CACHE_HIT) {
		c->stats.hits++;
		reply_cache_keep(e, row.reply, (size_t)row.len);
		reply_cache_finish(c, e);
		return found;
	}
	c->stats.busy++;
	reply_cache_finish(c, e);
	return now_ns - since_ns < REPLY_CACHE_PATIENCE_NS ?
	    REPLY_CACHE_ELSEWHERE :
	    REPLY_CACHE_LOST;
}
