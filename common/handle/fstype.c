/* SPDX-License-Identifier: ISC */
/*
 * The one table of filesystem facts.
 * Runs in: mountd parent, nfsd broker, nfsd worker.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "handle/fstype.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC 0x2011BAB0
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define CEPH_SUPER_MAGIC 0x00c36400
#define F2FS_MAGIC	 0xF2F52010
#define BCACHEFS_MAGIC	 0xca451a4e
#define ZFS_MAGIC	 0x2fc12fc1

#define LOCAL FSTYPE_LOCAL_METADATA
#define UNIQUE                                                                 \
	(FSTYPE_LOCAL_METADATA | FSTYPE_INO_BTIME_UNIQUE | FSTYPE_NAMES_ATOMIC)
#define FAT                                                                    \
	(FSTYPE_INO_AMBIGUOUS | FSTYPE_NO_GENERATION | FSTYPE_NO_LINKS |       \
	    FSTYPE_CASE_FOLDS)
#define AMBIGUOUS (FSTYPE_LOCAL_METADATA | FSTYPE_INO_AMBIGUOUS)
/* From this handle_type on FAT's handles last (mount option nfs=nostale_ro). */
#define FAT_LASTING 0x70
#define NEVER	    FSTYPE_NEVER

/* clang-format off */
static const struct fstype types[] = {
	/* magic, name, traits, kernel handles that last, else named by, links, size, time step */
	{ EXT4_SUPER_MAGIC,      "ext4",     UNIQUE,    0, FH_BY_INODE, 65000,     0,         1,
	    "ext2 and ext3 have the same magic number; a journal is assumed" },
	{ XFS_SUPER_MAGIC,       "xfs",      UNIQUE,    0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "limits from its documentation" },
	{ BTRFS_SUPER_MAGIC,     "btrfs",    UNIQUE,    0, FH_BY_INODE, 65535,     INT64_MAX, 1,
	    "unique on one device: snapshots have their own" },
	{ TMPFS_MAGIC,           "tmpfs",    UNIQUE,    0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "local: files and handles end with the mount" },
	{ F2FS_MAGIC,            "f2fs",     UNIQUE,    0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "local, with creation times" },
	{ BCACHEFS_MAGIC,        "bcachefs", AMBIGUOUS, 0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "snapshots share inode numbers" },
	{ ZFS_MAGIC,             "zfs",      LOCAL,     0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "local; out of tree, so no more is claimed" },
	{ RAMFS_MAGIC,           "ramfs",    LOCAL,     0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "local, without creation times" },
	{ OVERLAYFS_SUPER_MAGIC, "overlay",  LOCAL,     NEVER, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "handles cannot be opened, inode numbers last" },
	{ CEPH_SUPER_MAGIC,      "ceph",     FSTYPE_LINK_BY_NAME, 0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "the kernel's CephFS; a network filesystem, so no more is claimed" },
	{ FUSE_SUPER_MAGIC,      "fuse",     FSTYPE_NO_GENERATION, NEVER, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "handles name the serving process's memory" },
	{ FUSE_SUPER_MAGIC,      "fuse.ceph-fuse", FSTYPE_NO_GENERATION, 0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "handles are inode numbers of CephFS, equal and good on every machine" },
	{ FUSE_SUPER_MAGIC,      "fuse.glusterfs", FSTYPE_NO_GENERATION, NEVER, FH_BY_GFID, INT32_MAX, INT64_MAX, 1,
	    "handles are addresses in its client, but each file has a gfid" },
	{ FUSE_SUPER_MAGIC,      "fuse.mfs", FSTYPE_NO_GENERATION, NEVER, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "MooseFS opens handles of directories only" },
	{ MSDOS_SUPER_MAGIC,     "fat",      FAT, FAT_LASTING, FH_BY_NAME, 1, UINT32_MAX, 2000000000,
	    "an inode number lasts only while the inode is in memory" },
	{ EXFAT_SUPER_MAGIC,     "exfat",    FAT, NEVER, FH_BY_NAME, 1, INT64_MAX, 10000000,
	    "an inode number lasts only while the inode is in memory" },
};
static const struct fstype other = {
	0,                       "other",    0,         0, FH_BY_INODE, INT32_MAX, INT64_MAX, 1,
	    "unknown type: no trait is claimed" };
/* clang-format on */

const char *const fh_naming_names[FH_NAMINGS] = { [FH_BY_ANY] = "auto",
	[FH_BY_HANDLE] = "kernel",
	[FH_BY_GFID] = "gfid",
	[FH_BY_INODE] = "inode",
	[FH_BY_NAME] = "name" };

const struct fstype *
fstype_find(uint32_t magic)
{
	size_t i;

	for (i = 0; i < nitems(types); i++)
		if (types[i].magic == magic)
			return &types[i];
	return &other;
}

const struct fstype *
fstype_named(uint32_t magic, const char *type)
{
	size_t i;

	for (i = 0; type != NULL && i < nitems(types); i++)
		if (types[i].magic == magic && strcmp(types[i].name, type) == 0)
			return &types[i];
	return fstype_find(magic);
}

bool
fstype_is_sick(int error)
{
	static const int sick[] = { ENOTCONN, ESHUTDOWN, ETIMEDOUT, EHOSTDOWN,
		EHOSTUNREACH, ECONNABORTED, ECONNRESET };
	size_t i;

	for (i = 0; i < nitems(sick); i++)
		if (sick[i] == error)
			return true;
	return false;
}
