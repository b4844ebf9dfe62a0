/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the jail: what they need of the kernel's mount
 * interface. All functions return 0 or a descriptor, or -1 with errno. They
 * change the namespaces of the calling process.
 * Runs in: short-lived children of a parent; portmapd at its start.
 */
#ifndef CONFINE_JAIL_MOUNT_H
#define CONFINE_JAIL_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/* Enters a new user namespace with the same ids, in which mounting works. */
int jail_mount_become_user(void);
/*
 * Opens a directory with O_PATH. ELOOP: a user's symbolic link leads to a
 * directory that the user does not own.
 */
int jail_path_open(const char *path);
/* Where a directory lies, without links; empty: that is not known. */
void jail_path_name(int fd, char real[PATH_MAX]);
/* Returns a detached bind mount of a directory, with the jail's flags. */
int jail_mount_clone(int fd, bool read_only);
/* Returns a detached, small, writable tmpfs. */
int jail_mount_tmpfs(void);
/* Enters a new mount namespace; nothing propagates in or out. */
int jail_mount_unshare(void);
/* Makes the detached tree the root and detaches the old root. */
int jail_mount_pivot(int tree);
/* Attaches a detached tree at path. top: the writable root to make path in. */
int jail_mount_attach(int tree, int top, const char *path);
/* Returns a writable clone of the root mount, for making directories. */
int jail_mount_writable(void);
/*
 * Opens a directory again, to open handles by. Uses O_PATH only if it is not
 * readable: open_by_handle_at(2) does not accept O_PATH.
 */
int jail_mount_open(int fd);
/* Makes the root mount read-only and gives it the jail's flags. */
int jail_mount_seal_root(void);

#endif
