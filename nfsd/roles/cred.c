/* SPDX-License-Identifier: ISC */
/*
 * Squashes credentials and switches the identity of a thread. glibc's wrappers
 * change every thread of a process; the raw system calls used here change only
 * the calling one.
 * Runs in: nfsd worker, nfsd broker.
 */
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "exports/client.h"
#include "nfsd/roles/cred.h"

#define NOBODY UINT32_MAX /* (uid_t)-1: no user; must not become one */
/* setfsuid(2) of no user returns the current one. Squash mode's filter permits
 * no other argument. */
#define ASK (-1L)

void
cred_init(struct cred_acting *acting, enum nfsd_mode mode)
{
	memset(acting, 0, sizeof(*acting));
	acting->switches = mode != MODE_SQUASH;
	if (acting->switches)
		return;
	acting->now.uid = (uint32_t)syscall(SYS_setfsuid, ASK);
	acting->now.gid = (uint32_t)syscall(SYS_setfsgid, ASK);
	acting->known = true;
}

/* Inserts gid into the sorted list unless it is there. */
static void
add_group(struct cred *cred, uint32_t gid)
{
	uint32_t i = cred->ngids;

	while (i > 0 && cred->gids[i - 1] > gid)
		i--;
	if (i > 0 && cred->gids[i - 1] == gid)
		return;
	memmove(cred->gids + i + 1, cred->gids + i,
	    (cred->ngids - i) * sizeof(gid));
	cred->gids[i] = gid;
	cred->ngids++;
}

void
cred_squash(struct cred *cred, const struct rpc_cred *from,
    const struct export_options *options)
{
	uint32_t i, n = from->ngids;

	cred->ngids = 0;
	cred->managed = false;
	cred->uid = options->anonuid;
	cred->gid = options->anongid;
	if (from->flavor != AUTH_SYS || options->all_squash ||
	    from->uid == NOBODY || from->gid == NOBODY)
		return;
	if (n > RPC_GROUPS_MAX)
		n = RPC_GROUPS_MAX;
	cred->uid = exports_uid(options, from->uid);
	cred->gid = exports_gid(options, from->gid);
	for (i = 0; i < n; i++)
		if (from->gids[i] != NOBODY)
			add_group(cred, exports_gid(options, from->gids[i]));
}

static bool
is_member(const struct groups *g, uint32_t gid)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->gids[i] == gid)
			return true;
	return false;
}

void
cred_manage(struct cred *cred, const struct export_options *options,
    const struct groups *g)
{
	cred->managed = g != NULL;
	cred->ngids = 0;
	if (g == NULL) {
		cred->gid = options->anongid;
		return;
	}
	if (!is_member(g, cred->gid))
		cred->gid = is_member(g, g->gid) ? g->gid : options->anongid;
	cred->ngids = g->n;
	memmove(cred->gids, g->gids, g->n * sizeof(cred->gids[0]));
}

void
cred_copy(struct cred *to, const struct cred *from)
{
	memcpy(to, from,
	    offsetof(struct cred, gids) + from->ngids * sizeof(to->gids[0]));
	to->managed = from->managed;
}

bool
cred_equal(const struct cred *a, const struct cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngids == b->ngids &&
	    memcmp(a->gids, b->gids, a->ngids * sizeof(a->gids[0])) == 0;
}

uint64_t
cred_key(const struct cred *cred)
{
	static const struct hash_key key = { "tern caller" };
	uint64_t sum = hash_bytes(&key, cred,
	    offsetof(struct cred, gids) + cred->ngids * sizeof(cred->gids[0]));

	return sum == 0 ? 1 : sum;
}

uint64_t
cred_acting_key(struct cred_acting *acting)
{
	if (acting->key == 0)
		acting->key = cred_key(&acting->now);
	return acting->key;
}

static int
set_groups(const struct cred *cred)
{
	_Static_assert(sizeof(gid_t) == sizeof(cred->gids[0]), "one type");
	return (int)syscall(SYS_setgroups, (long)cred->ngids, cred->gids);
}

/*
 * Sets the filesystem user or group id and verifies it. setfsuid(2) returns the
 * previous id and reports no error. Setting -1 always fails and so returns the
 * current id.
 */
static int
set_id(long call, uint32_t id)
{
	if (id == NOBODY) {
		errno = EINVAL;
		return -1;
	}
	(void)syscall(call, (unsigned long)id);
	if ((uint32_t)syscall(call, (unsigned long)NOBODY) == id)
		return 0;
	errno = EPERM;
	return -1;
}

int
cred_settle(uint32_t uid, uint32_t gid)
{
	if (geteuid() == uid && getegid() == gid)
		return 0;
	/* After the change of user they may be permitted and not effective. */
	(void)cred_right(CAP_SETGID, true);
	(void)cred_right(CAP_SETUID, true);
	if (set_id(SYS_setfsgid, gid) == -1 || set_id(SYS_setfsuid, uid) == -1)
		return -1;
	return 0;
}

int
cred_switch(struct cred_acting *acting, const struct cred *cred)
{
	bool full = !acting->known;
	const struct cred *now = &acting->now;

	if (!acting->switches || (!full && cred_equal(now, cred)))
		return 0;
	acting->known = false;
	acting->key = 0;
	if ((full || cred->ngids != now->ngids ||
		memcmp(cred->gids, now->gids,
		    cred->ngids * sizeof(now->gids[0])) != 0) &&
	    set_groups(cred) == -1)
		return -1;
	if ((full || cred->gid != now->gid) &&
	    set_id(SYS_setfsgid, cred->gid) == -1)
		return -1;
	if ((full || cred->uid != now->uid) &&
	    set_id(SYS_setfsuid, cred->uid) == -1)
		return -1;
	cred_copy(&acting->now, cred);
	acting->known = true;
	return 0;
}

int
cred_effective(uint32_t uid)
{
	const unsigned long same = UINT32_MAX;

	return (int)syscall(SYS_setresuid, same, (unsigned long)uid, same);
}

int
cred_right(int cap, bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t bit = 1u << cap;
	int before;

	if (syscall(SYS_capget, &head, data) == -1)
		return -1;
	before = (data[0].effective & bit) != 0;
	if (before == (int)on)
		return before;
	data[0].effective ^= bit;
	return syscall(SYS_capset, &head, data) == -1 ? -1 : before;
}
