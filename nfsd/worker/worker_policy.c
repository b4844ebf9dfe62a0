/* SPDX-License-Identifier: ISC */
/*
 * The sandbox policies of a worker. Modes differ in the capabilities they keep
 * and in the users they may act as. Everything else is one list.
 * Runs in: nfsd worker.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/fs.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/worker/worker_policy.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define SET_ID (S_ISUID | S_ISGID)

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_chdir,         false, "audit: leave the directory again" },
	{ SYS_dup3,          true,  "replace a channel to the broker" },
	{ SYS_faccessat2,    false, "check the caller's rights on an open file; ACCESS" },
	{ SYS_fchdir,        false, "audit: the directory of a name" },
	{ SYS_fchmod,        true,  "SETATTR before Linux 6.6" },
	{ SYS_fchmodat,      true,  "SETATTR before Linux 6.6" },
	{ SYS_fchmodat2,     false, "SETATTR mode" },
	{ SYS_fchownat,      false, "SETATTR owner" },
	{ SYS_fgetxattr,     true,  "ACCESS: ACL for the right to execute" },
#ifdef SYS_fstat
	{ SYS_fstat,         false, "attributes" },
#endif
	{ SYS_fstatfs,       false, "FSSTAT; filesystem type of a new export" },
	{ SYS_fsync,         false, "COMMIT; names and attributes" },
	{ SYS_ftruncate,     false, "SETATTR size" },
	{ SYS_getcwd,        false, "audit: its path" },
	{ SYS_getdents64,    false, "READDIR" },
	{ SYS_lseek,         false, "READDIR from a cookie" },
	{ SYS_mkdirat,       false, "MKDIR" },
	{ SYS_mknodat,       false, "MKNOD" },
	{ SYS_newfstatat,    false, "attributes; fstat of libc" },
	{ SYS_openat,        false, "open a name in a directory, no symbolic link" },
	{ SYS_pread64,       false, "READ; new exports" },
	{ SYS_preadv2,       false, "READ of data in memory" },
	{ SYS_pwritev2,      false, "WRITE, stable" },
	{ SYS_readlinkat,    false, "READLINK" },
	{ SYS_recvmsg,       false, "read a record or a reply of the broker" },
	{ SYS_renameat,      false, "RENAME onto a name" },
	{ SYS_renameat2,     false, "RENAME to a free name" },
	{ SYS_sendmsg,       false, "send a reply or a request to the broker" },
	{ SYS_setfsgid,      false, "act as the caller" },
	{ SYS_setfsuid,      false, "act as the caller" },
	{ SYS_setgroups,     false, "act as the caller" },
	{ SYS_statx,         false, "LOOKUP: attributes, creation time and mount" },
	{ SYS_symlinkat,     false, "SYMLINK" },
	{ SYS_unlinkat,      false, "REMOVE, RMDIR" },
	{ SYS_utimensat,     false, "SETATTR times" },
#ifdef SYS_utimensat_time32
	{ SYS_utimensat_time32, true, "SETATTR times until 2038 (32-bit machines)" },
#endif
};

static const struct sandbox_choice choices[] = {
	{ SYS_madvise,   {{ 2, 0, MADV_NOHUGEPAGE }, SANDBOX_ALONE}, "the handle cache grows page by page" },
	{ SYS_renameat2, {{ 4, 0, RENAME_NOREPLACE }, SANDBOX_ALONE}, "it exchanges no names and leaves no device" },
};

/*
 * Unless an export permits set-id bits. A filter cannot tell a directory from a
 * file, so the broker sets those bits of directories. mkdir(2) ignores them.
 */
static const struct sandbox_rule no_setid[] = {
	{ SYS_fchmod,    1, SANDBOX_HAS, SET_ID, "no set-id program" },
	{ SYS_fchmodat,  2, SANDBOX_HAS, SET_ID, "no set-id program" },
	{ SYS_fchmodat2, 2, SANDBOX_HAS, SET_ID, "no set-id program" },
	{ SYS_mknodat,   2, SANDBOX_HAS, SET_ID, "no set-id program" },
	{ SYS_openat,    3, SANDBOX_HAS, SET_ID, "no set-id program" },
};

static const int multi_caps[] = { CAP_SETUID, CAP_SETGID };
static const int root_caps[] = { CAP_SETUID, CAP_SETGID, CAP_CHOWN,
	CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_MKNOD };

static const struct {
	const int *caps;
	size_t ncaps;
	bool follow; /* file capabilities only while the caller is root */
} modes[] = {
	[MODE_SQUASH] = { NULL, 0, false },
	[MODE_MULTI]  = { multi_caps, nitems(multi_caps), false },
	[MODE_ROOT]   = { root_caps, nitems(root_caps) - 1, true }, /* no MKNOD */
};
/* clang-format on */

static void
add_rules(struct worker_policy *p, const struct sandbox_rule *rules, size_t n)
{
	struct sandbox_policy *policy = &p->policy;

	if (n > nitems(p->rules) - policy->nrules)
		fatalx("more than WORKER_RULES_MAX rules");
	memcpy(p->rules + policy->nrules, rules, n * sizeof(*rules));
	policy->nrules += n;
	policy->rules = p->rules;
}

void
worker_policy(struct worker_policy *p, const struct nfsd_setup *setup,
    const struct jail_view *view, const struct served_exports *x)
{
	struct sandbox_policy *policy = &p->policy, mode;
	size_t i;

	memset(policy, 0, sizeof(*policy));
	policy->role = "worker";
	policy->calls = calls;
	policy->ncalls = nitems(calls);
	policy->choices = choices;
	policy->nchoices = nitems(choices);
	policy->serves = true;
	policy->dies_with_parent = true;
	nfsd_mode_rules(&mode, setup->mode);
	add_rules(p, mode.rules, mode.nrules);
	if (!setup->setid)
		add_rules(p, no_setid, nitems(no_setid));
	policy->caps = modes[setup->mode].caps;
	policy->ncaps = modes[setup->mode].ncaps;
	policy->caps_follow_fsuid = modes[setup->mode].follow;
	policy->file_rights = SANDBOX_FILES_READ | SANDBOX_FILES_WRITE;
	if (setup->mode == MODE_ROOT && setup->mknod) {
		policy->ncaps++; /* add CAP_MKNOD, the last of root_caps */
		policy->file_rights |= SANDBOX_FILES_NODES;
	}
	policy->paths = p->paths;
	if (view->top != -1)
		p->paths[policy->npaths++] = view->top;
	for (i = 0; view->top == -1 && i < x->n; i++)
		if (x->list[i].root != -1)
			p->paths[policy->npaths++] = x->list[i].root;
}
