/* SPDX-License-Identifier: ISC */
/*
 * Whom a thread acts as, call after call. It remembers whom the last call acted
 * as: here the next one differs in one thing only, and must act as another user.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/syscall.h>

#include <arpa/inet.h>

#include <string.h>
#include <unistd.h>

#include "door_call.h"
#include "tap.h"

#define NOBODY 99
#define CLIENTS                                                                \
	"127.0.0.1(rw,anonuid=99,anongid=99) "                                 \
	"127.0.0.2(rw,all_squash,anonuid=99,anongid=99) "                      \
	"cert:known(rw,all_squash,anonuid=98,anongid=98)"

static struct door_call c;
static struct peer_identity known = {
	.key = 5, .security = PEER_MTLS, .nnames = 1, .names = "known"
};

/* Is this whom a call acts as, to the door and to the kernel? */
static bool
acts_as(uint32_t uid, uint32_t gid, int groups)
{
	return door_call_try(&c, DOOR_DIR) == NFS_OK && c.ctx.uid == uid &&
	    c.ctx.gid == gid && (uint32_t)syscall(SYS_setfsuid, -1L) == uid &&
	    (uint32_t)syscall(SYS_setfsgid, -1L) == gid &&
	    syscall(SYS_getgroups, 0, NULL) == groups;
}

static void
come_from_host(uint8_t last)
{
	c.peer.from.bytes[sizeof(struct in_addr) - 1] = last;
}

static void
test_credentials(void)
{
	struct rpc_cred *cred = &c.call.cred;

	*cred = (struct rpc_cred){ .flavor = AUTH_SYS,
		.uid = 1000,
		.gid = 1000,
		.ngids = 2,
		.gids = { 7, 8 } };
	ok(acts_as(1000, 1000, 2) && acts_as(1000, 1000, 2),
	    "a caller is itself, and so is the next call of it");
	cred->uid = 1001;
	ok(acts_as(1001, 1000, 2), "another user");
	cred->gid = 1001;
	ok(acts_as(1001, 1001, 2), "another group");
	cred->ngids = 1;
	ok(acts_as(1001, 1001, 1), "the same without its last group");
	cred->ngids = 2;
	cred->gids[1] = 7;
	ok(acts_as(1001, 1001, 1), "a group that is there twice");
	cred->gids[1] = 9;
	ok(acts_as(1001, 1001, 2), "another last group");
	cred->flavor = AUTH_NONE;
	ok(acts_as(NOBODY, NOBODY, 0), "the same numbers without AUTH_SYS");
	cred->flavor = AUTH_SYS;
	cred->uid = 0;
	ok(acts_as(NOBODY, 1001, 2), "root is squashed");
	cred->uid = 1001;
	ok(acts_as(1001, 1001, 2), "and the user after it is not");
}

static void
test_peers(void)
{
	come_from_host(2);
	ok(acts_as(NOBODY, NOBODY, 0), "the same from a host that is squashed");
	come_from_host(1);
	ok(acts_as(1001, 1001, 2), "and again from the first host");
	c.peer.identity = &known;
	ok(acts_as(98, 98, 0), "the same with a certificate");
	c.peer.identity = NULL;
	ok(acts_as(1001, 1001, 2), "and again without it");
	come_from_host(3);
	ok(door_call_try(&c, DOOR_DIR) == NFSERR_ACCES,
	    "the same from a host that is on no list");
	come_from_host(1);
}

/* A list is often where the one before the last was in memory. */
static void
test_reload(void)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < 50; i++) {
		door_call_clients(&c, CLIENTS); /* and no call */
		door_call_clients(&c,
		    i % 2 == 0 ? "127.0.0.1(rw,all_squash,anonuid=99,"
				 "anongid=99)" :
				 "127.0.0.1(rw,anonuid=99,anongid=99)");
		wrong += !(i % 2 == 0 ? acts_as(NOBODY, NOBODY, 0) :
					acts_as(1001, 1001, 2));
	}
	ok(wrong == 0, "the same under other exports");
}

static void
ask(void *arg, uint32_t uid)
{
	(void)arg;
	(void)uid;
}

/* The groups of this machine may change between two calls. */
static void
test_groups(void)
{
	static struct groups_table table;
	struct groups_slot *slot = &table.slots[groups_set(1001)];
	uint32_t gids[] = { 1001, 1002, 1003 };
	struct groups here = { .gid = 1001, .n = 3, .gids = gids };

	door_manage_groups(c.door, &table, ask, NULL);
	c.call.may_block = false;
	ok(door_call_try(&c, DOOR_DIR) == NFS_DEFERRED,
	    "the same when its groups have to be looked up here");
	groups_write(slot, GROUPS_KNOWN, 1001, &here, UINT32_MAX);
	ok(acts_as(1001, 1001, 3), "it has the groups of this machine");
	here.n = 2;
	groups_write(slot, GROUPS_KNOWN, 1001, &here, UINT32_MAX);
	ok(acts_as(1001, 1001, 2), "also when it has lost one of them");
	groups_write(slot, GROUPS_NONE, 1001, NULL, UINT32_MAX);
	ok(acts_as(1001, NOBODY, 0), "and when it is no user here any more");
}

int
main(void)
{
	if (geteuid() != 0)
		plan(SKIP_ALL, "only root can act as others");
	door_call_init(&c, "rw");
	door_call_clients(&c, CLIENTS);
	test_credentials();
	test_peers();
	test_reload();
	test_groups();
	(void)syscall(SYS_setfsuid, 0L); /* the directory is root's */
	door_call_clear(&c);
	done_testing();
}
