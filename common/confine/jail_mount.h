/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the jail: the kernel's mount interface in the few
 * sentences we need. All return 0 or a descriptor, or -1 with errno.
 * Runs in: short-lived children of a parent; portmapd at its start.
 */
#ifndef CONFINE_JAIL_MOUNT_H
#define CONFINE_JAIL_MOUNT_H

#include <stdbool.h>

/* User namespace in which we are ourselves and may mount. */
int jail_mount_become_user(void);
/* O_PATH of a directory; ELOOP: a user's symbolic link leads to what is not
 * his. */
int jail_path_open(const char *path);
/* A detached copy of what is at path, with the jail's flags. */
int jail_mount_clone(const char *path, bool read_only);
/* A detached, writable, small tmpfs. */
int jail_mount_tmpfs(void);
/* Mount namespace of our own; nothing propagates in or out. */
int jail_mount_unshare(void);
/* Makes the detached tree our root, alone; the old root is gone. */
int jail_mount_pivot(int tree);
/* Attaches a detached tree at path, which is made below top (writable). */
int jail_mount_attach(int tree, int top, const char *path);
/* A writable view of the root, for making directories. */
int jail_mount_writable(void);
/*
 * The root of an export, by its path in the jail. Not O_PATH where we may read
 * it: the kernel opens handles only relative to a descriptor that was really
 * opened.
 */
int jail_mount_open(const char *path);
/* The root itself becomes read-only, without set-id, devices, programs. */
int jail_mount_seal_root(void);

#endif
