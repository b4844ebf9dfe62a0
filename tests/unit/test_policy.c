/* SPDX-License-Identifier: ISC */
/*
 * Who may register which program: rules as they are written, and what they
 * permit.
 * Runs in: test program.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "portmapd/policy.h"
#include "tap.h"

#define NFS    100003u
#define NOBODY 65534u

static void
test_rules(void)
{
	struct policy p;

	policy_init(&p);
	ok(policy_allows(&p, 0, NFS), "root registers anything");
	ok(!policy_allows(&p, 0, PMAP_PROG), "but not the portmapper");
	ok(!policy_allows(&p, 4711, NFS), "others nothing");
	is(policy_add(&p, "4711:100003"), NULL, "a rule by number");
	ok(policy_allows(&p, 4711, NFS), "permits this program");
	ok(!policy_allows(&p, 4711, 100005), "and no other");
	ok(!policy_allows(&p, 4712, NFS), "to no other user");
	ok(!policy_is_master(&p, 4711), "who does not remove others' entries");
	is(policy_add(&p, "root:4294967295"), NULL, "a rule by name");
	is(policy_add(&p, "65534:100003"), NULL, "a rule for nobody");
	ok(!policy_allows(&p, NOBODY, NFS),
	    "is none: so are all users our namespace does not know");
}

static void
test_wrong_rules(void)
{
	static const char *const wrong[] = { "", ":", "root", "root:", ":1",
		"root:0", "root:x", "root:-1", "root:4294967296",
		"nosuchuserhere:1", "-1:1", "4294967295:1", "root:100000" };
	char longest[300];
	struct policy p;
	size_t i, before;

	policy_init(&p);
	before = p.n;
	for (i = 0; i < nitems(wrong); i++)
		ok(policy_add(&p, wrong[i]) != NULL, "refuses the rule \"%s\"",
		    wrong[i]);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + sizeof(longest) - 3, ":1", 3);
	ok(policy_add(&p, longest) != NULL, "refuses a very long user name");
	ok(policy_add(&p, NULL) != NULL, "and none at all");
	cmp_ok(p.n, "==", before, "what was refused leaves no trace");
}

static void
test_master(void)
{
	struct policy p;

	policy_init(&p);
	policy_set_master(&p, 1000);
	ok(policy_allows(&p, 1000, NFS), "the user who started us");
	ok(policy_is_master(&p, 1000), "takes root's place");
	ok(!policy_allows(&p, 1001, NFS), "unlike other users");
	policy_set_master(&p, NOBODY);
	ok(!policy_allows(&p, NOBODY, NFS), "nobody cannot");
}

static void
test_limit(void)
{
	struct policy p;
	char text[32];
	int n;

	policy_init(&p);
	for (n = 0; n < 1000; n++) {
		(void)snprintf(text, sizeof(text), "1000:%d", n + 1);
		if (policy_add(&p, text) != NULL)
			break;
	}
	cmp_ok(p.n, "==", POLICY_RULES_MAX, "rules are bounded");
}

int
main(void)
{
	plan(NO_PLAN);
	test_rules();
	test_wrong_rules();
	test_master();
	test_limit();
	done_testing();
}
