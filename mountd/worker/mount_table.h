/* SPDX-License-Identifier: ISC */
/*
 * What the worker knows: the exports, a descriptor and the sealed handles of
 * each root, the mount list. Opening below an export is done here, and only
 * here, without following anything.
 * Runs in: mountd worker (event loop and file threads).
 */
#ifndef WORKER_MOUNT_TABLE_H
#define WORKER_MOUNT_TABLE_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "exports/active.h"
#include "exports/exports.h"
#include "handle/fhandle.h"
#include "mountd/mount.h"
#include "mountd/worker/mount_list.h"
#include "mountd/mountd.h"

/* File threads, and how many of them may wait for one slow export. */
#define MOUNT_THREADS	  4
#define MOUNT_THREADS_ONE 2

/* The only way this process opens anything; see its system call filter. */
#define MOUNT_TABLE_OPEN (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* An export as the worker holds it: exports/active.h. */
struct served_export {
	int root; /* O_PATH; -1: not there */
	struct mountd_handles handles;
	atomic_uint busy;
};

struct mount_state {
	struct active active; /* the exports; swapped by the event loop */
	struct mount_list *list;
	struct mount_listing listing; /* event loop only, as all below */
	struct mount_dump dump;
	bool export_all; /* EXPORT shows everything to everybody */
	bool dump_all;
	uint64_t granted, refused; /* MNT */
	/*
	 * Asks the parent for the handle of fd, found at below in the export.
	 * May be called from any thread. False: it would not.
	 */
	bool (*seal)(void *seal_arg, const struct export *, enum export_names,
	    int fd, const char *below, struct fh *);
	void *seal_arg;
};

/*
 * Takes over the exports and the descriptors in roots, one for each of them
 * (-1: not there). A root that handles do not serve is closed. NULL: no memory.
 */
struct served_exports *mount_table_new(struct exports *, const int *roots,
    const struct mountd_handles *handles);

/*
 * O_PATH descriptor of a directory or regular file below the root, as the
 * user we are: no symbolic link, no "..", no other filesystem unless crossmnt.
 * -1: errno.
 */
int mount_table_open(const struct served_export *, const char *below,
    bool crossmnt);

#endif
