/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of handles: it alone has the key. Roots are sealed when
 * exports are loaded; anything below only for a descriptor that the worker
 * could open itself and that lies on the export's own mount, or on one inside
 * it where that may be entered.
 * Runs in: mountd parent.
 */
#ifndef PARENT_SEAL_H
#define PARENT_SEAL_H

#include <stdbool.h>

#include "exports/exports.h"
#include "exports/submounts.h"
#include "handle/fhandle.h"
#include "handle/fhandle_fs.h"
#include "mountd/mountd.h"

/* How files of one export, or of a filesystem inside it, are named. */
struct seal_export {
	const struct export *conf; /* NULL: not there */
	const char *path; /* its own, borrowed */
	uint16_t id;
	size_t above; /* what of a path below the export leads to it */
	struct fh_fs fs;
	uint64_t mount_id;
};

/* Fills the entry and the message for the worker; root -1: not there. */
void seal_root(struct seal_export *, struct mountd_handles *,
    const struct export *, int root, const struct fh_keys *);
/* The same for what is mounted inside an export; sub is borrowed. */
void seal_submount(struct seal_export *, const struct submount *,
    const struct export *);
/* Answers the worker; what it asks is not believed. */
struct mountd_sealed seal_descriptor(const struct seal_export *,
    const struct mountd_seal *, int fd, const struct fh_keys *);

#endif
