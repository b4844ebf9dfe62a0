/* SPDX-License-Identifier: ISC */
/*
 * Landlock refuses every file right that the kernel knows, except the policy's
 * rights below its descriptors. It also refuses TCP bind and connect, abstract
 * unix sockets and signals to other processes, if the ABI has them. The rights
 * are defined here, because Debian 12's headers end at ABI 2.
 * Runs in: every role except nfsd's broker.
 */
#include <sys/syscall.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define LL_VERSION	1u /* flag: return the ABI */
#define LL_PATH_BENEATH 1 /* rule type */
#define LL_NET_PORT	2

/* landlock(7): rights over files. */
#define LL_EXECUTE     (1u << 0)
#define LL_WRITE_FILE  (1u << 1)
#define LL_READ_FILE   (1u << 2)
#define LL_READ_DIR    (1u << 3)
#define LL_REMOVE_DIR  (1u << 4)
#define LL_REMOVE_FILE (1u << 5)
#define LL_MAKE_CHAR   (1u << 6)
#define LL_MAKE_DIR    (1u << 7)
#define LL_MAKE_REG    (1u << 8)
#define LL_MAKE_SOCK   (1u << 9)
#define LL_MAKE_FIFO   (1u << 10)
#define LL_MAKE_BLOCK  (1u << 11)
#define LL_MAKE_SYM    (1u << 12)
#define LL_REFER       (1u << 13)
#define LL_TRUNCATE    (1u << 14)
#define LL_IOCTL_DEV   (1u << 15)

#define LL_NET	       3u /* bind and connect, TCP */
#define LL_CONNECT_TCP 2u
#define LL_SCOPE       3u /* abstract unix sockets and signals */

/* The rights that an ABI knows. */
struct abi {
	uint64_t files;
	uint64_t net;
	uint64_t scope;
};

/* clang-format off */
static const struct abi abis[] = {
	[1] = { LL_REFER - 1, 0, 0 },
	[2] = { LL_TRUNCATE - 1, 0, 0 },
	[3] = { LL_IOCTL_DEV - 1, 0, 0 },
	[4] = { LL_IOCTL_DEV - 1, LL_NET, 0 },
	[5] = { 2 * LL_IOCTL_DEV - 1, LL_NET, 0 },
	[6] = { 2 * LL_IOCTL_DEV - 1, LL_NET, LL_SCOPE },
};

/* SANDBOX_FILES_* as Landlock rights. */
static const struct {
	uint64_t right;
	uint64_t landlock;
} rights[] = {
	{ SANDBOX_FILES_READ, LL_READ_FILE | LL_READ_DIR },
	{ SANDBOX_FILES_WRITE, LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE |
	    LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | LL_MAKE_FIFO |
	    LL_MAKE_SYM | LL_REFER | LL_TRUNCATE },
	{ SANDBOX_FILES_NODES, LL_MAKE_CHAR | LL_MAKE_BLOCK },
};
/* clang-format on */

struct ruleset {
	uint64_t files;
	uint64_t net;
	uint64_t scope;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

struct net_port {
	uint64_t allowed;
	uint64_t port;
};

static uint64_t
translate(uint64_t wanted, const struct abi *abi)
{
	uint64_t out = 0;
	size_t i;

	for (i = 0; i < nitems(rights); i++)
		if ((wanted & rights[i].right) != 0)
			out |= rights[i].landlock;
	return out & abi->files;
}

static void
add_paths(int set, const struct sandbox_policy *policy, const struct abi *abi)
{
	struct path_beneath rule = { .allowed =
					 translate(policy->file_rights, abi) };
	size_t i;

	for (i = 0; i < policy->npaths && rule.allowed != 0; i++) {
		rule.parent = policy->paths[i];
		if (syscall(SYS_landlock_add_rule, set, LL_PATH_BENEATH, &rule,
			0) == -1)
			fatal("landlock: descriptor %d", policy->paths[i]);
	}
}

static void
add_port(int set, uint16_t port)
{
	const struct net_port rule = { LL_CONNECT_TCP, port };

	if (syscall(SYS_landlock_add_rule, set, LL_NET_PORT, &rule, 0) == -1)
		fatal("landlock: port %u", port);
}

void
sandbox_landlock_enter(struct sandbox *box)
{
	const struct sandbox_policy *policy = box->policy;
	struct ruleset attr;
	const struct abi *abi;
	long version;
	int set;

	if (policy->no_landlock)
		return;
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_VERSION);
	if (version < 1) {
		sandbox_missing(box, "landlock",
		    "not in this kernel or disabled");
		return;
	}
	abi = &abis[version < (long)nitems(abis) ? (size_t)version :
						   nitems(abis) - 1];
	attr = (struct ruleset){ abi->files, abi->net, abi->scope };
	if (policy->resolves && policy->tcp_port == 0)
		attr.net = 0;
	set = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (set == -1 && errno == E2BIG) /* a kernel without net and scope */
		set = (int)syscall(SYS_landlock_create_ruleset, &attr,
		    sizeof(attr.files), 0);
	if (set == -1)
		fatal("landlock");
	add_paths(set, policy, abi);
	if (policy->resolves && attr.net != 0)
		add_port(set, policy->tcp_port);
	if (syscall(SYS_landlock_restrict_self, set, 0) == -1)
		fatal("landlock");
	close(set);
	box->landlock = (int)version;
}
