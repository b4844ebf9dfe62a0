/* SPDX-License-Identifier: ISC */
/*
 * What Tern knows of filesystems and the kernel does not say: one row for each
 * type, found by the magic number of statfs(2). Pure.
 * Runs in: mountd parent, nfsd broker, nfsd worker.
 */
#ifndef HANDLE_FSTYPE_H
#define HANDLE_FSTYPE_H

#include <stdint.h>

/* How the files of a filesystem are named in handles: fhandle_fs.h. */
enum fh_naming { FH_BY_HANDLE, FH_BY_INODE, FH_BY_NAME };

/* Reading metadata waits for no other process or machine. */
#define FSTYPE_LOCAL_METADATA 0x01u
/* Inode number and creation time identify a file. */
#define FSTYPE_INO_BTIME_UNIQUE 0x02u
/* An inode number does not identify a file: its handle encodes a name (FAT), or
 * snapshots share numbers (bcachefs). */
#define FSTYPE_INO_AMBIGUOUS 0x04u
/* The kernel's handle does not tell a reused inode number apart. */
#define FSTYPE_NO_GENERATION 0x08u
/* There are neither hard nor symbolic links. */
#define FSTYPE_NO_LINKS 0x10u
/* Names that differ in case are the same name. */
#define FSTYPE_CASE_FOLDS 0x20u

#define FSTYPE_NEVER 0x100 /* above every handle_type that fits a byte */

struct fstype {
	uint32_t magic;
	const char *name;
	unsigned int traits;
	int lasting_type; /* the kernel's handles last from this type on */
	enum fh_naming naming; /* where the kernel's handles do not serve */
	uint32_t link_max;
	uint64_t size_max; /* of a file; 0: 2^32 - 1 blocks */
	uint32_t time_step; /* of its time stamps, ns */
	const char *why; /* the row is as it is */
};

/* The row of a type; one that claims little for a type without a row. */
const struct fstype *fstype_find(uint32_t magic);

#endif
