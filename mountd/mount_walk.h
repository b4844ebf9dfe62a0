/* SPDX-License-Identifier: ISC */
/*
 * The way from the root of an export to a path below it, as MNT goes it.
 * "mountd -n -x" goes the same way, so that its answer is what a client gets.
 * Runs in: mountd worker (file threads); mountd -n -x.
 */
#ifndef MOUNT_WALK_H
#define MOUNT_WALK_H

#include <fcntl.h>

#include "mountd/mount.h"

/* The only flags with which the worker opens files; see its filter. */
#define MOUNT_WALK_OPEN (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* The sender of a MNT call, and the options that its export has for it. */
struct mount_caller {
	const struct rpc_cred *cred;
	const struct export_options *options;
};

/*
 * Returns an O_PATH descriptor of a directory or regular file below the root,
 * or -1 with errno. Refuses symbolic links, and other filesystems unless
 * crossmnt. The user of this process needs search permission (EACCES), and so
 * does the caller after squashing (EPERM). Root -1: the export is absent.
 */
int mount_walk(int root, const char *below, const struct mount_caller *);
/*
 * Returns the status for an error of mount_walk(), and stores the reason and a
 * number that identifies it.
 */
enum mountstat mount_walk_failed(int error, unsigned int *row,
    const char **why);

#endif
