/* SPDX-License-Identifier: ISC */
/*
 * Streams: framing, pipelining, limits, late replies.
 * Runs in: tests.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"
#include "tap.h"

static void
basics(void)
{
	struct stub_server s = { .limits = rpc_limits_default, .cache = 64 };
	uint32_t out[8];
	const char *why;
	int fd;

	stub_start(&s);
	fd = stub_tcp(&s);
	cmp_ok(stub_call(fd, true, STUB_NULL, NULL, 0, out, 0, &why), "==", 0,
	    "NULL over tcp");
	cmp_ok(stub_call(fd, true, STUB_WHO, NULL, 0, out, 6, &why), "==", 6,
	    "WHO over tcp");
	cmp_ok(out[0], "==", RPC_TCP, "kind");
	close(fd);
	fd = stub_udp(&s);
	cmp_ok(stub_call(fd, false, STUB_WHO, NULL, 0, out, 6, &why), "==", 6,
	    "WHO over udp");
	cmp_ok(out[0], "==", RPC_UDP, "kind");
	cmp_ok(out[4], "==", 0x7f000001, "address asked");
	cmp_ok(out[5], "==", s.udp_port, "port asked");
	close(fd);
	fd = stub_unix(&s);
	cmp_ok(stub_call(fd, true, STUB_WHO, NULL, 0, out, 6, &why), "==", 6,
	    "WHO over a unix socket");
	cmp_ok(out[0], "==", RPC_UNIX, "kind");
	cmp_ok(out[2], "==", getuid(), "uid of the peer");
	close(fd);
	stub_stop(&s);
}

int
main(void)
{
	plan(NO_PLAN);
	basics();
	done_testing();
}
