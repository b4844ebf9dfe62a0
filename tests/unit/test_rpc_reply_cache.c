/* SPDX-License-Identifier: ISC */
/*
 * The reply cache: which calls are repeats, and which entries are evicted when
 * it is full.
 * Runs in: tests.
 */
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "rpc/reply_cache.h"
#include "rpc/reply_rows.h"
#include "stub.h"
#include "tap.h"

#define SECOND UINT64_C(1000000000)

static struct reply_cache *cache;
static struct rpc_peer peer;
static struct rpc_call call;
static char args[64];

static void
reset(size_t entries)
{
	reply_cache_free(cache);
	cache = reply_cache_new(entries, NULL, NULL);
	memset(&call, 0, sizeof(call));
	memset(&peer, 0, sizeof(peer));
	(void)addr_parse(&peer.from, "192.0.2.1:700");
	call.peer = &peer;
	call.prog = &stub_prog;
	call.vers = &stub_prog.vers[0];
	call.procnum = STUB_COUNT;
	call.xid = 1;
	call.cred.flavor = AUTH_SYS;
	memset(args, 'a', sizeof(args));
}

static enum reply_cache_found
find(size_t len, uint64_t now, struct reply_cache_entry **e)
{
	struct reply_cache_key key;

	reply_cache_key(cache, &key, &call, (const uint8_t *)args, len);
	return reply_cache_find(cache, &key, now, e);
}

static void
finish_with(struct reply_cache_entry *e, const void *reply, size_t len)
{
	reply_cache_keep(e, reply, len);
	reply_cache_finish(cache, e);
}

/* Executes the call of this xid. */
static void
answer(uint32_t xid)
{
	struct reply_cache_entry *e;

	call.xid = xid;
	if (find(16, SECOND, &e) == REPLY_CACHE_NEW)
		finish_with(e, "reply", 5);
}

static enum reply_cache_found
ask(uint32_t xid)
{
	struct reply_cache_entry *e;
	enum reply_cache_found found;

	call.xid = xid;
	found = find(16, SECOND, &e);
	if (found == REPLY_CACHE_NEW)
		reply_cache_finish(cache, e);
	return found;
}

static void
test_life(void)
{
	struct reply_cache_entry *e;
	struct slice reply;

	reset(16);
	cmp_ok(find(16, SECOND, &e), "==", REPLY_CACHE_NEW,
	    "a new call is a miss");
	cmp_ok(find(16, SECOND, &e), "==", REPLY_CACHE_BUSY,
	    "its repeat is dropped while it runs");
	finish_with(e, "reply", 5);
	cmp_ok(find(16, 2 * SECOND, &e), "==", REPLY_CACHE_HIT,
	    "its repeat is a hit after the reply");
	reply = reply_cache_reply(e);
	ok(reply.len == 5 && memcmp(reply.data, "reply", 5) == 0,
	    "the repeat gets the same reply");
	cmp_ok(find(16, (REPLY_CACHE_SECONDS + 2) * SECOND, &e),
	    "==", REPLY_CACHE_NEW, "an expired entry is a miss");
	reply_cache_finish(cache, e);
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "a forgotten call is a miss");
	cmp_ok(reply_cache_stats(cache)->hits, "==", 1, "hits are counted");
	cmp_ok(reply_cache_stats(cache)->busy, "==", 1, "drops are counted");
}

/* Each part of the key makes another call (CVE-1999-0165). */
static void
test_key(void)
{
	struct peer_identity one = { .key = 1 }, other = { .key = 2 };

	reset(64);
	answer(1);
	cmp_ok(ask(1), "==", REPLY_CACHE_HIT, "the same call is a hit");
	cmp_ok(ask(2), "==", REPLY_CACHE_NEW, "another xid");
	peer.from.port++;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another port");
	peer.from.port--;
	peer.from.bytes[3]++;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another address");
	peer.from.bytes[3]--;
	call.procnum++;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another procedure");
	call.procnum--;
	call.vers = &stub_prog.vers[1];
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another version");
	call.vers = &stub_prog.vers[0];
	call.cred.uid++;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another user");
	call.cred.uid--;
	args[3] = 'b';
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "other arguments");
	args[3] = 'a';
	peer.identity = &one;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "TLS in place of none");
	answer(1);
	peer.identity = &other;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "another certificate");
	peer.identity = NULL;
	cmp_ok(ask(1), "==", REPLY_CACHE_HIT, "the same call is still a hit");
}

static void
test_long_reply(void)
{
	static uint8_t big[REPLY_CACHE_REPLY_MAX + 1];
	struct reply_cache_entry *e;

	reset(16);
	(void)find(16, SECOND, &e);
	finish_with(e, big, sizeof(big));
	cmp_ok(find(16, SECOND, &e), "==", REPLY_CACHE_NEW,
	    "a reply longer than a slot is not cached");
	finish_with(e, big, sizeof(big) - 1);
	cmp_ok(find(16, SECOND, &e), "==", REPLY_CACHE_HIT,
	    "a reply that just fits is cached");
	cmp_ok(reply_cache_stats(cache)->too_long, "==", 1, "counted");
}

/* One client fills its share. The other client's entries stay. */
static void
test_share(void)
{
	uint32_t xid;

	reset(64);
	answer(1);
	peer.from.bytes[3]++;
	for (xid = 1; xid <= 1000; xid++)
		answer(xid);
	cmp_ok(ask(1000), "==", REPLY_CACHE_HIT, "its newest entry is a hit");
	cmp_ok(ask(1000 - 64 / REPLY_CACHE_SHARE + 1), "==", REPLY_CACHE_HIT,
	    "its whole share is used");
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW, "its oldest entry is evicted");
	peer.from.bytes[3]--;
	cmp_ok(ask(1), "==", REPLY_CACHE_HIT,
	    "the other client's entries are hits");
}

/* Many clients: the oldest entries are evicted. */
static void
test_total(void)
{
	unsigned int i;

	reset(64);
	answer(1);
	for (i = 0; i < 200; i++) {
		peer.from.bytes[2] = (uint8_t)(1 + i);
		answer(1);
	}
	cmp_ok(ask(1), "==", REPLY_CACHE_HIT,
	    "the newest client's entry is a hit");
	peer.from.bytes[2] = 2;
	cmp_ok(ask(1), "==", REPLY_CACHE_NEW,
	    "the oldest client's entry is evicted");
	cmp_ok(reply_cache_stats(cache)->evicted, ">=", 200 - 64, "counted");
}

/* Entries of calls in progress are never evicted. */
static void
test_all_busy(void)
{
	struct reply_cache_entry *e[8], *more;
	unsigned int i;

	reset(8);
	for (i = 0; i < 8; i++) {
		peer.from.bytes[3] = (uint8_t)i;
		(void)find(16, SECOND, &e[i]);
	}
	peer.from.bytes[3] = 100;
	cmp_ok(find(16, SECOND, &more), "==", REPLY_CACHE_FULL,
	    "a call runs without the cache if all entries are in progress");
	for (i = 0; i < 8; i++)
		finish_with(e[i], "r", 1);
	cmp_ok(find(16, SECOND, &more), "==", REPLY_CACHE_NEW,
	    "a call uses the cache again when they are done");
	reply_cache_finish(cache, more);
	reset(8);
	(void)find(16, SECOND, &e[0]);
	call.xid = 2;
	(void)find(16, SECOND, &e[1]);
	call.xid = 3;
	cmp_ok(find(16, SECOND, &more), "==", REPLY_CACHE_FULL,
	    "a call runs without the cache if its client's share is in progress");
}

/* Clients count xids in the upper bits, or choose them to make lookups slow. */
static void
test_spread(void)
{
	bool seen[256] = { false };
	struct reply_cache_key key;
	unsigned int i, used = 0;

	reset(16);
	for (i = 0; i < 256; i++) {
		call.xid = i << 24;
		reply_cache_key(cache, &key, &call, (const uint8_t *)args, 16);
		used += !seen[key.sum % 256];
		seen[key.sum % 256] = true;
	}
	cmp_ok(used, ">", 100, "calls spread, whatever their xids");
}

/* ---- memory that outlives a cache ---- */

#define ROWS 64

static const struct hash_key secret = { "tern tests" };
static uint64_t memory[(ROWS * 1024) / sizeof(uint64_t)];
static uint64_t beside[nitems(memory)]; /* of another process */

/* A cache on the memory, as it is. Returns how many replies it knows. */
static size_t
successor(uint64_t now)
{
	reset(ROWS);
	reply_cache_free(cache);
	cache = reply_cache_new(ROWS, memory, &secret);
	return reply_cache_recall(cache, now);
}

static void
fresh(void)
{
	memset(memory, 0, sizeof(memory));
	(void)successor(SECOND);
}

/* An accepted reply of 28 bytes to the call of this xid. */
static const uint8_t *
reply_to(uint32_t xid)
{
	static uint8_t out[28];

	memset(out, 0, sizeof(out));
	out[3] = (uint8_t)xid;
	out[2] = (uint8_t)(xid >> 8);
	out[7] = 1;
	return out;
}

/* Executes the call; the process is killed before the event loop sees it. */
static void
keep(uint32_t xid, uint64_t now)
{
	struct reply_cache_entry *e;

	call.xid = xid;
	if (find(16, now, &e) == REPLY_CACHE_NEW)
		reply_cache_keep(e, reply_to(xid), 28);
}

static void
test_successor(void)
{
	struct reply_cache_entry *e;

	ok(reply_cache_memory(ROWS) <= sizeof(memory), "the memory suffices");
	fresh();
	keep(1, SECOND);
	call.xid = 2;
	(void)find(16, SECOND, &e);
	cmp_ok(successor(2 * SECOND), "==", 1,
	    "a successor knows replies that were kept, and no call in progress");
	call.xid = 1;
	cmp_ok(find(16, 2 * SECOND, &e), "==", REPLY_CACHE_HIT,
	    "a repeat is a hit");
	ok(reply_cache_reply(e).len == 28 &&
		memcmp(reply_cache_reply(e).data, reply_to(1), 28) == 0,
	    "with the same bytes");
	cmp_ok(ask(2), "==", REPLY_CACHE_NEW, "what was in progress is new");
	cmp_ok(successor(2 * SECOND), "==", 1, "so does the one after it");
	cmp_ok(successor((REPLY_CACHE_SECONDS + 2) * SECOND), "==", 0,
	    "but nothing that has expired");
}

/* Writes a row as a compromised worker could. */
static void
forge(size_t i, uint8_t host, uint8_t xid, uint64_t sum)
{
	struct reply_row row = { .len = 28, .key = { .xid = xid, .sum = sum } };
	struct reply_rows rows;

	reply_rows_at(&rows, memory, ROWS);
	(void)addr_parse(&row.key.from, "192.0.2.1:700");
	row.key.from.bytes[3] = host;
	memcpy(row.reply, reply_to(xid), (size_t)row.len);
	rows.rows[i] = row;
	rows.times[i] = SECOND + 2 * i;
}

static void
test_forged(void)
{
	size_t i;

	fresh();
	for (i = 0; i < ROWS; i++)
		forge(i, 1, (uint8_t)i, i);
	cmp_ok(successor(2 * SECOND), "==", ROWS / REPLY_CACHE_SHARE,
	    "rows give one client no more than its share");
	for (i = 0; i < ROWS; i++)
		forge(i, (uint8_t)i, (uint8_t)i, 5);
	cmp_ok(successor(2 * SECOND), "==", 32, "few rows have one hash");
	for (i = 0; i < ROWS; i++)
		forge(i, 1, 1, 5);
	cmp_ok(successor(2 * SECOND), "==", 1, "one call is known once");
	forge(0, 1, 1, 5);
	cmp_ok(successor(SECOND - 1), "==", 0, "no row is of the future");
}

/* Whatever lies in the memory, a cache works, and lookups stay short. */
static void
test_hostile(void)
{
	uint8_t *bytes = (uint8_t *)memory;
	size_t i, n = 0, size = reply_cache_memory(ROWS);
	unsigned int round, found = 0;

	for (round = 0; round < 200; round++) {
		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)hash_mix(round * size + i);
		for (i = 0; i < ROWS && round % 2 == 0; i++)
			memory[i] = SECOND; /* whole, it says */
		n += successor(SECOND);
		answer(7);
		found += ask(7) == REPLY_CACHE_HIT;
	}
	ok(n == 0 && found == 200, "noise is refused, and the cache works");
	for (i = 0; i < size; i++) {
		fresh();
		keep(1, SECOND);
		bytes[i] ^= 0xff;
		(void)successor(SECOND);
		answer(7);
		n += ask(7) != REPLY_CACHE_HIT;
	}
	cmp_ok(n, "==", 0, "no byte that was changed breaks a successor");
}

/* ---- siblings ---- */

static struct reply_cache *sibling; /* has the memory; cache is beside it */

/* Has the sibling end as a worker that is killed, and its successor begin. */
static size_t
sibling_anew(uint64_t now)
{
	reply_cache_free(sibling);
	sibling = reply_cache_new(ROWS, memory, &secret);
	return reply_cache_recall(sibling, now);
}

static void
two_caches(void)
{
	void *of_sibling[] = { memory };

	memset(memory, 0, sizeof(memory));
	memset(beside, 0, sizeof(beside));
	(void)sibling_anew(SECOND);
	reset(ROWS);
	reply_cache_free(cache);
	cache = reply_cache_new(ROWS, beside, &secret);
	reply_cache_siblings(cache, of_sibling, 1);
}

/* The call of this xid comes to the sibling, which runs it. */
static struct reply_cache_entry *
sibling_begins(uint32_t xid, uint64_t now)
{
	struct reply_cache_entry *e;
	struct reply_cache_key key;

	call.xid = xid;
	reply_cache_key(sibling, &key, &call, (const uint8_t *)args, 16);
	if (reply_cache_find(sibling, &key, now, &e) != REPLY_CACHE_NEW)
		BAIL_OUT("the sibling knows it");
	return e;
}

static void
sibling_ends(struct reply_cache_entry *e, uint32_t xid)
{
	reply_cache_keep(e, reply_to(xid), 28);
	reply_cache_finish(sibling, e);
}

/* The same call comes here. A new one is forgotten again. */
static enum reply_cache_found
comes(uint32_t xid, uint64_t now, struct reply_cache_entry **e)
{
	enum reply_cache_found found;

	call.xid = xid;
	found = find(16, now, e);
	if (found == REPLY_CACHE_NEW)
		found = reply_cache_ask(cache, *e, now);
	if (found == REPLY_CACHE_NEW)
		reply_cache_finish(cache, *e);
	return found;
}

static void
test_siblings(void)
{
	struct reply_cache_entry *e, *first;

	two_caches();
	cmp_ok(comes(1, SECOND, &e), "==", REPLY_CACHE_NEW,
	    "a call that no process has is new");
	(void)sibling_begins(9, clock_ns());
	call.xid = 9;
	ok(find(16, SECOND, &e) == REPLY_CACHE_NEW &&
		reply_cache_ask(cache, e, 0) == REPLY_CACHE_ELSEWHERE,
	    "one that began there after it came here is seen");
	first = sibling_begins(1, SECOND);
	cmp_ok(comes(1, SECOND, &e), "==", REPLY_CACHE_ELSEWHERE,
	    "while another process runs it, it does not run here");
	cmp_ok(comes(1, 2 * SECOND, &e), "==", REPLY_CACHE_ELSEWHERE,
	    "and is forgotten each time");
	cmp_ok(comes(1, SECOND + REPLY_CACHE_PATIENCE_NS, &e),
	    "==", REPLY_CACHE_LOST, "for so long");
	cmp_ok(comes(1, 2 * REPLY_CACHE_SECONDS * SECOND, &e),
	    "==", REPLY_CACHE_LOST, "and never done here while it runs there");
	sibling_ends(first, 1);
	ok(comes(1, 2 * SECOND, &e) == REPLY_CACHE_HIT &&
		reply_cache_reply(e).len == 28 &&
		memcmp(reply_cache_reply(e).data, reply_to(1), 28) == 0,
	    "then its reply is sent here");
	sibling_ends(sibling_begins(2, SECOND), 2);
	cmp_ok(sibling_anew(2 * SECOND), "==", 2, "the other one is killed");
	call.xid = 1;
	cmp_ok(find(16, 2 * SECOND, &e), "==", REPLY_CACHE_HIT,
	    "this one kept a copy");
	cmp_ok(comes(2, 2 * SECOND, &e), "==", REPLY_CACHE_HIT,
	    "and finds what the successor knows");
	sibling_ends(sibling_begins(4, SECOND), 4);
	cmp_ok(comes(4, (REPLY_CACHE_SECONDS + 1) * SECOND, &e),
	    "==", REPLY_CACHE_NEW, "until it has expired");
}

static void
test_siblings_end(void)
{
	struct reply_cache_entry *e, *first;
	unsigned int i, seen = 0;

	two_caches();
	first = sibling_begins(1, SECOND);
	reply_cache_finish(sibling, first);
	cmp_ok(comes(1, SECOND, &e), "==", REPLY_CACHE_NEW,
	    "a call that ended without a reply is new");
	(void)sibling_begins(2, SECOND);
	cmp_ok(comes(2, SECOND, &e), "==", REPLY_CACHE_ELSEWHERE,
	    "a call runs in a process that is killed");
	(void)sibling_anew(SECOND);
	cmp_ok(comes(2, SECOND, &e), "==", REPLY_CACHE_NEW,
	    "its successor does not run it");
	two_caches();
	for (i = 0; i < 10 * ROWS; i++)
		sibling_ends(sibling_begins(i, SECOND), i);
	for (i = 0; i < 10 * ROWS; i++)
		seen += comes(i, SECOND, &e) == REPLY_CACHE_HIT;
	cmp_ok(seen, "==", ROWS / REPLY_CACHE_SHARE,
	    "what was evicted is gone, and all else is found");
}

/* Whatever a sibling writes, this cache works. */
static void
test_hostile_sibling(void)
{
	uint8_t *bytes = (uint8_t *)memory;
	size_t i, n = 0, size = reply_cache_memory(ROWS);
	struct reply_cache_entry *e;
	struct reply_rows rows;
	unsigned int round;

	two_caches();
	reply_rows_at(&rows, memory, ROWS);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)hash_mix(round * size + i);
		for (i = 0; i < rows.nslots && round % 2 == 0; i++)
			rows.slots[i] = (uint32_t)(1 + i % ROWS);
		for (i = 0; i < ROWS; i++)
			rows.times[i] = SECOND;
		n += comes(round, SECOND, &e) != REPLY_CACHE_NEW;
	}
	cmp_ok(n, "==", 0, "noise is no reply");
	for (i = 0; i < size; i++) {
		two_caches();
		sibling_ends(sibling_begins(1, SECOND), 1);
		bytes[i] ^= 0xff;
		if (comes(1, SECOND, &e) == REPLY_CACHE_HIT)
			n += reply_cache_reply(e).len > REPLY_CACHE_REPLY_MAX;
	}
	cmp_ok(n, "==", 0, "nor is any byte of it trusted");
}

int
main(void)
{
	plan(NO_PLAN);
	test_life();
	test_key();
	test_spread();
	test_long_reply();
	test_share();
	test_total();
	test_all_busy();
	test_successor();
	test_forged();
	test_hostile();
	test_siblings();
	test_siblings_end();
	test_hostile_sibling();
	reply_cache_free(sibling);
	reply_cache_free(cache);
	reply_cache_free(NULL);
	done_testing();
}
