/* SPDX-License-Identifier: ISC */
/*
 * Selects the mode that the exports need: the fewest rights that serve them.
 * Also the users that a process may act as in each mode. No system call.
 * Runs in: nfsd parent; the rules in nfsd broker, nfsd worker.
 */
#include <sys/syscall.h>

#include "base/util.h"
#include "confine/sandbox.h"
#include "exports/exports.h"
#include "nfsd/mode.h"

/* clang-format off */
/*
 * The kernel ignores the upper half of this 64-bit argument; it must be zero.
 */
static const struct sandbox_rule root_rules[] = {
	{ SYS_setfsuid, 0, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
	{ SYS_setfsgid, 0, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
	{ SYS_setresuid, 1, SANDBOX_BELOW, 1, "no quota is root's" },
	{ SYS_setresuid, 1, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
};

static const struct sandbox_rule multi_rules[] = {
	{ SYS_setfsuid, 0, SANDBOX_BELOW, 1, "no caller is root" },
	{ SYS_setfsgid, 0, SANDBOX_BELOW, 1, "no caller is in root's group" },
	{ SYS_setfsuid, 0, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
	{ SYS_setfsgid, 0, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
	{ SYS_setresuid, 1, SANDBOX_BELOW, 1, "no quota is root's" },
	{ SYS_setresuid, 1, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
};

static const struct sandbox_rule squash_rules[] = {
	{ SYS_setfsuid, 0, SANDBOX_BELOW, UINT64_MAX, "all callers are one user" },
	{ SYS_setfsgid, 0, SANDBOX_BELOW, UINT64_MAX, "all callers are one user" },
	{ SYS_setresuid, 1, SANDBOX_BELOW, 1, "no quota is root's" },
	{ SYS_setresuid, 1, SANDBOX_ABOVE, UINT32_MAX, "2^32 would be root" },
};

static const struct {
	const char *name;
	const struct sandbox_rule *rules;
	size_t nrules;
} modes[] = {
	[MODE_SQUASH] = { "squash",     squash_rules, nitems(squash_rules) },
	[MODE_MULTI]  = { "multi-user", multi_rules,  nitems(multi_rules) },
	[MODE_ROOT]   = { "root",       root_rules,   nitems(root_rules) },
};
/* clang-format on */

enum nfsd_mode
nfsd_mode(const struct exports *ex, bool rootless, uid_t *uid, gid_t *gid)
{
	const struct export_options *o, *first = NULL;
	enum nfsd_mode mode = MODE_SQUASH;
	size_t i, j;

	if (rootless)
		return MODE_SQUASH;
	for (i = 0; i < ex->n; i++)
		for (j = 0; j < ex->list[i].nclients; j++) {
			o = &ex->list[i].clients[j].options;
			/* Only options that name root give root. */
			if ((o->no_root_squash && !o->all_squash) ||
			    o->anonuid == 0 || o->anongid == 0)
				return MODE_ROOT;
			if (first == NULL)
				first = o;
			if (!o->all_squash || o->anonuid != first->anonuid ||
			    o->anongid != first->anongid)
				mode = MODE_MULTI;
		}
	if (mode == MODE_SQUASH && first != NULL) {
		*uid = first->anonuid;
		*gid = first->anongid;
	}
	return mode;
}

bool
nfsd_setid(const struct exports *ex)
{
	size_t i, j;

	for (i = 0; i < ex->n; i++)
		for (j = 0; j < ex->list[i].nclients; j++)
			if (ex->list[i].clients[j].options.setid)
				return true;
	return false;
}

const char *
nfsd_mode_name(enum nfsd_mode mode, bool rootless)
{
	return rootless ? "rootless" : modes[mode].name;
}

void
nfsd_mode_rules(struct sandbox_policy *policy, enum nfsd_mode mode)
{
	policy->rules = modes[mode].rules;
	policy->nrules = modes[mode].nrules;
}
