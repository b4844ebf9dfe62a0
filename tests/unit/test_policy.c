/* SPDX-License-Identifier: ISC */
/*
 * Which users may register which programs: the syntax of rules, and what they
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
	ok(policy_allows(&p, 0, NFS), "root may register any program");
	ok(!policy_allows(&p, 0, PMAP_PROG),
	    "root may not register the portmapper");
	ok(!policy_allows(&p, 4711, NFS), "other users may register none");
	is(policy_add(&p, "4711:100003"), NULL,
	    "a rule with a user id is accepted");
	ok(policy_allows(&p, 4711, NFS), "it permits its program");
	ok(policy_knows(&p, 4711) && policy_knows(&p, 0) &&
		!policy_knows(&p, 4712) && !policy_knows(&p, 65534),
	    "a user with a rule and root are known, others are not");
	ok(!policy_allows(&p, 4711, 100005), "it permits no other program");
	ok(!policy_allows(&p, 4712, NFS), "it permits no other user");
	ok(!policy_is_master(&p, 4711),
	    "it does not permit removing entries of other users");
	is(policy_add(&p, "root:4294967295"), NULL,
	    "a rule with a user name is accepted");
	is(policy_add(&p, "65534:100003"), NULL,
	    "a rule for user 65534 is accepted");
	ok(!policy_allows(&p, NOBODY, NFS),
	    "it permits nothing: users unknown to the namespace have this id too");
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
	ok(policy_add(&p, NULL) != NULL, "refuses a missing rule");
	cmp_ok(p.n, "==", before, "refused rules are not added");
}

static void
test_master(void)
{
	struct policy p;

	policy_init(&p);
	policy_set_master(&p, 1000);
	ok(policy_allows(&p, 1000, NFS),
	    "the user who started portmapd may register programs");
	ok(policy_is_master(&p, 1000),
	    "that user may remove entries of other users, as root may");
	ok(!policy_allows(&p, 1001, NFS), "other users may not");
	policy_set_master(&p, NOBODY);
	ok(!policy_allows(&p, NOBODY, NFS),
	    "user 65534 may not, even if it started portmapd");
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
	cmp_ok(p.n, "==", POLICY_RULES_MAX, "the number of rules is bounded");
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
