/* SPDX-License-Identifier: ISC */
/*
 * How many TLS handshakes a client may begin, whatever other clients do.
 * Links: nfsd
 * Runs in: tests.
 */
#include <arpa/inet.h>

#include <string.h>

#include "nfsd/worker/handshakes.h"
#include "tap.h"

#define PER_SECOND 5
#define PER_HOST   3

static const struct nfsd_tls_limits limits = { .per_second = PER_SECOND,
	.per_host = PER_HOST };
static struct handshakes all;

/* Host n of a network of IPv4. */
static struct addr
host(uint32_t n)
{
	struct addr a = { .family = AF_INET };
	uint32_t bytes = htonl(0x0a000000u + n);

	memcpy(a.bytes, &bytes, sizeof(bytes));
	return a;
}

/* Begins n handshakes in this second. Returns how many were permitted. */
static unsigned int
begin(const struct addr *from, unsigned int n, uint64_t second)
{
	unsigned int good = 0;

	while (n-- > 0)
		good += handshakes_refuse(&all, &limits, from, second * 1000) ==
		    NULL;
	return good;
}

static void
test_one(void)
{
	struct addr a = host(1), b = host(2), c = { .family = AF_INET6 },
		    d = { .family = AF_INET6 };

	handshakes_init(&all);
	ok(begin(&a, 10, 7) == PER_SECOND, "a client has a limit");
	ok(begin(&b, 10, 7) == PER_SECOND, "another has its own");
	ok(begin(&a, 10, 8) == PER_SECOND, "the next second begins anew");
	c.bytes[0] = d.bytes[0] = 0x20;
	d.bytes[15] = 9;
	ok(begin(&c, 10, 9) == PER_SECOND, "a network of IPv6");
	ok(begin(&d, 10, 9) == 0, "has one limit for all its addresses");
	d.bytes[7] = 1;
	ok(begin(&d, 10, 9) == PER_SECOND, "the next network has its own");
}

/* Others begin handshakes between those of one client. */
static void
test_many(void)
{
	struct addr a = host(1), other;
	unsigned int good = 0, refused = 0;
	uint32_t i;

	handshakes_init(&all);
	for (i = 0; i < 10000; i++) {
		other = host(100 + i);
		good += begin(&a, 1, 7);
		(void)begin(&other, 1, 7);
	}
	ok(good <= PER_SECOND, "no other client makes room for more: %u", good);

	for (i = 0; i < 32; i++) {
		other = host(100000 + i);
		(void)begin(&other, 1000, 8);
	}
	for (i = 0; i < 100; i++) {
		other = host(200000 + i);
		refused += begin(&other, 1, 8) == 0;
	}
	ok(refused == 0, "floods of 32 clients cost 100 others nothing: %u",
	    refused);
}

static void
test_waiting(void)
{
	struct rpc_peer peer = { .from = host(1) };
	struct addr b = host(2);

	handshakes_init(&all);
	for (peer.id = 1; peer.id <= PER_HOST; peer.id++) {
		ok(begin(&peer.from, 1, peer.id) == 1, "one more may wait");
		ok(handshakes_add(&all, &peer, 0), "it waits");
	}
	ok(begin(&peer.from, 1, 20) == 0, "too many of one client wait");
	ok(begin(&b, 1, 20) == 1, "another client may");
	ok(handshakes_find(&all, 99) == NULL, "of no other connection");
	handshakes_remove(&all, handshakes_find(&all, 2));
	ok(all.count == PER_HOST - 1 && handshakes_find(&all, 2) == NULL,
	    "one has its verdict");
	ok(begin(&peer.from, 1, 21) == 1, "and another may begin");
	while (!TAILQ_EMPTY(&all.waiting))
		handshakes_remove(&all, TAILQ_FIRST(&all.waiting));
}

int
main(void)
{
	plan(NO_PLAN);
	test_one();
	test_many();
	test_waiting();
	done_testing();
}
