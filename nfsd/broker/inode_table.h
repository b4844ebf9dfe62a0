/* SPDX-License-Identifier: ISC */
/*
 * Finds files again where the kernel cannot open their handles. The table keeps
 * the directory and name where each file was last seen. If the file is not there
 * any more, the broker walks the export.
 *
 * A place is only a hint. The opened file is compared with the identity in the
 * handle, so a reused inode number is not taken for the file that had it before.
 * Another machine may have made the file, so a walk that is older than the call
 * proves nothing: the caller must wait until a walk that began after the call has
 * not found it. One walk serves all calls that wait.
 *
 * Memory is bounded, a walk is bounded in entries and costs the same per
 * directory at any depth, and a second walk waits for a while. No lock is held
 * during a system call on a file.
 * Runs in: nfsd broker.
 */
#ifndef BROKER_INODE_TABLE_H
#define BROKER_INODE_TABLE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "handle/fhandle.h"
#include "handle/fhandle_fs.h"

#define INODE_TABLE_MAX	   262144 /* files remembered per export */
#define INODE_WALK_MAX	   4194304 /* entries looked at in one walk */
#define INODE_DEPTH_MAX	   4096 /* directories below each other */
#define INODE_NAME_MAX	   767 /* FAT: 255 UTF-16 units in UTF-8 */
#define INODE_QUIET_MS	   100 /* at least this long between two walks */
#define INODE_QUIET_FACTOR 3 /* and this many times the last one's duration */
#define INODE_WAIT_MS	   1000 /* so long a call waits for a walk of another */

struct inode_table;

/*
 * root is borrowed for the life of the table; max <= INODE_TABLE_MAX. crossmnt:
 * other mounts inside the export are entered. NULL: no memory.
 */
struct inode_table *inode_table_new(const struct fh_fs *, int root, size_t max,
    bool crossmnt);
void inode_table_free(struct inode_table *);
/*
 * Directories that are never entered: the roots of exports inside. Copied; to
 * be called before the table is used. False: no memory.
 */
struct inode_border {
	dev_t dev;
	ino_t ino;
};
bool inode_table_set_borders(struct inode_table *, const struct inode_border *,
    size_t n);
/*
 * The identity of what is open at fd and called name in the directory that dir
 * names; the place is noted. -1 with errno; ESTALE: dir is gone.
 */
int inode_table_identify(struct inode_table *, const struct fh_plain *dir,
    const char *name, int fd, struct fh_id *);

/* A file found again: O_PATH descriptors of it and of its directory. */
struct inode_found {
	struct fh_id id;
	int fd;
	int dirfd; /* -1: the root, which has none */
	char name[INODE_NAME_MAX + 1];
};
/*
 * The file a handle (FH_INODE or FH_PLAYER) names. 0, or -1: ESTALE when a walk
 * that began after the call did not find it in the export, EAGAIN when that can
 * be told only later, ENAMETOOLONG when it lies deeper than INODE_DEPTH_MAX. The
 * caller closes both descriptors.
 */
int inode_table_open(struct inode_table *, const struct fh_plain *,
    struct inode_found *);
/* Walks the export if it was never walked. */
void inode_table_prepare(struct inode_table *);
/* Files remembered now. */
size_t inode_table_size(struct inode_table *);

#endif
