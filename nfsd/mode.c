/* SPDX-License-Identifier: ISC */
/*
 * Which of the three modes the exports need: the fewest rights that serve them.
 * Pure.
 * Runs in: nfsd parent.
 */
#include "exports.h"
#include "nfsd.h"

enum fs_mode
nfsd_mode(const struct exports *ex, bool rootless, uid_t *uid, gid_t *gid)
{
	const struct export_options *o, *first = NULL;
	enum fs_mode mode = FS_SQUASH;
	size_t i, j;

	if (rootless)
		return FS_SQUASH;
	for (i = 0; i < ex->n; i++)
		for (j = 0; j < ex->list[i].nclients; j++) {
			o = &ex->list[i].clients[j].options;
			/* Root is what nobody may be without saying so. */
			if ((o->no_root_squash && !o->all_squash) ||
			    o->anonuid == 0 || o->anongid == 0)
				return FS_ROOT;
			if (first == NULL)
				first = o;
			if (!o->all_squash || o->anonuid != first->anonuid ||
			    o->anongid != first->anongid)
				mode = FS_MULTI;
		}
	if (mode == FS_SQUASH && first != NULL) {
		*uid = first->anonuid;
		*gid = first->anongid;
	}
	return mode;
}

const char *
nfsd_mode_name(enum fs_mode mode, bool rootless)
{
	static const char *const names[] = { [FS_SQUASH] = "squash",
		[FS_MULTI] = "multi-user",
		[FS_ROOT] = "root" };

	return rootless ? "rootless" : names[mode];
}
