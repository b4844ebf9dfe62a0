/* SPDX-License-Identifier: ISC */
/*
 * The table of portmapd: which owners may add and remove entries, which entry a
 * client gets, and the table's bounds.
 * Runs in: test program.
 */
#include <string.h>

#include "portmapd/pmap_map.h"
#include "tap.h"

#define NFS    100003u
#define MOUNT  100005u
#define NETIDS (~0u)

static const struct pmap_owner root1 = { .link = 1, .uid = 0 };
static const struct pmap_owner root2 = { .link = 2, .uid = 0 };
static const struct pmap_owner user = { .link = 3, .uid = 1000 };
static const struct pmap_owner lasting = { .link = PMAP_LINK_NONE, .uid = 0 };
static const struct pmap_owner self = { .link = PMAP_LINK_SELF, .uid = 0 };

static struct pmap_service
service(uint32_t prog, uint32_t vers, enum netid netid, const char *at)
{
	struct pmap_service s = { .prog = prog, .vers = vers, .netid = netid };

	uaddr_parse(&s.at, (struct slice){ (const uint8_t *)at, strlen(at) });
	return s;
}

static bool
set(struct pmap_map *map, uint32_t prog, uint32_t vers, const char *at,
    const struct pmap_owner *by)
{
	struct pmap_service s = service(prog, vers, NETID_UDP, at);

	return pmap_map_set(map, &s, by);
}

/* The port that a client gets if it asks at `asked`, or 0. */
static unsigned int
port(struct pmap_map *map, uint32_t prog, uint32_t vers, const char *asked,
    bool any_version, bool reachable)
{
	struct addr to;
	struct pmap_want want = { .prog = prog,
		.vers = vers,
		.netid = NETID_UDP,
		.any_version = any_version,
		.reachable = reachable,
		.asked = asked == NULL ? NULL : &to };
	const struct pmap_entry *e;

	if (asked != NULL)
		(void)addr_parse(&to, asked);
	e = pmap_map_find(map, &want);
	return e == NULL ? 0 : e->svc.at.at.port;
}

static void
test_owners(void)
{
	struct pmap_map *map = pmap_map_new();

	ok(set(map, NFS, 3, "0.0.0.0.8.1", &root1), "a service is added");
	ok(set(map, NFS, 3, "0.0.0.0.8.1", &root1),
	    "adding it again is no error");
	cmp_ok(pmap_map_count(map), "==", 1,
	    "adding it again makes no second entry");
	ok(!set(map, NFS, 3, "0.0.0.0.8.2", &root1),
	    "its owner cannot change the address without removing it");
	ok(!set(map, NFS, 3, "0.0.0.0.8.1", &root2),
	    "another connection cannot add it while the first exists");
	ok(!set(map, NFS, 3, "0.0.0.0.9.9", &user),
	    "another user cannot add it");
	ok(!set(map, NFS, 3, "0.0.0.0.8.1", &lasting),
	    "nor can a lasting entry replace it");
	ok(!pmap_map_unset(map, NFS, 3, NETIDS, &root2, false),
	    "another connection cannot remove it");
	ok(!pmap_map_unset(map, NFS, 3, 1u << NETID_TCP, &root1, false),
	    "removing it on tcp leaves udp");
	cmp_ok(pmap_map_drop(map, 2), "==", 0,
	    "the end of another connection removes nothing");
	cmp_ok(pmap_map_drop(map, 1), "==", 1,
	    "the end of its connection removes it");
	ok(set(map, NFS, 3, "0.0.0.0.8.1", &root2),
	    "another connection can add it then");
	ok(pmap_map_unset(map, NFS, 3, NETIDS, &root2, false),
	    "its owner removes it");
	ok(set(map, NFS, 3, "0.0.0.0.8.1", &lasting),
	    "a lasting entry is added");
	ok(!set(map, NFS, 3, "10.0.0.1.8.1", &lasting),
	    "a lasting entry at a second address is refused, as by rpcbind");
	cmp_ok(pmap_map_drop(map, PMAP_LINK_NONE), "==", 0,
	    "no end of a connection removes a lasting entry");
	ok(pmap_map_unset(map, NFS, 3, NETIDS, &user, true),
	    "an administrator removes any entry");
	ok(set(map, 100000, 2, "0.0.0.0.0.111", &self),
	    "portmapd adds its own entry");
	ok(!pmap_map_unset(map, 100000, 2, NETIDS, &root1, true),
	    "no owner removes portmapd's own entry");
	cmp_ok(pmap_map_drop(map, PMAP_LINK_SELF), "==", 0,
	    "no end of a connection removes it");
	pmap_map_free(map);
}

static void
test_find(void)
{
	struct pmap_map *map = pmap_map_new();

	(void)set(map, NFS, 2, "0.0.0.0.0.2", &root1);
	(void)set(map, NFS, 3, "0.0.0.0.0.3", &root1);
	cmp_ok(port(map, NFS, 2, "10.0.0.1", false, true), "==", 2,
	    "finds the version");
	cmp_ok(port(map, NFS, 4, "10.0.0.1", false, true), "==", 0,
	    "finds no version that is not registered");
	cmp_ok(port(map, NFS, 4, "10.0.0.1", true, true), "==", 3,
	    "finds the newest version for a client that accepts any");
	cmp_ok(port(map, MOUNT, 3, "10.0.0.1", true, true), "==", 0,
	    "finds no program that is not registered");
	ok(set(map, MOUNT, 3, "10.0.0.1.0.10", &root1),
	    "a service is added at one address");
	ok(set(map, MOUNT, 3, "10.0.0.2.0.20", &root1),
	    "and at a second address");
	ok(!set(map, MOUNT, 3, "10.0.0.2.0.21", &root1),
	    "a second port at the same address is refused");
	ok(!set(map, MOUNT, 3, "0.0.0.0.0.30", &root1),
	    "a wildcard beside single addresses is refused");
	cmp_ok(port(map, MOUNT, 3, "10.0.0.1", false, true), "==", 10,
	    "a client gets the port at the address that it asked");
	cmp_ok(port(map, MOUNT, 3, "10.0.0.2", false, true), "==", 20,
	    "a client of the other address gets the other port");
	cmp_ok(port(map, MOUNT, 3, "10.0.0.3", false, true), "==", 0,
	    "a client gets no port at an address without the service");
	cmp_ok(port(map, MOUNT, 3, "10.0.0.3", false, false), "==", 10,
	    "unless the reply contains the address");
	cmp_ok(port(map, MOUNT, 3, NULL, false, true), "==", 10,
	    "a local client reaches all addresses");
	pmap_map_free(map);
}

static void
test_walk(void)
{
	struct pmap_map *map = pmap_map_new();
	const struct pmap_entry *e = NULL;
	uint32_t want = 0;
	bool in_order = true;
	uint32_t i;

	ok(pmap_map_next(map, NULL) == NULL, "an empty table has no entry");
	for (i = 0; i < 10; i++)
		(void)set(map, 200 + i, 1, "0.0.0.0.1.1", &root1);
	(void)pmap_map_unset(map, 204, 1, NETIDS, &root1, false);
	while ((e = pmap_map_next(map, e)) != NULL) {
		want += want == 4 ? 1 : 0;
		in_order = in_order && e->svc.prog == 200 + want++;
	}
	ok(in_order && want == 10, "the walk is in order of registration");
	pmap_map_free(map);
}

static void
test_limits(void)
{
	struct pmap_map *map = pmap_map_new();
	uint32_t i;

	for (i = 0; i < 100000 && set(map, i, 1, "0.0.0.0.1.1", &user);)
		i++;
	cmp_ok(i, "==", PMAP_PER_UID_MAX, "a user fills its own share only");
	ok(set(map, 0, 2, "0.0.0.0.1.1", &root1), "root can still add entries");
	for (i = 0; i < 100000 && set(map, i, 3, "0.0.0.0.1.1", &root1);)
		i++;
	cmp_ok(pmap_map_count(map), "==", PMAP_ENTRIES_MAX,
	    "the table is bounded");
	cmp_ok(pmap_map_drop(map, user.link), "==", PMAP_PER_UID_MAX,
	    "the end of a connection removes all its entries");
	ok(set(map, NFS, 3, "0.0.0.0.8.1", &root2), "its share is free again");
	pmap_map_free(map);
}

int
main(void)
{
	plan(NO_PLAN);
	test_owners();
	test_find();
	test_walk();
	test_limits();
	done_testing();
}
