/* SPDX-License-Identifier: ISC */
/*
 * Maps of user and group numbers: what is a map, and both ways through it.
 * Runs in: tests.
 */
#include <string.h>

#include "base/util.h"
#include "exports/client.h"
#include "tap.h"

static const struct {
	const char *text;
	bool squash;
	const char *why; /* NULL: good */
} lists[] = {
	{ "501/1000", false, NULL },
	{ "501/1000:600-699/1600", false, NULL },
	{ "0-99:500", true, NULL },
	{ "0-4294967294", true, NULL },
	{ "10-19/0", false, NULL },
	{ "", false, "not a list" },
	{ "501", false, "not a list" },
	{ "501/", false, "not a list" },
	{ "501/1000:", false, "not a list" },
	{ "501/1000,502/1001", false, "not a list" },
	{ "-5/7", false, "not a list" },
	{ "9-5/7", false, "not a list" },
	{ "5-/7", false, "not a list" },
	{ " 5/7", false, "not a list" },
	{ "4294967295/1", false, "not a list" },
	{ "1/4294967295", false, "not a list" },
	{ "00000000005/7", false, "not a list" },
	{ "0-9/4294967290", false, "not a list" },
	{ "5/7", true, "not a list" },
	{ "1-5/10:5/20", false, "a number of the client is named twice" },
	{ "1/10:2/10", false, "two numbers of the client would be one here" },
	{ "1-5/10:20-29/14", false,
	    "two numbers of the client would be one here" },
	{ "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16", true, NULL },
	{ "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17", true,
	    "more than 16 ranges" },
};

static void
parsing(void)
{
	struct id_map m;
	const char *why;
	size_t i;

	for (i = 0; i < nitems(lists); i++) {
		memset(&m, 0, sizeof(m));
		why = id_map_add(&m, lists[i].text, lists[i].squash);
		if (lists[i].why == NULL)
			ok(why == NULL, "\"%s\" is a list", lists[i].text);
		else
			ok(why != NULL &&
				strncmp(why, lists[i].why,
				    strlen(lists[i].why)) == 0,
			    "\"%s\": %s", lists[i].text, lists[i].why);
	}
}

static uint32_t
in(const struct id_map *m, uint32_t id)
{
	return id_map_in(m, &id) ? id : UINT32_MAX;
}

static void
both_ways(void)
{
	struct id_map m = { 0 };

	cmp_ok(in(&m, 7), "==", 7, "without a map a number stays");
	ok(id_map_add(&m, "501/1000:2000-2999/12000", false) == NULL &&
		id_map_add(&m, "0-99", true) == NULL,
	    "a map and a list to squash are one");
	cmp_ok(in(&m, 501), "==", 1000, "a number of the client is another");
	cmp_ok(in(&m, 2000), "==", 12000, "the first of a range");
	cmp_ok(in(&m, 2999), "==", 12999, "the last of it");
	cmp_ok(in(&m, 3000), "==", 3000, "the next one stays");
	cmp_ok(in(&m, 99), "==", UINT32_MAX, "a listed number is squashed");
	cmp_ok(in(&m, 1000), "==", UINT32_MAX,
	    "so is one that another is mapped to");
	cmp_ok(id_map_out(&m, 1000), "==", 501, "the client sees its number");
	cmp_ok(id_map_out(&m, 12999), "==", 2999, "also of a range");
	cmp_ok(id_map_out(&m, 501), "==", EXPORTS_ANON,
	    "a number that means another user there is nobody");
	cmp_ok(id_map_out(&m, 50), "==", 50, "a squashed number is shown");
	cmp_ok(id_map_out(&m, 7777), "==", 7777, "others are as they are");
	ok(id_map_yields(&m, 1000) && id_map_yields(&m, 7777),
	    "callers can have these numbers");
	ok(!id_map_yields(&m, 501) && !id_map_yields(&m, 50), "and not these");
}

static void
never_root(void)
{
	struct export_options o = { .anonuid = 65534, .anongid = 65533 };

	ok(id_map_add(&o.uids, "5/0:0/1000", false) == NULL, "a map to root");
	cmp_ok(exports_uid(&o, 5), "==", 65534, "does not make a caller root");
	cmp_ok(exports_uid(&o, 0), "==", 1000, "the client's root is mapped");
	cmp_ok(exports_gid(&o, 0), "==", 65533, "its group is squashed");
	o.no_root_squash = true;
	cmp_ok(exports_uid(&o, 5), "==", 0, "no_root_squash does");
}

int
main(void)
{
	plan(NO_PLAN);
	parsing();
	both_ways();
	never_root();
	done_testing();
}
