/* SPDX-License-Identifier: ISC */
/*
 * Limits by name.
 * Runs in: tests.
 */
#include "rpc_transport.h"
#include "tap.h"

int
main(void)
{
	struct rpc_limits l = rpc_limits_default;
	const char *why;

	plan(NO_PLAN);
	ok(rpc_limits_set(&l, "connections-max", "77", &why) &&
		l.connections_max == 77,
	    "a number");
	ok(rpc_limits_set(&l, "partial-max", "8589934592", &why) &&
		l.partial_max == 8589934592,
	    "a size over 32 bits");
	ok(rpc_limits_set(&l, "idle-seconds", "0", &why), "zero where allowed");
	ok(!rpc_limits_set(&l, "no-such", "1", &why), "an unknown name");
	is(why, "unknown limit", "says so");
	ok(!rpc_limits_set(&l, "connections-max", "0", &why), "too small");
	is(why, "too small", "says so");
	ok(!rpc_limits_set(&l, "datagram-reply-max", "65508", &why),
	    "too large");
	is(why, "too large", "says so");
	ok(!rpc_limits_set(&l, "queue-max", "1M", &why), "no number");
	is(why, "invalid", "says so");
	cmp_ok(l.connections_max, "==", 77, "a refusal changes nothing");
	done_testing();
}
