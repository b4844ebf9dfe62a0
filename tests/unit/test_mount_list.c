/* SPDX-License-Identifier: ISC */
/*
 * The mount list: bounded in every direction (ABUSE 42).
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
	ok(add(l, &a, "/x"), "a new entry");
	ok(!add(l, &again, "/x"), "the same again, other port");
	ok(add(l, &a, "/y"), "another path");
	ok(add(l, &b, "/x"), "another host");
	ok(!evicted, "nothing had to go");
	cmp_ok(count(l, NULL), "==", 3, "three in all");
	cmp_ok(count(l, &a), "==", 2, "two of the first host");
	is(dump.rows[0].path, "/x", "oldest first");
	cmp_ok(dump.rows[0].host.port, "==", 0, "the port is not kept");
	ok(!mount_list_remove(l, &b, "/y"), "what is not there");
	ok(mount_list_remove(l, &a, "/x"), "what is");
	ok(mount_list_remove_all(l, &a), "all of a host");
	ok(!mount_list_remove_all(l, &a), "nothing is left of it");
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
	ok(evicted, "at its limit another entry goes");
	cmp_ok(count(l, &a), "==", MOUNT_LIST_HOST_MAX,
	    "one host fills its share and no more");
	is(dump.rows[0].path, "/x/99936", "its oldest make room");
	cmp_ok(count(l, &b), "==", 1, "others keep theirs");
	for (i = 1; i <= 2 * MOUNT_LIST_MAX; i++) {
		a = host(i);
		(void)add(l, &a, "/x");
	}
	ok(evicted, "at the limit of all, too");
	cmp_ok(count(l, NULL), "==", MOUNT_LIST_MAX, "the list is bounded");
	cmp_ok(mount_list_count(l), "==", MOUNT_LIST_MAX, "and counted");
	a = host(2 * MOUNT_LIST_MAX);
	cmp_ok(count(l, &a), "==", 1, "the newest is in");
	mount_list_free(l);
}

/* A copy holds as much text as a reply can. */
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
	cmp_ok(count(l, NULL), "==", fit, "of many long paths those that fit");
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
