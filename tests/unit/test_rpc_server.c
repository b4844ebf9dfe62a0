/* SPDX-License-Identifier: ISC */
/*
 * The pipeline in memory: outcomes, hooks, cache, file threads. Refusals on the
 * wire are vectors in tests/wire/stub2.
 * Runs in: tests.
 */
#include <arpa/inet.h>

#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "stub.h"
#include "tap.h"

static struct rpc_server *server;
static uint8_t msg[4096], out[4096], late[4096];
static size_t outlen, latelen;
static unsigned int nlate, nagain;
static struct addr called; /* by the next calls */

static void
on_late(const struct rpc_origin *o, const uint8_t *reply, size_t len)
{
	ok(o->ticket >= 42 && o->ticket <= 50,
	    "a deferred reply knows its origin");
	nagain += o->ticket == 43;
	memcpy(late, reply, len);
	latelen = len;
	nlate++;
}

static struct rpc_origin
origin(void)
{
	struct rpc_origin o = { .reply = on_late, .ticket = 42 };

	(void)addr_parse(&o.peer.from, "192.0.2.1:700");
	o.peer.to = called;
	o.peer.kind = RPC_TCP;
	o.peer.max_reply = sizeof(out);
	return o;
}

static enum rpc_verdict
serve_from(uint64_t ticket, uint32_t xid, enum stub_proc proc, uint32_t arg,
    size_t cap)
{
	struct rpc_origin o = origin();
	size_t len;

	o.ticket = ticket;
	arg = htonl(arg);
	len = stub_message(msg, sizeof(msg), xid, proc, &arg, 4);
	outlen = 0;
	return rpc_serve(server, &o, msg, len, out, cap, &outlen);
}

static enum rpc_verdict
serve(uint32_t xid, enum stub_proc proc, uint32_t arg, size_t cap)
{
	return serve_from(42, xid, proc, arg, cap);
}

static uint32_t
word(const uint8_t *reply, size_t i)
{
	uint32_t v;

	memcpy(&v, reply + 4 * i, sizeof(v));
	return ntohl(v);
}

static void
test_outcomes(void)
{
	cmp_ok(serve(1, STUB_NULL, 0, sizeof(out)), "==", RPC_ANSWERED, "NULL");
	cmp_ok(outlen, "==", RPC_REPLY_HEADER,
	    "the reply to NULL is a bare header");
	cmp_ok(serve(1, STUB_OVERFLOW, 0, sizeof(out)), "==", RPC_ANSWERED,
	    "a result that does not fit");
	ok(outlen == RPC_REPLY_HEADER && word(out, 5) == RPC_SYSTEM_ERR,
	    "gets SYSTEM_ERR without a part of the result");
	cmp_ok(serve(1, STUB_BYTES, 1000, sizeof(out)), "==", RPC_ANSWERED,
	    "data made in place");
	ok(outlen == 24 + 4 + 1000 && word(out, 6) == 1000 && out[29] == 31,
	    "is part of the reply");
	cmp_ok(serve(1, STUB_BYTES, 1000, 500), "==", RPC_ANSWERED,
	    "more data than the reply has room for");
	ok(word(out, 5) == RPC_SYSTEM_ERR, "gets SYSTEM_ERR");
	cmp_ok(serve(1, STUB_HOLE, 0, sizeof(out)), "==", RPC_ANSWERED,
	    "a number without a row");
	ok(word(out, 5) == RPC_PROC_UNAVAIL, "gets PROC_UNAVAIL");
	cmp_ok(serve(1, STUB_NULL, 0, 23), "==", RPC_DROP,
	    "a call gets no reply if there is no room for one");
	cmp_ok(serve(1, STUB_HOLE, 0, 23), "==", RPC_DROP, "nor is it refused");
	cmp_ok(serve(1, STUB_NULL, 0, 24), "==", RPC_ANSWERED,
	    "room for just a header is enough");
}

static void
test_hooks(void)
{
	stub_begun = stub_ended = 0;
	(void)serve(1, STUB_NULL, 0, sizeof(out));
	ok(stub_begun == 1 && stub_ended == 1,
	    "the hooks begin and end run once each");
	(void)serve(1, STUB_ECHO, 9999, sizeof(out));
	ok(word(out, 5) == RPC_GARBAGE_ARGS,
	    "arguments that cannot be decoded");
	ok(stub_begun == 2 && stub_ended == 2, "run both hooks too");
	stub_auth = AUTH_TOOWEAK;
	(void)serve(1, STUB_NULL, 0, sizeof(out));
	stub_auth = AUTH_OK;
	ok(outlen == 20 && word(out, 2) == RPC_MSG_DENIED &&
		word(out, 4) == AUTH_TOOWEAK,
	    "begin can refuse a call");
	ok(stub_begun == 3 && stub_ended == 2, "end does not run then");
}

/* The calls of a batch share readings of the clock. */
static void
test_batch(void)
{
	uint64_t first, second, end;

	rpc_server_begin(server, 1000);
	(void)serve(1, STUB_NULL, 0, sizeof(out));
	first = rpc_server_last_ns(server);
	(void)serve(2, STUB_NULL, 0, sizeof(out));
	second = rpc_server_last_ns(server);
	end = rpc_server_end(server);
	ok(first == 1000, "the first call of a batch begins with it");
	ok(second > first && second <= end, "the next one when that has ended");
	(void)serve(3, STUB_NULL, 0, sizeof(out));
	ok(rpc_server_last_ns(server) >= end,
	    "after the batch a call begins when it comes");
}

static void
test_cached(struct reply_cache *cache)
{
	uint64_t began;

	rpc_server_set_cache(server, cache);
	stub_executed = 0;
	(void)serve(7, STUB_COUNT, 5, sizeof(out));
	ok(word(out, 6) == 1, "a call is executed");
	cmp_ok(serve(7, STUB_COUNT, 5, sizeof(out)), "==", RPC_ANSWERED,
	    "its repeat is answered");
	ok(word(out, 6) == 1 && stub_executed == 1,
	    "the repeat is not executed");
	cmp_ok(serve(7, STUB_COUNT, 5, 25), "==", RPC_DROP,
	    "a cached reply that does not fit is not sent");
	began = clock_ns();
	rpc_server_begin(server, began);
	(void)serve(7, STUB_COUNT, 5, sizeof(out));
	(void)serve(7, STUB_COUNT, 5, sizeof(out));
	ok(rpc_server_last_ns(server) > began,
	    "repeats use up the time of a batch as well");
	(void)rpc_server_end(server);
	(void)serve(8, STUB_COUNT, 5, sizeof(out));
	ok(word(out, 6) == 2, "another call is executed");
	(void)serve(8, STUB_NULL, 0, sizeof(out));
	(void)serve(8, STUB_NULL, 0, sizeof(out));
	cmp_ok(reply_cache_stats(cache)->misses, "==", 2,
	    "only rows with RPC_CACHED use the cache");
	stub_deny = AUTH_TOOWEAK;
	(void)serve(9, STUB_COUNT, 5, sizeof(out));
	ok(outlen == 20 && word(out, 2) == RPC_MSG_DENIED &&
		word(out, 4) == AUTH_TOOWEAK,
	    "an operation can deny a call");
	stub_deny = AUTH_OK;
	(void)serve(9, STUB_COUNT, 5, sizeof(out));
	ok(outlen == 28 && word(out, 2) == RPC_MSG_ACCEPTED,
	    "the denial is not remembered");
	rpc_server_set_cache(server, NULL);
}

static void
wait_late(struct event_base *base, unsigned int n)
{
	while (nlate < n)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

/* The call runs, and comes again over one connection after the other. */
static uint64_t
last_that_waits(uint64_t ticket)
{
	while (ticket < 1000 &&
	    serve_from(ticket, 5, STUB_SLOW_COUNT, 1, sizeof(out)) ==
		RPC_DEFERRED)
		ticket++;
	return ticket - 1;
}

static void
test_late(struct event_base *base, struct rpc_pool *pool)
{
	struct reply_cache *cache;

	cmp_ok(serve(1, STUB_WAIT, 0, sizeof(out)), "==", RPC_ANSWERED,
	    "without file threads a call may block");
	rpc_server_set_pool(server, pool);
	stub_ended = nlate = 0;
	cmp_ok(serve(9, STUB_WAIT, 0, sizeof(out)), "==", RPC_DEFERRED,
	    "with file threads it is deferred");
	cmp_ok(rpc_server_in_flight(server), "==", 1, "one is in flight");
	stub_go(1);
	wait_late(base, 1);
	ok(latelen == 28 && word(late, 0) == 9 && word(late, 6) == 1,
	    "it was executed on file thread 1");
	cmp_ok(rpc_server_in_flight(server), "==", 0, "none is in flight");
	cmp_ok(stub_ended, "==", 1, "the hook end ran once");

	cmp_ok(serve(1, STUB_WAIT, 0, sizeof(out)), "==", RPC_DEFERRED,
	    "one call is on the thread");
	stub_wait_for(1);
	cmp_ok(serve(2, STUB_WAIT, 0, sizeof(out)), "==", RPC_DEFERRED,
	    "one call is in the queue");
	cmp_ok(serve(3, STUB_WAIT, 0, sizeof(out)), "==", RPC_BUSY,
	    "a third call finds no room");
	stub_go(2);
	wait_late(base, 3);

	cache = reply_cache_new(16, NULL, NULL);
	rpc_server_set_cache(server, cache);
	stub_executed = 0;
	cmp_ok(serve(5, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_DEFERRED,
	    "a cached call is deferred");
	cmp_ok(serve(5, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_DROP,
	    "its repeat is dropped meanwhile");
	cmp_ok(serve_from(43, 5, STUB_SLOW_COUNT, 1, sizeof(out)),
	    "==", RPC_DEFERRED, "over another connection it waits too");
	cmp_ok(serve_from(43, 5, STUB_SLOW_COUNT, 1, sizeof(out)),
	    "==", RPC_DROP, "but once");
	cmp_ok(last_that_waits(44), "==", 50,
	    "eight connections wait for it, no more");
	nagain = 0;
	stub_wait_for(1);
	(void)serve(2, STUB_WAIT, 0, sizeof(out));
	cmp_ok(serve(6, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_BUSY,
	    "another call finds no room");
	stub_go(2);
	wait_late(base, 13);
	cmp_ok(nagain, "==", 1, "both connections get the reply");
	cmp_ok(serve(5, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_ANSWERED,
	    "the repeat is answered afterwards");
	cmp_ok(stub_executed, "==", 1, "the call was executed once");
	stub_go(1);
	cmp_ok(serve(6, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_DEFERRED,
	    "the call that found no room is executed when it is repeated");
	wait_late(base, 14);
	rpc_server_set_cache(server, NULL);
	reply_cache_free(cache);
}

/* Serves a call with the credential AUTH_TLS; returns what rpc_serve() does. */
static enum rpc_verdict
ask_tls(struct rpc_origin *o, uint32_t proc, uint32_t body, uint32_t verf)
{
	uint32_t words[] = { 7, 0, 2, STUB_PROG, 2, proc, AUTH_TLS, body };
	uint32_t tail[] = { verf, 0 }, w;
	size_t i, n = 0;

	for (i = 0; i < nitems(words); i++, n += 4) {
		w = htonl(words[i]);
		memcpy(msg + n, &w, 4);
	}
	memset(msg + n, 0, body);
	n += body;
	for (i = 0; i < nitems(tail); i++, n += 4) {
		w = htonl(tail[i]);
		memcpy(msg + n, &w, 4);
	}
	outlen = 0;
	return rpc_serve(server, o, msg, n, out, sizeof(out), &outlen);
}

static void
test_starttls(void)
{
	struct peer_identity id = { .security = PEER_TLS };
	struct rpc_origin o = origin();

	o.peer.kind = RPC_TCP;
	cmp_ok(ask_tls(&o, 0, 0, 0), "==", RPC_ANSWERED,
	    "without TLS the probe is a NULL call");
	ok(outlen == 24 && word(out, 4) == 0, "without token");
	rpc_server_offer_tls(server, true);
	cmp_ok(ask_tls(&o, 0, 0, 0), "==", RPC_STARTTLS, "TLS is offered");
	ok(outlen == 32 && word(out, 4) == 8 &&
		memcmp(out + 20, "STARTTLS", 8) == 0 && word(out, 7) == 0,
	    "with the token");
	cmp_ok(ask_tls(&o, STUB_ECHO, 0, 0), "==", RPC_ANSWERED,
	    "on another procedure");
	ok(outlen == 20 && word(out, 4) == AUTH_BADCRED, "AUTH_BADCRED");
	(void)ask_tls(&o, 0, 4, 0);
	ok(outlen == 20 && word(out, 4) == AUTH_BADCRED, "with a body");
	(void)ask_tls(&o, 0, 0, 1);
	ok(outlen == 20 && word(out, 4) == AUTH_BADVERF, "with a verifier");
	o.peer.identity = &id;
	(void)ask_tls(&o, 0, 0, 0);
	ok(outlen == 20 && word(out, 4) == AUTH_BADCRED, "inside TLS");
	o.peer.identity = NULL;
	o.peer.kind = RPC_UDP;
	cmp_ok(ask_tls(&o, 0, 0, 0), "==", RPC_ANSWERED, "not over UDP");
	rpc_server_offer_tls(server, false);
}

/* The connection ends, and with it its hold, while its call is deferred. */
static void
test_late_identity(struct event_base *base)
{
	struct peer_identity *id = calloc(1, sizeof(*id));
	struct rpc_pool *pool = rpc_pool_new(base, 1, 1024, NULL, NULL);
	struct rpc_origin o = origin();
	size_t len = stub_message(msg, sizeof(msg), 1, STUB_WAIT, NULL, 0);

	rpc_server_set_pool(server, pool);
	nlate = 0;
	o.peer.identity = peer_hold(id);
	cmp_ok(rpc_serve(server, &o, msg, len, out, sizeof(out), &outlen),
	    "==", RPC_DEFERRED, "a call of a peer with an identity");
	cmp_ok(id->users, "==", 2, "the deferred call holds it too");
	stub_go(1);
	wait_late(base, 1);
	cmp_ok(id->users, "==", 1, "and releases it");
	ok(peer_security(id) == PEER_PLAIN && peer_key(NULL) == 0 &&
		peer_name(id, 0) == NULL,
	    "nothing is proved without a verdict");
	peer_release(id);
	rpc_pool_free(pool);
}

static const struct hash_key key = { "test" };

/* How many replies would the successor of a killed process have? */
static size_t
left_behind(const void *memory)
{
	static _Alignas(64) uint8_t copy[65536];
	struct reply_cache *successor;
	size_t n;

	memcpy(copy, memory, reply_cache_memory(16));
	successor = reply_cache_new(16, copy, &key);
	n = reply_cache_recall(successor, clock_ns());
	reply_cache_free(successor);
	return n;
}

/* A call that leaves an errand has no reply before that has ended. */
static void
test_errands(struct event_base *base)
{
	static _Alignas(64) uint8_t memory[65536];
	struct reply_cache *cache = reply_cache_new(16, memory, &key);
	struct rpc_pool *pool;

	ok(reply_cache_memory(16) <= sizeof(memory), "the memory is enough");
	rpc_server_set_cache(server, cache);
	rpc_server_set_pool(server, NULL);
	stub_executed = stub_ended = nlate = 0;
	stub_errand_result = 77;
	cmp_ok(serve(20, STUB_ERRAND, 1, sizeof(out)), "==", RPC_ANSWERED,
	    "without file threads an errand is run at once");
	ok(word(out, 6) == 77 && stub_ended == 1, "its result is the call's");
	stub_errand_result = 0;
	pool = rpc_pool_new(base, 2, 16, NULL, NULL);
	rpc_server_set_pool(server, pool);
	cmp_ok(serve(21, STUB_ERRAND, 1, sizeof(out)), "==", RPC_DEFERRED,
	    "with file threads the call is deferred");
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	stub_wait_for(1);
	ok(stub_executed == 2 && nlate == 0,
	    "it was executed, and has no reply while its errand runs");
	cmp_ok(left_behind(memory), "==", 1,
	    "nor would a successor give its repeat one");
	cmp_ok(serve(21, STUB_ERRAND, 1, sizeof(out)), "==", RPC_DROP,
	    "its repeat is dropped");
	cmp_ok(rpc_server_in_flight(server), "==", 1, "it is in flight");
	stub_go(1);
	wait_late(base, 1);
	ok(latelen == 28 && word(late, 0) == 21 && word(late, 6) == 2,
	    "then its reply is sent");
	cmp_ok(left_behind(memory), "==", 2, "and kept");
	cmp_ok(stub_ended, "==", 2, "the hook end ran once for each call");
	rpc_server_set_cache(server, NULL);
	rpc_pool_free(pool);
	reply_cache_free(cache);
}

/* Large deferred calls: the memory of their copies is bounded. */
static void
test_late_bytes(struct event_base *base)
{
	static uint8_t large[1024 * 1024];
	struct rpc_pool *pool = rpc_pool_new(base, 1, 1024, NULL, NULL);
	struct rpc_origin o = origin();
	unsigned int n = 0;

	rpc_server_set_pool(server, pool);
	nlate = 0;
	(void)stub_message(large, sizeof(large), 1, STUB_WAIT, NULL, 0);
	while (n < 512 &&
	    rpc_serve(server, &o, large, sizeof(large), out, sizeof(out),
		&outlen) == RPC_DEFERRED)
		n++;
	ok(n >= 32 && n <= 64, "at most 64 MiB of calls are deferred (%u)", n);
	stub_go(n);
	wait_late(base, n);
	cmp_ok(rpc_serve(server, &o, large, sizeof(large), out, sizeof(out),
		   &outlen),
	    "==", RPC_DEFERRED, "there is room again afterwards");
	stub_go(1);
	wait_late(base, n + 1);
	rpc_pool_free(pool);
}

/* An address leaves while one call to it runs and another one waits. */
static void
test_address_left(struct event_base *base)
{
	struct rpc_pool *pool = rpc_pool_new(base, 1, 8, NULL, NULL);
	struct reply_cache *cache = reply_cache_new(16, NULL, NULL);
	struct addr left, stays;

	(void)addr_parse(&left, "192.0.2.100:2049");
	(void)addr_parse(&stays, "192.0.2.101:2049");
	rpc_server_set_pool(server, pool);
	rpc_server_set_cache(server, cache);
	nlate = stub_executed = 0;
	called = left;
	(void)serve(1, STUB_SLOW_COUNT, 1, sizeof(out));
	stub_wait_for(1);
	(void)serve(2, STUB_SLOW_COUNT, 2, sizeof(out));
	called = stays;
	(void)serve(3, STUB_SLOW_COUNT, 3, sizeof(out));
	rpc_server_address_left(server, &left);
	called = left;
	(void)serve(4, STUB_SLOW_COUNT, 4, sizeof(out));
	stub_go(3);
	wait_late(base, 4);
	cmp_ok(stub_executed, "==", 3,
	    "the call that waited is dropped; those before, elsewhere and since are not");
	cmp_ok(serve(2, STUB_SLOW_COUNT, 2, sizeof(out)), "==", RPC_DEFERRED,
	    "it is executed if it comes again");
	stub_go(1);
	wait_late(base, 5);
	cmp_ok(serve(1, STUB_SLOW_COUNT, 1, sizeof(out)), "==", RPC_ANSWERED,
	    "the reply of the one that ran is kept");
	called = (struct addr){ .family = AF_UNSPEC };
	rpc_server_set_cache(server, NULL);
	rpc_pool_free(pool);
	reply_cache_free(cache);
}

int
main(void)
{
	struct reply_cache *cache;
	struct event_base *base;
	struct rpc_pool *pool;

	plan(NO_PLAN);
	log_init("test");
	server = rpc_server_new(stub_progs, 1, &stub_hooks);
	test_outcomes();
	test_hooks();
	test_batch();
	test_starttls();
	cache = reply_cache_new(16, NULL, NULL);
	test_cached(cache);
	reply_cache_free(cache);
	log_set_verbose(2);
	(void)serve(1, STUB_NULL, 0, sizeof(out));
	log_set_verbose(0);
	base = event_base_new();
	pool = rpc_pool_new(base, 1, 3, NULL, NULL);
	test_late(base, pool);
	rpc_pool_free(pool);
	test_late_identity(base);
	test_late_bytes(base);
	test_errands(base);
	test_address_left(base);
	event_base_free(base);
	rpc_server_free(server);
	rpc_server_free(NULL);
	done_testing();
}
