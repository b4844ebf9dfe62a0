/* SPDX-License-Identifier: ISC */
/*
 * Permission by mode and ACL: each kind of entry by itself, then many lists and
 * callers against what the kernel answers for the same object. The object is a
 * directory, since the kernel refuses execution of files on a noexec mount.
 * Runs in: tests.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"
#include "nfsd/roles/acl.h"
#include "tap.h"

#define ACL	    "system.posix_acl_access"
#define OWNER	    1000u
#define OWNER_GROUP 2000u
#define ROUNDS	    400
#define NO_ID	    UINT32_MAX /* entries that name no user */

struct entry {
	uint16_t tag, perm;
	uint32_t id;
};

static int object = -1; /* open for reading */
static bool has_acls;

/* The list as the kernel takes it; its entries must be sorted. */
static int
set_acl(const struct entry *list, size_t n)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry list[16];
	} acl = { .head = { .a_version = htole32(POSIX_ACL_XATTR_VERSION) } };
	size_t i;

	for (i = 0; i < n; i++) {
		acl.list[i].e_tag = htole16(list[i].tag);
		acl.list[i].e_perm = htole16(list[i].perm);
		acl.list[i].e_id = htole32(list[i].id);
	}
	return fsetxattr(object, ACL, &acl,
	    sizeof(acl.head) + n * sizeof(acl.list[0]), 0);
}

static struct cred_acting
caller(uint32_t uid, uint32_t gid, uint32_t other)
{
	struct cred_acting acting = { .switches = true, .known = true };

	acting.now.uid = uid;
	acting.now.gid = gid;
	acting.now.ngids = 1;
	acting.now.gids[0] = other;
	return acting;
}

/* As if the object belonged to OWNER: not every tester is root. */
static struct stat
owned(void)
{
	struct stat st;

	if (fstat(object, &st) == -1)
		err(1, "fstat");
	st.st_uid = OWNER;
	st.st_gid = OWNER_GROUP;
	return st;
}

static bool
may(uint32_t uid, uint32_t gid, uint32_t other, unsigned int any)
{
	struct cred_acting acting = caller(uid, gid, other);
	struct stat st = owned();

	return acl_permits(&acting, object, &st, any) == ACL_YES;
}

static void
by_mode(void)
{
	(void)fremovexattr(object, ACL);
	fchmod(object, 0077);
	ok(!may(OWNER, OWNER_GROUP, 1, R_OK),
	    "the owner has the owner's bits, even if all others have more");
	ok(may(1, OWNER_GROUP, 1, R_OK) && may(1, 1, OWNER_GROUP, R_OK),
	    "the group by its first or any other number");
	fchmod(object, 0707);
	ok(!may(1, OWNER_GROUP, 1, R_OK) && !may(1, 1, OWNER_GROUP, R_OK),
	    "a member has the group's bits, even if others have more");
	ok(may(1, 1, 1, R_OK), "others");
	fchmod(object, 0711);
	ok(!may(1, 1, 1, R_OK) && may(1, 1, 1, R_OK | X_OK),
	    "one of the rights asked for is enough");
	ok(may(0, 1, 1, W_OK), "root may do everything");
}

/*
 * rwx for the owner, r-x for user 5, -wx for user 6, --x for the group, r-- for
 * group 7, nothing for group 8, mask r-x, r-- for others.
 */
static const struct entry list[] = {
	{ ACL_USER_OBJ, 7, NO_ID },
	{ ACL_USER, 5, 5 },
	{ ACL_USER, 3, 6 },
	{ ACL_GROUP_OBJ, 1, NO_ID },
	{ ACL_GROUP, 4, 7 },
	{ ACL_GROUP, 0, 8 },
	{ ACL_MASK, 5, NO_ID },
	{ ACL_OTHER, 4, NO_ID },
};

static void
by_entry(void)
{
	struct cred_acting squashed = caller(0, 1, 1);
	struct stat st;

	skip(!has_acls, 11, "no ACLs on this filesystem");
	if (set_acl(list, nitems(list)) == -1)
		err(1, "acl");
	st = owned();
	ok(may(OWNER, 8, 8, W_OK), "the owner, whom the mask does not limit");
	ok(may(5, 8, 8, R_OK) && !may(5, 7, 7, W_OK), "a named user");
	ok(may(6, 1, 1, X_OK) && !may(6, 1, 1, W_OK),
	    "a named user within the mask");
	ok(!may(6, 7, 7, R_OK), "not by a group, nor as another, if named");
	ok(may(1, OWNER_GROUP, 1, X_OK) && !may(1, OWNER_GROUP, 1, R_OK),
	    "the owning group");
	ok(may(1, 7, 1, R_OK) && may(1, 1, 7, R_OK), "a named group");
	ok(may(1, 7, OWNER_GROUP, R_OK) && may(1, 7, OWNER_GROUP, X_OK),
	    "any group of the caller may grant it");
	ok(may(1, 8, 7, R_OK), "a group without rights takes none away");
	ok(!may(1, 8, 8, R_OK), "but its member is not one of the others");
	ok(may(1, 1, 1, R_OK) && !may(1, 1, 1, X_OK), "others");
	squashed.switches = false;
	ok(acl_permits(&squashed, object, &st, X_OK) == ACL_NO,
	    "user 0 without the power of root is one of the others");
	end_skip;
}

/* The answer when the list cannot be read. */
static void
without_list(void)
{
	struct cred_acting acting = caller(1, 1, 1);
	int path = fixture_fd(O_PATH);
	struct stat st = owned();

	st.st_mode = S_IFDIR | 0755;
	ok(acl_permits(&acting, path, &st, R_OK) == ACL_UNKNOWN,
	    "what the mode grants is not sure without the list");
	st.st_mode = S_IFDIR | 0750;
	ok(acl_permits(&acting, path, &st, R_OK) == ACL_NO,
	    "what the mode refuses no list grants");
	close(path);
}

/* A list of its own in each round; the same ones in every run. */
static uint32_t
draw(uint32_t below)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

static size_t
draw_list(struct entry *e)
{
	size_t n = 0;
	uint32_t i;

	e[n++] = (struct entry){ ACL_USER_OBJ, (uint16_t)draw(8), NO_ID };
	for (i = 0; i < 4; i++)
		if (draw(2) == 0)
			e[n++] =
			    (struct entry){ ACL_USER, (uint16_t)draw(8), i };
	e[n++] = (struct entry){ ACL_GROUP_OBJ, (uint16_t)draw(8), NO_ID };
	for (i = 0; i < 4; i++)
		if (draw(2) == 0)
			e[n++] =
			    (struct entry){ ACL_GROUP, (uint16_t)draw(8), i };
	e[n++] = (struct entry){ ACL_MASK, (uint16_t)draw(8), NO_ID };
	e[n++] = (struct entry){ ACL_OTHER, (uint16_t)draw(8), NO_ID };
	return n;
}

/* Which of the three rights the kernel grants to whom the thread acts as. */
static unsigned int
kernel_grants(void)
{
	static const unsigned int each[] = { R_OK, W_OK, X_OK };
	unsigned int granted = 0;
	size_t i;

	for (i = 0; i < nitems(each); i++)
		if (syscall(SYS_faccessat2, object, "", (int)each[i],
			AT_EMPTY_PATH | AT_EACCESS) == 0)
			granted |= each[i];
	return granted;
}

static unsigned int
we_grant(const struct cred_acting *acting)
{
	static const unsigned int each[] = { R_OK, W_OK, X_OK };
	unsigned int granted = 0;
	struct stat st;
	size_t i;

	if (fstat(object, &st) == -1)
		err(1, "fstat");
	for (i = 0; i < nitems(each); i++)
		if (acl_permits(acting, object, &st, each[i]) == ACL_YES)
			granted |= each[i];
	return granted;
}

/*
 * Then the kernel does not look at the list at all, and named users and groups
 * may have the rights of others; acl(5) gives them none.
 */
static bool
is_mask_empty(void)
{
	struct stat st;

	return fstat(object, &st) == 0 && (st.st_mode & S_IRWXG) == 0;
}

static void
against_kernel(void)
{
	struct cred self = { .uid = (uint32_t)geteuid(),
		.gid = (uint32_t)getegid() };
	struct entry drawn[16];
	struct cred_acting acting;
	unsigned int differ = 0, more = 0, granted = 0, round, kernel, we;
	struct cred who;

	skip(geteuid() != 0 || !has_acls, 3, "needs root and ACLs");
	/* Users, groups and owners of small numbers, so that they often meet. */
	cred_init(&acting, MODE_MULTI);
	for (round = 0; round < ROUNDS; round++) {
		if (cred_switch(&acting, &self) == -1 ||
		    fchown(object, 1 + draw(4), draw(4)) == -1 ||
		    set_acl(drawn, draw_list(drawn)) == -1)
			err(1, "round %u", round);
		who = (struct cred){ .uid = 1 + draw(5),
			.gid = draw(5),
			.ngids = 1,
			.gids = { draw(5) } };
		if (cred_switch(&acting, &who) == -1)
			err(1, "act as %u", who.uid);
		kernel = kernel_grants();
		we = we_grant(&acting);
		differ += we != kernel && !is_mask_empty();
		more += (we & ~kernel) != 0;
		granted += kernel != 0;
	}
	if (cred_switch(&acting, &self) == -1)
		err(1, "act as myself");
	cmp_ok(differ, "==", 0,
	    "the kernel says the same of %d lists unless the mask is empty",
	    ROUNDS);
	cmp_ok(more, "==", 0, "and never less");
	ok(granted > ROUNDS / 4 && granted < ROUNDS,
	    "which grant something to some");
	end_skip;
}

int
main(void)
{
	plan(NO_PLAN);
	object = fixture_fd(O_RDONLY);
	has_acls = set_acl(list, nitems(list)) == 0;
	by_mode();
	by_entry();
	without_list();
	against_kernel();
	fchmod(object, 0755);
	close(object);
	done_testing();
}
