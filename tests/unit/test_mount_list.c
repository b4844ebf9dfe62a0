/* SPDX-License-Identifier: ISC */
/*
 * The mount list: bounded per host, in all, and in a reply.
 * Runs in: test programs only.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "mountd/worker/mount_list.h"
#include "tap.h"

static struct mount_dump dump;
static bool evicted;

static struct addr
host(unsigned int n)
{
	struct addr a = { .family = AF_INET, .port = 700 };

	a.bytes[0] = 10;
	a.bytes[1] = (uint8_t)(n >> 16);
	a.bytes[2] = (uint8_t)(n >> 8);
	a.bytes[3] = (uint8_t)n;
	return a;
}

static size_t
count(struct mount_list *l, const struct addr *a)
{
	mount_list_copy(l, a, &dump);
	return dump.nrows;
}

static bool
add(struct mount_list *l, const struct addr *a, const char *path)
{
	return mount_list_add(l, a, path, &evicted);
}

static void
check_basics(void)
{
	struct mount_list *l = mount_list_new();
	struct addr a = host(1), b = host(2), again = host(1);

	again.port = 999;
	ok(add(l, &a, "/x"), "a new entry is added");
	ok(!add(l, &again, "/x"),
	    "the same entry from another port is not added again");
	ok(add(l, &a, "/y"), "another path is added");
	ok(add(l, &b, "/x"), "another host is added");
	ok(!evicted, "no entry is evicted");
	cmp_ok(count(l, NULL), "==", 3, "the list has three entries");
	cmp_ok(count(l, &a), "==", 2, "two are of the first host");
	is(dump.rows[0].path, "/x", "the oldest comes first");
	cmp_ok(dump.rows[0].host.port, "==", 0, "the port is not kept");
	ok(!mount_list_remove(l, &b, "/y"),
	    "removing a missing entry finds none");
	ok(mount_list_remove(l, &a, "/x"), "removing an entry");
	ok(mount_list_remove_all(l, &a), "removing all entries of a host");
	ok(!mount_list_remove_all(l, &a), "the host has no entries then");
	cmp_ok(count(l, &b), "==", 1, "the other host's entry is untouched");
	mount_list_free(l);
	mount_list_free(NULL);
}

static void
check_limits(void)
{
	struct mount_list *l = mount_list_new();
	struct addr a = host(0), b;
	char path[32];
	unsigned int i;

	b = host(70000);
	(void)add(l, &b, "/other");
	for (i = 0; i < 100000; i++) {
		(void)snprintf(path, sizeof(path), "/x/%u", i);
		(void)add(l, &a, path);
	}
	ok(evicted, "an entry beyond the limit of a host evicts another");
	cmp_ok(count(l, &a), "==", MOUNT_LIST_HOST_MAX,
	    "one host fills its share only");
	is(dump.rows[0].path, "/x/99936", "its oldest entries are evicted");
	cmp_ok(count(l, &b), "==", 1, "other hosts keep their entries");
	for (i = 1; i <= 2 * MOUNT_LIST_MAX; i++) {
		a = host(i);
		(void)add(l, &a, "/x");
	}
	ok(evicted, "an entry beyond the limit of all evicts another");
	cmp_ok(count(l, NULL), "==", MOUNT_LIST_MAX, "the list is bounded");
	cmp_ok(mount_list_count(l), "==", MOUNT_LIST_MAX,
	    "the list counts its entries");
	a = host(2 * MOUNT_LIST_MAX);
	cmp_ok(count(l, &a), "==", 1, "the newest entry is in the list");
	mount_list_free(l);
}

/* A copy of the list holds as much text as a reply can. */
static void
check_long(void)
{
	struct mount_list *l = mount_list_new();
	char path[EXPORTS_PATH_MAX + 1];
	struct addr a;
	size_t fit = sizeof(dump.text) / sizeof(path);
	unsigned int i;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (i = 0; i < MOUNT_LIST_MAX; i++) {
		a = host(i);
		(void)add(l, &a, path);
	}
	cmp_ok(count(l, NULL), "==", fit,
	    "a copy has those of many long paths that fit");
	is(dump.rows[fit - 1].path, path, "the last of them is whole");
	mount_list_free(l);
}

int
main(void)
{
	check_basics();
	check_limits();
	check_long();
	done_testing();
}
