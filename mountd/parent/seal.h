/* SPDX-License-Identifier: ISC */
/*
 * Handles of mountd; only the parent has the key. It seals the roots when the
 * exports are loaded. Below a root it seals a handle only for a descriptor that
 * the worker sends. The file must lie on the export's mount, or on a submount
 * that may be entered.
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

/* How handles identify the files of one export or submount. */
struct seal_export {
	const struct export *conf; /* NULL: absent */
	const char *path; /* of the export or submount; not owned */
	uint16_t id;
	size_t above; /* length of a submount's path below the export */
	struct fh_fs fs;
	uint64_t mount_id;
	const struct exports *all; /* for exports_file_text(); NULL: none */
};

/* Fills the entry and the message for the worker. root NULL: it is absent. */
void seal_root(struct seal_export *, struct mountd_handles *,
    const struct export *, const struct fh_root *root, const struct fh_keys *);
/* Fills the entry of a submount; sub must outlive it. */
void seal_submount(struct seal_export *, const struct submount *,
    const struct export *);
/* Returns the answer to a worker, whose question is not trusted. */
struct mountd_sealed seal_descriptor(const struct seal_export *,
    const struct mountd_seal *, int fd, const struct fh_keys *);

#endif
