/* SPDX-License-Identifier: ISC */
/*
 * The worker's state: the exports, a descriptor and the sealed handles of each
 * root, the mount list. mount_walk.h opens files below an export.
 * Runs in: mountd worker (event loop and file threads).
 */
#ifndef WORKER_MOUNT_TABLE_H
#define WORKER_MOUNT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "exports/active.h"
#include "exports/exports.h"
#include "handle/fhandle.h"
#include "handle/fhandle_fs.h"
#include "mountd/mount.h"
#include "mountd/worker/mount_list.h"
#include "mountd/mountd.h"

/* File threads, and how many of them may wait for one export. */
#define MOUNT_THREADS	  4
#define MOUNT_THREADS_ONE 2

/* An export as the worker holds it: exports/active.h. */
struct served_export {
	int root; /* O_PATH; -1: absent */
	struct mountd_handles handles;
	atomic_uint busy;
};

struct mount_state {
	struct active active; /* the exports; swapped by the event loop */
	struct mount_list *list;
	struct mount_listing listing; /* this and below: event loop only */
	struct mount_dump dump;
	bool export_all; /* EXPORT shows all exports to all clients */
	bool dump_all;
	struct tally *tally; /* counters, which nfsd reads too */
	/*
	 * Asks the parent for the handle of fd, which is at below in the
	 * export. May be called from any thread. Returns false if refused.
	 */
	bool (*seal)(void *seal_arg, const struct export *, enum export_names,
	    int fd, const char *below, struct fh *);
	void *seal_arg;
};

/*
 * Returns a list that owns the exports and the descriptors in roots, one for
 * each export (-1: absent). NULL: no memory. A root without handles is closed.
 */
struct served_exports *mount_table_new(struct exports *,
    const struct fh_root *roots, const struct mountd_handles *handles);

#endif
