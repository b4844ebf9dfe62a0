/* SPDX-License-Identifier: ISC */
/*
 * Netids and universal addresses (RFC 5665): which are valid, and which address
 * of a service a client gets.
 * Runs in: test program.
 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <string.h>

#include "base/util.h"
#include "process/uaddr.h"
#include "tap.h"

static struct slice
text(const char *s)
{
	return (struct slice){ (const uint8_t *)s, strlen(s) };
}

static const char *
round_trip(const char *s, char out[UADDR_STRLEN])
{
	struct uaddr u;

	uaddr_parse(&u, text(s));
	return uaddr_print(&u, out);
}

static void
test_netids(void)
{
	enum netid id;

	for (id = 0; id < NETID_COUNT; id++)
		cmp_ok(uaddr_netid(text(netid_rows[id].name)), "==", id,
		    "%s is a netid", netid_rows[id].name);
	cmp_ok(uaddr_netid(text("")), "==", NETID_ANY,
	    "an empty netid means any");
	cmp_ok(uaddr_netid(text("unix")), "==", NETID_LOCAL,
	    "the netid unix is local");
	cmp_ok(uaddr_netid(text("tcp7")), "==", NETID_UNKNOWN,
	    "refuses an unknown netid");
	cmp_ok(uaddr_netid((struct slice){ (const uint8_t *)"tcp", 4 }),
	    "==", NETID_UNKNOWN, "refuses a netid with a NUL at its end");
	cmp_ok(uaddr_netid_of(AF_INET6, IPPROTO_UDP), "==", NETID_UDP6,
	    "UDP over IPv6 is udp6");
	cmp_ok(uaddr_netid_of(AF_INET, 132), "==", NETID_UNKNOWN,
	    "SCTP has no netid here");
}

static void
test_good(void)
{
	static const char *const good[] = { "0.0.0.0.0.111",
		"255.255.255.255.255.255", "::.0.111", "fe80::1.8.1",
		"2001:db8::ffff:1.200.35", "/run/rpcbind.sock", "@abstract" };
	char out[UADDR_STRLEN];
	struct uaddr u;
	size_t i;

	for (i = 0; i < nitems(good); i++)
		is(round_trip(good[i], out), good[i], "%s survives", good[i]);
	uaddr_parse(&u, text("10.1.2.3.8.1"));
	cmp_ok(u.at.port, "==", 2049, "8.1 is port 2049");
	uaddr_parse(&u, text(""));
	cmp_ok(u.kind, "==", UADDR_NONE, "an empty text is no address");
}

static void
test_bad(void)
{
	static const char *const bad[] = { "1.2.3.4", "1.2.3.4.5",
		"1.2.3.4.5.6.7", "1.2.3.4.256.1", "1.2.3.4.1.256",
		"1.2.3.4.-1.1", "1.2.3.4. 1.1", "1.2.3.4.1.", ".1.1", "x.1.1",
		"1.2.3.4.0001.1", "fe80::1%lo.0.111", "fe80::1%1.0.111",
		"::g.0.111", "localhost.0.111", ".", "..", "0.111", "1.1",
		"/run/with blank", "/run/\n", "1.2.3.4.1.1 " };
	char longest[UADDR_PATH_MAX + 1];
	char out[UADDR_STRLEN];
	struct uaddr u;
	size_t i;

	for (i = 0; i < nitems(bad); i++) {
		uaddr_parse(&u, text(bad[i]));
		cmp_ok(u.kind, "==", UADDR_BAD, "refuses \"%s\"",
		    strchr(bad[i], '\n') != NULL ? "newline" : bad[i]);
	}
	is(uaddr_print(&u, out), "",
	    "a refused address prints as an empty text");
	uaddr_parse(&u, (struct slice){ (const uint8_t *)"1.2\0.3.4.1.1", 12 });
	cmp_ok(u.kind, "==", UADDR_BAD, "refuses a NUL inside");
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[UADDR_PATH_MAX - 1] = '\0';
	is(round_trip(longest, out), longest, "the longest path survives");
	longest[UADDR_PATH_MAX - 1] = 'x';
	longest[UADDR_PATH_MAX] = '\0';
	uaddr_parse(&u, text(longest));
	cmp_ok(u.kind, "==", UADDR_BAD, "refuses a path that is one longer");
}

static void
test_merge(void)
{
	char out[UADDR_STRLEN];
	struct addr v4, v6;
	struct uaddr u;

	(void)addr_parse(&v4, "192.0.2.7");
	(void)addr_parse(&v6, "2001:db8::7");
	uaddr_parse(&u, text("0.0.0.0.8.1"));
	ok(uaddr_fits(&u, NETID_UDP), "an IPv4 address fits udp");
	ok(!uaddr_fits(&u, NETID_UDP6), "an IPv4 address does not fit udp6");
	ok(!uaddr_fits(&u, NETID_LOCAL), "an IPv4 address is not local");
	ok(!uaddr_fits(&u, NETID_ANY), "no address fits any transport");
	ok(uaddr_is_wildcard(&u), "0.0.0.0 is a wildcard");
	ok(!uaddr_merge(&u, &v6), "IPv4 is not reached at an IPv6 address");
	ok(uaddr_merge(&u, &v4), "a wildcard is reached everywhere");
	is(uaddr_print(&u, out), "192.0.2.7.8.1",
	    "a wildcard becomes the address that the client asked");
	ok(uaddr_is_host(&u, &v4), "it is that host then");
	(void)addr_parse(&v4, "192.0.2.8");
	ok(uaddr_merge(&u, &v4), "a bound address does not change");
	is(uaddr_print(&u, out), "192.0.2.7.8.1", "a client gets it as it is");
	uaddr_parse(&u, text("::.8.1"));
	(void)uaddr_merge(&u, &v6);
	is(uaddr_print(&u, out), "2001:db8::7.8.1",
	    "an IPv6 wildcard becomes the address that the client asked");
	uaddr_parse(&u, text("/run/x"));
	ok(uaddr_fits(&u, NETID_LOCAL), "a path fits local");
	ok(uaddr_merge(&u, &v4), "a path is reached as it is");
	ok(!uaddr_is_wildcard(&u), "a path is no wildcard");
}

int
main(void)
{
	plan(NO_PLAN);
	test_netids();
	test_good();
	test_bad();
	test_merge();
	done_testing();
}
