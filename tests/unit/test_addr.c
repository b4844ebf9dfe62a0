/* SPDX-License-Identifier: ISC */
/*
 * Addresses: one form for each, exact prefixes.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string.h>

#include "base/addr.h"
#include "tap.h"

static struct addr
parse(const char *text)
{
	struct addr a = { .family = 0 };

	if (!addr_parse(&a, text))
		diag("cannot parse %s", text);
	return a;
}

static void
test_parse(void)
{
	/* text, printed form or NULL when refused */
	static const char *const rows[][2] = {
		{ "10.0.0.5", "10.0.0.5" },
		{ "10.0.0.5:912", "10.0.0.5:912" },
		{ "::1", "::1" },
		{ "[::1]", "::1" },
		{ "[::1]:2049", "[::1]:2049" },
		{ "fe80::1%3", "fe80::1%3" },
		{ "[fe80::1%3]:9", "[fe80::1%3]:9" },
		{ "fe80::1%lo", "fe80::1%1" },
		{ "::ffff:10.0.0.5", "10.0.0.5" },
		{ "[::ffff:10.0.0.5]:7", "10.0.0.5:7" },
		{ "", NULL },
		{ "10.0.0", NULL },
		{ "10.0.0.256", NULL },
		{ "10.0.0.5:", NULL },
		{ "10.0.0.5:0", NULL },
		{ "10.0.0.5:65536", NULL },
		{ "10.0.0.5: 9", NULL },
		{ "[10.0.0.5]", NULL },
		{ "[::1", NULL },
		{ "[::1]9", NULL },
		{ "::1%lo", NULL },
		{ "fe80::1%nosuchinterface", NULL },
		{ "fe80::1%", NULL },
		{ "localhost", NULL },
		{ "1:2:3:4:5:6:7:8:9", NULL },
		{ "0000000000000000000000000000000000000000000000000000000000"
		  "00000000000000000000000000000000000000000",
		    NULL },
	};
	char out[ADDR_STRLEN];
	struct addr a;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&a, 0xee, sizeof(a));
		if (!addr_parse(&a, rows[i][0])) {
			ok(rows[i][1] == NULL && a.family == 0xee,
			    "\"%s\" refused, nothing changed", rows[i][0]);
			continue;
		}
		is(addr_print(&a, out), rows[i][1], "\"%s\"", rows[i][0]);
	}
}

static void
test_sockaddr(void)
{
	struct sockaddr_storage ss;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct addr a, b;
	char out[ADDR_STRLEN];
	socklen_t len;

	a = parse("192.0.2.7:99");
	len = addr_to_sockaddr(&a, AF_INET6, &ss);
	ok(ss.ss_family == AF_INET6 && len == sizeof(struct sockaddr_in6),
	    "an IPv4 address becomes IPv4-mapped for an IPv6 socket");
	ok(addr_from_sockaddr(&b, (struct sockaddr *)&ss, len) &&
		b.family == AF_INET && addr_equal(&a, &b),
	    "an IPv4-mapped address becomes IPv4 again");
	len = addr_to_sockaddr(&a, AF_INET, &ss);
	ok(addr_from_sockaddr(&b, (struct sockaddr *)&ss, len) &&
		addr_equal(&a, &b),
	    "an IPv4 address survives both conversions");
	ok(!addr_from_sockaddr(&b, (struct sockaddr *)&ss, len - 1),
	    "a truncated sockaddr is refused");
	ok(!addr_from_sockaddr(&b, (struct sockaddr *)&ss, 1),
	    "a sockaddr without a family is refused");
	ss.ss_family = AF_PACKET;
	ok(!addr_from_sockaddr(&b, (struct sockaddr *)&ss, len),
	    "a sockaddr of an unknown family is refused");
	a = parse("[fe80::2%5]:7");
	len = addr_to_sockaddr(&a, AF_INET6, &ss);
	ok(addr_from_sockaddr(&b, (struct sockaddr *)&ss, len) &&
		addr_equal(&a, &b) && b.scope == 5,
	    "link-local keeps its interface");
	ok(addr_from_sockaddr(&b, (struct sockaddr *)&un, sizeof(un)),
	    "a unix peer is an address");
	is(addr_print(&b, out), "local", "a unix peer prints as local");
	ok(addr_is_loopback(&b), "a unix peer counts as loopback");
}

static void
test_compare(void)
{
	struct addr a = parse("10.1.2.3:1"), b = parse("10.1.2.3:2");

	ok(addr_same_host(&a, &b) && !addr_equal(&a, &b),
	    "two ports of a host are one host and two addresses");
	ok(addr_hash(&a) == addr_hash(&b),
	    "the ports of a host do not change its hash");
	b = parse("10.1.2.4:1");
	ok(addr_hash(&a) != addr_hash(&b), "another host has another hash");
	a = parse("fe80::1%1");
	b = parse("fe80::1%2");
	ok(!addr_same_host(&a, &b) && addr_hash(&a) != addr_hash(&b),
	    "another interface is another host");
	a = parse("127.200.0.1");
	ok(addr_is_loopback(&a), "127/8 is loopback");
	a = parse("::1");
	ok(addr_is_loopback(&a), "::1 is loopback");
	a = parse("128.0.0.1");
	b = parse("::2");
	ok(!addr_is_loopback(&a) && !addr_is_loopback(&b),
	    "other addresses are not loopback");
}

/* Bit i of the address, from the left. */
static bool
bit(const struct addr *a, unsigned int i)
{
	return (a->bytes[i / 8] >> (7 - i % 8) & 1) != 0;
}

/* Every prefix length against the definition (CVE-2011-1739). */
static void
test_prefix(const char *text, unsigned int bits)
{
	struct addr net = parse(text), host;
	unsigned int plen, i, j, bad;
	bool want;

	bad = 0;
	for (plen = 0; plen <= bits; plen++)
		for (i = 0; i < bits; i++) {
			host = net;
			host.bytes[i / 8] ^= (uint8_t)(0x80 >> i % 8);
			want = true;
			for (j = 0; j < plen; j++)
				want = want && bit(&host, j) == bit(&net, j);
			if (addr_in_prefix(&host, &net, plen) != want)
				bad++;
		}
	ok(bad == 0, "%s: all prefixes are exact", text);
	ok(!addr_in_prefix(&net, &net, bits + 1), "%s: /%u is refused", text,
	    bits + 1);
}

static void
test_prefix_families(void)
{
	struct addr v4 = parse("10.0.0.1"), v6 = parse("a00:1::");
	struct addr mapped = parse("::ffff:10.0.0.1"),
		    unix_peer = { .family = AF_UNIX };
	struct addr ll = parse("fe80::1%2"), any = parse("fe80::");

	ok(!addr_in_prefix(&v4, &v6, 0), "families do not mix");
	ok(addr_in_prefix(&mapped, &v4, 32), "a mapped address is IPv4");
	ok(!addr_in_prefix(&unix_peer, &unix_peer, 0),
	    "a local peer is in no network");
	ok(addr_in_prefix(&ll, &any, 64), "no interface in the net means any");
	any.scope = 3;
	ok(!addr_in_prefix(&ll, &any, 64), "another interface does not match");
}

static void
test_client(void)
{
	struct addr a = parse("[2001:db8:1:2:3::4]:700"), b;

	b = addr_client(&a);
	a = parse("2001:db8:1:2::");
	ok(addr_equal(&a, &b), "an IPv6 client is its /64");
	a = parse("10.0.0.5:700");
	b = addr_client(&a);
	a = parse("10.0.0.5");
	ok(addr_equal(&a, &b), "an IPv4 client is its address");
	a = parse("fe80::1%2");
	b = parse("fe80::2%3");
	a = addr_client(&a);
	b = addr_client(&b);
	ok(!addr_same_host(&a, &b), "link-local networks differ by interface");
}

int
main(void)
{
	plan(NO_PLAN);
	test_parse();
	test_sockaddr();
	test_compare();
	test_prefix("192.168.170.85", 32);
	test_prefix("2001:db8:aa55:1:ff:0:1234:5678", 128);
	test_prefix_families();
	test_client();
	done_testing();
}
