/* SPDX-License-Identifier: ISC */
/*
 * The kernel's list of mounts, as this process sees them. Reading it asks no
 * filesystem, so a dead one cannot block.
 * Runs in: mountd parent, nfsd parent, their short-lived children, mountd -n,
 * nfsd -n.
 */
#ifndef CONFINE_MOUNTINFO_H
#define CONFINE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mountinfo_line {
	int id, parent;
	char device[24]; /* "8:1" */
	char type[32]; /* "ext4", "fuse.ceph-fuse" */
	char *root; /* the part of the filesystem that is mounted */
	char *path; /* where */
	uint64_t sum; /* differs for another mount */
};

struct mountinfo {
	struct mountinfo_line *list;
	size_t n;
};

/* Without memory, or without /proc, the list is short or empty. */
void mountinfo_read(struct mountinfo *);
void mountinfo_clear(struct mountinfo *);
/* The mount that an absolute path without links lies on, or NULL. */
const struct mountinfo_line *mountinfo_find(const struct mountinfo *,
    const char *path);
/* The type of the mount with this id, such as "fuse.ceph-fuse", or NULL. */
const char *mountinfo_type(const struct mountinfo *, uint64_t id);
/*
 * Does the kernel itself make up the files of this filesystem? Such a filesystem
 * is never served: proc, sysfs, cgroup, devtmpfs, devpts and their like.
 */
bool mountinfo_is_pseudo(const struct mountinfo_line *);

#endif
