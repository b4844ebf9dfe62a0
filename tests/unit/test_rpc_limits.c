/* SPDX-License-Identifier: ISC */
/*
 * Limits are set by name.
 * Runs in: tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"
#include "tap.h"

/* tern(7) explains each limit that a log line may name. */
static void
test_manual(void)
{
	static char page[262144];
	char path[512], item[64];
	const char *src, *name;
	size_t i, n;
	FILE *f;

	src = getenv("SRC") != NULL ? getenv("SRC") : ".";
	(void)snprintf(path, sizeof(path), "%s/man/tern.7", src);
	f = fopen(path, "r");
	if (f == NULL)
		BAIL_OUT("%s: cannot be read; run in the top folder", path);
	n = fread(page, 1, sizeof(page) - 1, f);
	page[n] = '\0';
	(void)fclose(f);
	for (i = 0; (name = rpc_limits_name(i)) != NULL; i++) {
		(void)snprintf(item, sizeof(item), "Cm %s Ns = Ns", name);
		ok(strstr(page, item) != NULL, "%s is in the manual", name);
	}
}

int
main(void)
{
	struct rpc_limits l = rpc_limits_default;

	plan(NO_PLAN);
	ok(rpc_limits_set(&l, "connections-max", "77") == NULL &&
		l.connections_max == 77,
	    "a number is accepted");
	if (sizeof(size_t) > 4)
		ok(rpc_limits_set(&l, "partial-max", "8589934592") == NULL &&
			l.partial_max / 2 == 4294967296,
		    "a size of more than 32 bits is accepted");
	else
		ok(rpc_limits_set(&l, "partial-max", "8589934592") != NULL &&
			l.partial_max == rpc_limits_default.partial_max,
		    "a size beyond the machine's memory is refused");
	ok(rpc_limits_set(&l, "idle-seconds", "0") == NULL,
	    "zero is accepted if the limit permits it");
	is(rpc_limits_set(&l, "no-such", "1"), "unknown limit",
	    "refuses an unknown name");
	is(rpc_limits_set(&l, "connections-max", "0"),
	    "not a number from 1 to 1000000",
	    "refuses a number that is too low");
	is(rpc_limits_set(&l, "record-seconds", "86401"),
	    "not a number from 1 to 86400",
	    "refuses a number that is too high");
	is(rpc_limits_set(&l, "queue-max", "1M"),
	    "not a number from 4096 to 67108864",
	    "refuses text that is not a number");
	cmp_ok(l.connections_max, "==", 77, "a refusal changes nothing");
	test_manual();
	done_testing();
}
