/* SPDX-License-Identifier: ISC */
/*
 * Buckets fill at their rate and no faster, whatever clients do; proofs end.
 * Runs in: tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/meter.h"
#include "tap.h"

static struct addr
parse(const char *text)
{
	struct addr a;

	if (!addr_parse(&a, text))
		abort();
	return a;
}

static void
test_bucket(void)
{
	static const struct bucket_rate rate = { 10, 50 };
	struct bucket b = { .at_ms = 0 };
	unsigned int taken = 0;
	uint64_t ms;

	ok(bucket_take(&b, &rate, 50, 1) && !bucket_take(&b, &rate, 1, 1),
	    "a new bucket holds the burst and no more");
	ok(!bucket_take(&b, &rate, 1, 100) && bucket_take(&b, &rate, 1, 101),
	    "one comes in a tenth of a second");
	for (ms = 101; ms < 100101; ms += 7)
		taken += bucket_take(&b, &rate, 1, ms);
	cmp_ok(taken, ">=", 999, "ten a second for a hundred seconds");
	cmp_ok(taken, "<=", 1001, "and no more");
	ok(bucket_take(&b, &rate, 50, UINT64_MAX / 2) &&
		!bucket_take(&b, &rate, 1, UINT64_MAX / 2),
	    "a long time fills it to the burst");
}

/* Other clients, by the hundred thousand, do not renew the bucket of one. */
static void
test_displaced(void)
{
	static const struct bucket_rate rate = { 1, 100 };
	struct meter *m = meter_new(&rate);
	struct addr victim = parse("10.1.1.1"), other = parse("10.2.0.0");
	struct addr a6 = parse("2001:db8::1"), b6 = parse("2001:db8::2");
	unsigned int i, taken = 0;

	ok(meter_take(m, &victim, 100, 1), "a client has its burst");
	for (i = 0; i < 300000; i++) {
		other.bytes[1] = (uint8_t)(i >> 16);
		other.bytes[2] = (uint8_t)(i >> 8);
		other.bytes[3] = (uint8_t)i;
		(void)meter_take(m, &other, 1, 1);
		if (i % 100 == 0)
			taken += meter_take(m, &victim, 1, 1);
	}
	cmp_ok(taken, "<=", 100, "300,000 others hardly renew it (%u)", taken);
	meter_free(m);
	m = meter_new(&rate);
	ok(meter_take(m, &a6, 100, 1) && !meter_take(m, &b6, 1, 1),
	    "an IPv6 network is one client");
	meter_free(m);
}

static void
test_proofs(void)
{
	static struct proofs p;
	struct addr a = parse("10.0.0.1"), b = parse("2001:db8::1"),
		    near = parse("2001:db8::2");
	uint64_t minute = 60000;

	hash_key_random(&p.key);
	ok(!proofs_have(&p, &a, 1), "no address is proven at first");
	proofs_add(&p, &a, minute * 5);
	proofs_add(&p, &b, minute * 5);
	ok(proofs_have(&p, &a, minute * 5) && proofs_have(&p, &b, minute * 14),
	    "an address is proven by its connection");
	ok(!proofs_have(&p, &near, minute * 5), "its neighbour is not");
	ok(!proofs_have(&p, &a, minute * 15), "a proof ends");
}

int
main(void)
{
	plan(NO_PLAN);
	test_bucket();
	test_displaced();
	test_proofs();
	done_testing();
}
