/* SPDX-License-Identifier: ISC */
/*
 * The table of filesystem facts: what callers may rely on in every row.
 * Runs in: test program.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "handle/fstype.h"
#include "tap.h"

/* The magic numbers of all rows; some headers lack some. */
static const struct {
	uint32_t magic;
	const char *name;
} types[] = {
	{ EXT4_SUPER_MAGIC, "ext4" },
	{ 0x58465342, "xfs" },
	{ BTRFS_SUPER_MAGIC, "btrfs" },
	{ TMPFS_MAGIC, "tmpfs" },
	{ 0xf2f52010, "f2fs" },
	{ 0xca451a4e, "bcachefs" },
	{ 0x2fc12fc1, "zfs" },
	{ RAMFS_MAGIC, "ramfs" },
	{ OVERLAYFS_SUPER_MAGIC, "overlay" },
	{ 0x65735546, "fuse" },
	{ MSDOS_SUPER_MAGIC, "fat" },
	{ 0x2011bab0, "exfat" },
};

/* The fields of a row must be consistent. */
static void
check_row(uint32_t magic, const char *name)
{
	const struct fstype *t = fstype_find(magic);
	bool unique = (t->traits & FSTYPE_INO_BTIME_UNIQUE) != 0;
	bool ambiguous = (t->traits & FSTYPE_INO_AMBIGUOUS) != 0;

	ok(t->magic == magic && strcmp(t->name, name) == 0, "%s", name);
	ok(!unique || !ambiguous, "%s: not both unique and ambiguous", t->name);
	ok(!unique || t->lasting_type == 0,
	    "%s: cached handles are the kernel's", t->name);
	ok(t->naming != FH_BY_HANDLE,
	    "%s: has a naming without the kernel's handles", t->name);
	ok((t->link_max == 1) == ((t->traits & FSTYPE_NO_LINKS) != 0),
	    "%s: a limit of one link means no links", t->name);
	ok(t->link_max >= 1 && t->time_step >= 1 && t->why[0] != '\0',
	    "%s: has limits and a reason", t->name);
}

/* FUSE has a row for each known subtype. */
static void
check_subtypes(void)
{
	const uint32_t fuse = 0x65735546;
	const struct fstype *t = fstype_named(fuse, "fuse.ceph-fuse");
	const struct fstype *none = fstype_find(fuse);

	cmp_ok(t->lasting_type, "==", 0, "ceph-fuse: kernel handles last");
	t = fstype_named(fuse, "fuse.glusterfs");
	ok(t->naming == FH_BY_GFID && t->lasting_type == FSTYPE_NEVER,
	    "GlusterFS: files have a gfid, and no kernel handles that last");
	t = fstype_named(fuse, "fuse.mfs");
	ok(t->naming == FH_BY_INODE && t->lasting_type == FSTYPE_NEVER,
	    "MooseFS: by inode number");
	ok(fstype_named(fuse, "fuse.sshfs") == none &&
		fstype_named(fuse, NULL) == none &&
		none->lasting_type == FSTYPE_NEVER &&
		none->naming == FH_BY_INODE,
	    "another subtype, or none: by inode number");
	t = fstype_named(EXT4_SUPER_MAGIC, "fuse.ceph-fuse");
	ok(strcmp(t->name, "ext4") == 0, "the magic number counts first");
}

int
main(void)
{
	const struct fstype *t, *fat = fstype_find(MSDOS_SUPER_MAGIC);
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(types); i++)
		check_row(types[i].magic, types[i].name);
	cmp_ok(fstype_find(EXT4_SUPER_MAGIC)->traits, "==",
	    FSTYPE_LOCAL_METADATA | FSTYPE_INO_BTIME_UNIQUE |
		FSTYPE_NAMES_ATOMIC,
	    "ext4: local, a creation time identifies a file, and a journal");
	ok((fat->traits & FSTYPE_NAMES_ATOMIC) == 0,
	    "FAT: a name and its file are written apart");
	ok((fat->traits & FSTYPE_LOCAL_METADATA) == 0 &&
		(fat->traits & FSTYPE_INO_AMBIGUOUS) != 0,
	    "FAT: an inode number does not identify a file");
	cmp_ok(fat->time_step, "==", 2000000000,
	    "FAT: times have steps of two seconds");
	t = fstype_find(NFS_SUPER_MAGIC);
	ok(t != NULL && t->traits == 0 && strcmp(t->name, "other") == 0,
	    "an unknown filesystem has no traits");
	check_subtypes();
	ok(fstype_is_sick(ENOTCONN) && fstype_is_sick(ECONNRESET) &&
		!fstype_is_sick(EIO) && !fstype_is_sick(ENOENT),
	    "an engine is sick; a disk is not");
	done_testing();
}
