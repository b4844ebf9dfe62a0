/* SPDX-License-Identifier: ISC */
/*
 * Squashing, and acting as a caller in one thread only.
 * Runs in: tests.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"
#include "exports/exports.h"
#include "nfsd/roles/cred.h"
#include "tap.h"

static const struct export_options squash = { .anonuid = 65534,
	.anongid = 65533 };
static const struct export_options trust = {
	.no_root_squash = true, .anonuid = 65534, .anongid = 65533
};
static const struct export_options all = {
	.all_squash = true, .anonuid = 1234, .anongid = 5678
};

static struct cred
squashed(uint32_t flavor, uint32_t uid, uint32_t gid,
    const struct export_options *o)
{
	struct rpc_cred in = { .flavor = flavor,
		.uid = uid,
		.gid = gid,
		.ngids = 5,
		.gids = { 9, 0, 7, 9, UINT32_MAX } };
	struct cred out;

	cred_squash(&out, &in, o);
	return out;
}

static void
squashing(void)
{
	static const uint32_t uids[] = { 65534, 65535, 65536, 1u << 31,
		UINT32_MAX - 1 };
	struct cred c = squashed(AUTH_SYS, 0, 0, &squash);
	size_t i;

	ok(c.uid == 65534 && c.gid == 65533,
	    "root is squashed to the anonymous user");
	ok(c.ngids == 3 && c.gids[0] == 7 && c.gids[1] == 9 &&
		c.gids[2] == 65533,
	    "groups are sorted, without repeats, without group 0 and -1");
	c = squashed(AUTH_SYS, 0, 0, &trust);
	ok(c.uid == 0 && c.gid == 0 && c.gids[0] == 0,
	    "no_root_squash: root stays root");
	c = squashed(AUTH_NONE, 0, 0, &trust);
	ok(c.uid == 65534 && c.ngids == 0,
	    "AUTH_NONE is always the anonymous user");
	c = squashed(AUTH_SYS, 1000, 1000, &all);
	ok(c.uid == 1234 && c.gid == 5678 && c.ngids == 0,
	    "all_squash: every caller is the anonymous user, without groups");
	for (i = 0; i < nitems(uids); i++) {
		c = squashed(AUTH_SYS, uids[i], 1, &squash);
		ok(c.uid == uids[i], "user %u is not squashed", uids[i]);
	}
	c = squashed(AUTH_SYS, UINT32_MAX, 1, &trust);
	ok(c.uid == 65534, "user -1 is the anonymous user");
	c = squashed(AUTH_SYS, 1, UINT32_MAX, &trust);
	ok(c.uid == 65534 && c.gid == 65533,
	    "a caller with group -1 is the anonymous user");
}

static uint32_t
fsuid_now(void)
{
	return (uint32_t)syscall(SYS_setfsuid, -1L);
}

static void *
other_thread(void *arg)
{
	*(uint32_t *)arg = fsuid_now();
	return NULL;
}

static void
switching(void)
{
	struct cred a = { 1000, 1001, 2, { 5, 6 }, false };
	struct cred b = { 2000, 2001, 0, { 0 }, false };
	struct cred bad = { UINT32_MAX, 1, 0, { 0 }, false };
	struct cred_acting acting;
	gid_t groups[8];
	pthread_t thread;
	uint32_t seen = 1;

	cred_init(&acting, MODE_MULTI);
	ok(cred_switch(&acting, &a) == 0 && fsuid_now() == 1000,
	    "the thread acts as the caller");
	ok(getgroups(8, groups) == 2 && groups[0] == 5,
	    "with the caller's groups");
	pthread_create(&thread, NULL, other_thread, &seen);
	pthread_join(thread, NULL);
	ok(cred_switch(&acting, &b) == 0 && fsuid_now() == 2000 &&
		getgroups(8, groups) == 0,
	    "then as the next caller");
	ok(cred_switch(&acting, &bad) == -1 && !acting.known,
	    "acting as user -1 fails");
	ok(cred_switch(&acting, &a) == 0 && fsuid_now() == 1000,
	    "after a failure all ids are set again");
	(void)syscall(SYS_setfsuid, 0L);
	(void)syscall(SYS_setfsgid, 0L);
}

static void *
switch_and_look(void *arg)
{
	struct cred a = { 3000, 3000, 0, { 0 }, false };
	struct cred_acting acting;

	cred_init(&acting, MODE_MULTI);
	*(uint32_t *)arg =
	    cred_switch(&acting, &a) == 0 ? fsuid_now() : UINT32_MAX;
	return NULL;
}

static void
threads(void)
{
	uint32_t seen = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, switch_and_look, &seen);
	pthread_join(thread, NULL);
	ok(seen == 3000 && fsuid_now() == 0,
	    "another thread's identity stays its own");
}

/*
 * Without the capability setfsuid() fails silently: reading the id back must
 * show it.
 */
static void
without_right(void)
{
	struct cred a = { 1000, 1000, 0, { 0 }, false };
	struct cred_acting acting;

	cred_init(&acting, MODE_MULTI);
	acting.known = true; /* setgroups() would fail: skip it */
	acting.now = (struct cred){ 5000, 1000, 0, { 0 }, false };
	if (setresuid(5000, 5000, 5000) == -1 ||
	    cred_switch(&acting, &a) != -1 || acting.known)
		_exit(1);
	cred_init(&acting, MODE_MULTI);
	if (cred_switch(&acting, &a) != -1)
		_exit(1);
}

static void
alone(void)
{
	struct cred a = { 1000, 1000, 0, { 0 }, false };
	struct cred_acting acting;

	ok(cred_settle((uint32_t)geteuid(), (uint32_t)getegid()) == 0,
	    "a process may act as itself");
	cred_init(&acting, MODE_SQUASH);
	ok(cred_switch(&acting, &a) == 0 &&
		acting.now.uid == (uint32_t)geteuid(),
	    "in squash mode every caller is the settled user");
}

static void
keys(void)
{
	struct cred a = { 1, 2, 1, { 3 }, false },
		    b = { 1, 2, 1, { 4 }, false };

	ok(cred_key(&a) != cred_key(&b) && !cred_equal(&a, &b),
	    "another group makes another caller");
	b.gids[0] = 3;
	ok(cred_key(&a) == cred_key(&b) && cred_equal(&a, &b),
	    "equal ids make the same caller");
}

int
main(void)
{
	plan(NO_PLAN);
	squashing();
	keys();
	alone();
	skip(geteuid() != 0, 7, "needs root");
	switching();
	threads();
	lives_ok(without_right(),
	    "a switch that the kernel ignored is an error");
	end_skip;
	done_testing();
}
