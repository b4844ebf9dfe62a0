/* SPDX-License-Identifier: ISC */
/*
 * Questions to an export list: paths, aliases, ports, and the access decision
 * for every prefix length of IPv4 and IPv6.
 * Runs in: test programs only.
 */
#include <arpa/inet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "exports/client.h"
#include "exports/id.h"
#include "tap.h"

static struct exports *
parse(const char *text)
{
	static const struct exports_hooks quiet;
	struct exports *ex;

	ex = exports_parse(text, strlen(text), &quiet);
	if (ex == NULL)
		BAIL_OUT("bad line in the test");
	return ex;
}

static struct addr
host(const char *text)
{
	struct addr a = { 0 };

	if (!addr_parse(&a, text))
		BAIL_OUT("bad address in the test");
	return a;
}

static void
check_clean_paths(void)
{
	/* clang-format off */
	static const struct {
		const char *path;
		const char *clean; /* NULL: refused */
	} rows[] = {
		{ "/", "/" },
		{ "//", "/" },
		{ "/.", "/" },
		{ "/a", "/a" },
		{ "/a/", "/a" },
		{ "//a//b//", "/a/b" },
		{ "/a/./b/.", "/a/b" },
		{ "/a/...", "/a/..." },
		{ "/a/.b", "/a/.b" },
		{ "/a/..b", "/a/..b" },
		{ "/a/b..", "/a/b.." },
		{ "/..", NULL },
		{ "/a/..", NULL },
		{ "/a/../b", NULL },
		{ "/a/../../..", NULL },
		{ "", NULL },
		{ "a", NULL },
		{ ".", NULL },
		{ "../a", NULL },
	};
	/* clang-format on */
	char out[EXPORTS_PATH_MAX + 1], longest[EXPORTS_PATH_MAX + 2];
	size_t i;
	bool good;

	for (i = 0; i < nitems(rows); i++) {
		good =
		    exports_clean_path(rows[i].path, strlen(rows[i].path), out);
		is(good ? out : NULL, rows[i].clean, "clean \"%s\"",
		    rows[i].path);
	}
	ok(!exports_clean_path("/a\0b", 4, out),
	    "a path with a NUL byte is refused");
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	ok(exports_clean_path(longest, EXPORTS_PATH_MAX, out),
	    "a path of 1024 bytes is accepted");
	cmp_ok(strlen(out), "==", EXPORTS_PATH_MAX, "with all its bytes");
	ok(!exports_clean_path(longest, EXPORTS_PATH_MAX + 1, out),
	    "a path of 1025 bytes is refused");
}

static void
check_find(void)
{
	struct exports *ex =
	    parse("/srv *\n/srv/a/b *\n/srvx *\n/z *(fsid=7)\n");
	/* clang-format off */
	static const struct {
		const char *path;
		const char *above; /* NULL: none */
	} rows[] = {
		{ "/srv", "/srv" },
		{ "/srv/a", "/srv" },
		{ "/srv/a/b", "/srv/a/b" },
		{ "/srv/a/b/c", "/srv/a/b" },
		{ "/srv/a/bc", "/srv" },
		{ "/srvx", "/srvx" },
		{ "/srvxy", NULL },
		{ "/sr", NULL },
		{ "/", NULL },
		{ "/z/1", "/z" },
	};
	/* clang-format on */
	const struct export *e;
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		e = exports_find_above(ex, rows[i].path);
		is(e == NULL ? NULL : e->path, rows[i].above,
		    "the export above %s", rows[i].path);
	}
	ok(exports_find_path(ex, "/srv/a/b") != NULL,
	    "an export is found by its exact path");
	ok(exports_find_path(ex, "/srv/a") == NULL,
	    "a directory above an export is none");
	for (i = 0; i < ex->n; i++)
		ok(exports_find_id(ex, ex->list[i].id) == &ex->list[i],
		    "%s is found by its export number", ex->list[i].path);
	ok(exports_find_id(ex, 0) == NULL, "no export has number 0");
	cmp_ok(exports_find_path(ex, "/z")->id, "==", 7,
	    "fsid is the export number");
	exports_free(ex);
	ex = parse("/ *");
	e = exports_find_above(ex, "/any/thing");
	ok(e != NULL, "everything is below the root");
	exports_free(ex);
}

/* Editing and reordering the file does not change numbers. */
static void
check_stable_ids(void)
{
	struct exports *a = parse("/a *\n/b *\n/c *(fsid=70000)\n");
	struct exports *b = parse("/c 10.0.0.1(rw,fsid=70000)\n/new *\n/b *\n");

	cmp_ok(exports_find_path(a, "/b")->id,
	    "==", exports_find_path(b, "/b")->id,
	    "a number from the path stays");
	cmp_ok(exports_find_path(a, "/c")->id,
	    "==", exports_find_path(b, "/c")->id,
	    "a number from a large fsid stays");
	cmp_ok(exports_find_path(a, "/a")->id,
	    "!=", exports_find_path(b, "/b")->id,
	    "another path has another number");
	exports_free(a);
	exports_free(b);
	a = parse("/ *\n/srv/music *\n/c *(fsid=70000)\n");
	cmp_ok(exports_find_path(a, "/")->id, "==", 25009,
	    "a path has the number that handles of earlier versions hold");
	cmp_ok(exports_find_path(a, "/srv/music")->id, "==", 34536,
	    "so has another path");
	cmp_ok(exports_id("70000"), "==", 56963, "the number of a large fsid");
	ok(exports_id_uuid("01234567-89AB-cdef-0123-456789abcdef") ==
		2261798325u,
	    "the number of a UUID");
	cmp_ok(exports_id_inside("/"), "==", 25506, "the number of a submount");
	cmp_ok(exports_id_inside("/srv/music"), "==", 49610,
	    "the number of another submount");
	cmp_ok(exports_find_path(a, "/c")->id, "==", 56963,
	    "an fsid has the number that handles of earlier versions hold");
	exports_free(a);
}

/* The same numbers in every run. */
static uint8_t
noise(void)
{
	static uint32_t state = 20;

	state = state * 1664525u + 1013904223u;
	return (uint8_t)(state >> 24);
}

/* Does the only entry of the export admit this host? */
static bool
admits(const struct exports *ex, const struct addr *a)
{
	return exports_client(&ex->list[0], a, NULL, NAMES_BYTES) != NULL;
}

/*
 * Tries one prefix length: the network itself, then each bit flipped. A host
 * that differs inside the prefix must be refused, any other admitted.
 */
static unsigned int
wrong_decisions(uint8_t family, unsigned int bits, unsigned int plen)
{
	struct addr a = { .family = family }, b;
	char text[INET6_ADDRSTRLEN], line[128];
	unsigned int i, wrong = 0;
	struct exports *ex;

	for (i = 0; i < bits / 8; i++)
		a.bytes[i] = noise();
	for (i = plen; i < bits; i++)
		a.bytes[i / 8] &= (uint8_t) ~(0x80u >> (i % 8));
	if (inet_ntop(family, a.bytes, text, sizeof(text)) == NULL)
		return 1;
	(void)snprintf(line, sizeof(line), "/x %s/%u", text, plen);
	ex = parse(line);
	wrong += !admits(ex, &a);
	for (i = 0; i < bits; i++) {
		b = a;
		b.bytes[i / 8] ^= (uint8_t)(0x80u >> (i % 8));
		wrong += admits(ex, &b) != (i >= plen);
	}
	b = a;
	b.family = family == AF_INET ? AF_INET6 : AF_INET;
	wrong += admits(ex, &b);
	exports_free(ex);
	return wrong;
}

static void
check_prefixes(void)
{
	unsigned int plen, round, wrong;

	for (plen = 0; plen <= 32; plen++) {
		for (round = 0, wrong = 0; round < 20; round++)
			wrong += wrong_decisions(AF_INET, 32, plen);
		cmp_ok(wrong, "==", 0, "IPv4 prefix length %u is exact", plen);
	}
	for (plen = 0; plen <= 128; plen++) {
		for (round = 0, wrong = 0; round < 20; round++)
			wrong += wrong_decisions(AF_INET6, 128, plen);
		cmp_ok(wrong, "==", 0, "IPv6 prefix length %u is exact", plen);
	}
}

static void
check_specific(void)
{
	struct exports *ex = parse("/x *(anonuid=1) 10.0.0.0/8(anonuid=2) "
				   "10.1.0.0/16(anonuid=3) 10.1.1.1(anonuid=4) "
				   "fe80::/64(anonuid=5) fe80::%3/64(anonuid=6)"
				   "\n/x 10.1.0.0/16(names=utf16le,anonuid=7)");
	/* clang-format off */
	static const struct {
		const char *host;
		uint32_t anon; /* 0: refused */
		enum export_names names;
	} rows[] = {
		{ "11.0.0.1", 1, NAMES_BYTES },
		{ "::1", 1, NAMES_BYTES },
		{ "10.2.0.1", 2, NAMES_BYTES },
		{ "10.1.2.1", 3, NAMES_BYTES },
		{ "10.1.1.1", 4, NAMES_BYTES },
		{ "::ffff:10.1.1.1", 4, NAMES_BYTES },
		{ "fe80::9%2", 5, NAMES_BYTES },
		{ "fe80::9%3", 6, NAMES_BYTES },
		{ "10.1.1.1", 7, NAMES_UTF16LE },
		{ "10.2.0.1", 0, NAMES_UTF16LE },
	};
	/* clang-format on */
	const struct export_client *c;
	struct addr a;
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		a = host(rows[i].host);
		c = exports_client(&ex->list[0], &a, NULL, rows[i].names);
		cmp_ok(c == NULL ? 0 : c->options.anonuid, "==", rows[i].anon,
		    "the most specific entry decides for %s%s", rows[i].host,
		    rows[i].names == NAMES_UTF16LE ? ", a player" : "");
	}
	exports_free(ex);
}

static void
check_ports(void)
{
	struct exports *ex = parse("/x 10.0.0.1 10.0.0.2(insecure)");
	static const uint16_t ports[] = { 1, 111, 1023, 1024, 40112, 65535 };
	struct addr a = host("10.0.0.1"), b = host("10.0.0.2");
	size_t i;

	for (i = 0; i < nitems(ports); i++) {
		a.port = b.port = ports[i];
		ok(exports_port_ok(exports_client(&ex->list[0], &a, NULL,
				       NAMES_BYTES),
		       &a) == (ports[i] < 1024),
		    "port %u and secure", ports[i]);
		ok(exports_port_ok(exports_client(&ex->list[0], &b, NULL,
				       NAMES_BYTES),
		       &b),
		    "port %u and insecure", ports[i]);
	}
	exports_free(ex);
}

static void
check_places(void)
{
	struct exports *ex = parse(
	    "/srv/music *(names=utf16le,alias=/C/,alias=/B/) "
	    "10.0.0.0/8(alias=/m)\n/srv/usb 10.0.0.9(names=utf16le,alias=/)\n"
	    "/srv/music/deep 10.0.0.0/8\n");
	/* clang-format off */
	static const struct {
		const char *host;
		enum export_names names;
		const char *path;
		const char *export; /* NULL: none */
		bool granted;
		const char *below;
	} rows[] = {
		{ "1.1.1.1", NAMES_UTF16LE, "/C", "/srv/music", true, "" },
		{ "1.1.1.1", NAMES_UTF16LE, "/B", "/srv/music", true, "" },
		{ "1.1.1.1", NAMES_UTF16LE, "/C/a/b", "/srv/music", true, "a/b" },
		{ "1.1.1.1", NAMES_UTF16LE, "/Ca", NULL, false, NULL },
		{ "1.1.1.1", NAMES_UTF16LE, "/srv/music", "/srv/music", true, "" },
		{ "1.1.1.1", NAMES_BYTES, "/C", NULL, false, NULL },
		{ "1.1.1.1", NAMES_BYTES, "/srv/music", "/srv/music", false, "" },
		{ "10.0.0.1", NAMES_BYTES, "/m/x", "/srv/music", true, "x" },
		{ "10.0.0.1", NAMES_BYTES, "/srv/music/x", "/srv/music", true, "x" },
		{ "10.0.0.1", NAMES_BYTES, "/srv/music/deep/y", "/srv/music/deep", true, "y" },
		{ "10.0.0.9", NAMES_UTF16LE, "/", "/srv/usb", true, "" },
		{ "10.0.0.9", NAMES_UTF16LE, "/Users", "/srv/usb", true, "Users" },
		{ "10.0.0.9", NAMES_UTF16LE, "/C/x", "/srv/music", true, "x" },
		{ "10.0.0.9", NAMES_UTF16LE, "/srv/music", "/srv/music", true, "" },
	};
	/* clang-format on */
	struct exports_place at;
	struct addr a;
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		a = host(rows[i].host);
		at = exports_place(ex, rows[i].path, &a, NULL, rows[i].names);
		is(at.export == NULL ? NULL : at.export->path, rows[i].export,
		    "%s asks for %s", rows[i].host, rows[i].path);
		ok((at.client != NULL) == rows[i].granted, "access");
		if (rows[i].below != NULL)
			is(at.below, rows[i].below,
			    "the path below the export");
	}
	exports_free(ex);
}

int
main(void)
{
	check_clean_paths();
	check_find();
	check_stable_ids();
	check_prefixes();
	check_specific();
	check_ports();
	check_places();
	done_testing();
}
