/* SPDX-License-Identifier: ISC */
/*
 * Facts about filesystems that the kernel does not report. There is one row for
 * each type, found by the magic number of statfs(2). FUSE has one row for each
 * known subtype, found by the type in mountinfo. Pure.
 * Runs in: mountd parent, nfsd broker, nfsd worker.
 */
#ifndef HANDLE_FSTYPE_H
#define HANDLE_FSTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* How the files of a filesystem are named in handles: fhandle_fs.h. */
enum fh_naming {
	FH_BY_ANY, /* as a wish: what serves best */
	FH_BY_HANDLE,
	FH_BY_GFID,
	FH_BY_INODE,
	FH_BY_NAME
};
#define FH_NAMINGS (FH_BY_NAME + 1)
/* "auto", "kernel", "gfid", "inode" or "name". */
extern const char *const fh_naming_names[FH_NAMINGS];

/* Reading metadata waits for no other process or machine. */
#define FSTYPE_LOCAL_METADATA 0x01u
/* Inode number and creation time identify a file. */
#define FSTYPE_INO_BTIME_UNIQUE 0x02u
/* An inode number does not identify a file: its handle encodes a name (FAT), or
 * snapshots share numbers (bcachefs). */
#define FSTYPE_INO_AMBIGUOUS 0x04u
/* The kernel's handle does not change when an inode number is reused. */
#define FSTYPE_NO_GENERATION 0x08u
/* There are neither hard nor symbolic links. */
#define FSTYPE_NO_LINKS 0x10u
/* Names that differ in case are the same name. */
#define FSTYPE_CASE_FOLDS 0x20u
/* A change of a name and of its file is one transaction: fsync(2) of the
 * directory writes both. */
#define FSTYPE_NAMES_ATOMIC 0x40u
/* link(2) gives EROFS for a file that this machine has found by its handle alone. */
#define FSTYPE_LINK_BY_NAME 0x80u

#define FSTYPE_NEVER 0x100 /* above every handle_type that fits a byte */

struct fstype {
	uint32_t magic;
	const char *name;
	unsigned int traits;
	int lasting_type; /* the kernel's handles last from this type on */
	enum fh_naming naming; /* if the kernel's handles cannot be used */
	uint32_t link_max;
	uint64_t size_max; /* of a file; 0: 2^32 - 1 blocks */
	uint32_t time_step; /* granularity of time stamps, ns */
	const char *why; /* reason for the row */
};

/* Returns the row of a type. An unknown type gets a row that claims little. */
const struct fstype *fstype_find(uint32_t magic);
/*
 * The same with its subtype, if it has a row: type is as in mountinfo, such as
 * "fuse.ceph-fuse". NULL: not known. Rows of one magic number differ in how
 * handles name files, and in nothing else.
 */
const struct fstype *fstype_named(uint32_t magic, const char *type);
/*
 * Does the error of a system call on a file mean that the engine behind its
 * filesystem is sick or gone: FUSE without its process, or a network filesystem
 * without its server? EIO of a disk does not.
 */
bool fstype_is_sick(int error);

#endif
