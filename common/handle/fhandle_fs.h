/* SPDX-License-Identifier: ISC */
/*
 * From a descriptor to what a handle says of it. How the files of an export
 * are named follows from its filesystem and from our rights alone, never from
 * anything that changes with a restart, so that mountd and nfsd always agree:
 *
 *   FH_BY_HANDLE  the kernel's handle, where it lasts, fits and may be opened
 *   FH_BY_INODE   file number and a check that tells a reused number apart
 *   FH_BY_NAME    hash of the names from the root (FAT: no lasting numbers);
 *                 such a handle does not survive a rename
 *
 * Runs in: mountd parent, nfsd broker; nfsd worker (identities only).
 */
#ifndef HANDLE_FHANDLE_FS_H
#define HANDLE_FHANDLE_FS_H

#include <stdbool.h>
#include <stdint.h>

#include "handle/fhandle.h"
#include "handle/fstype.h"

struct fh_fs {
	enum fh_naming naming;
	uint32_t magic; /* statfs(2) f_type */
};

/* A file's identity where the kernel's handle does not serve. */
#define FH_ID_SIZE 16
struct fh_id {
	uint8_t bytes[FH_ID_SIZE];
};

/* Looks at the filesystem of an export by its root. 0 or -1 with errno. */
int fh_fs_probe(struct fh_fs *, int root);
/*
 * What the handle of the export's root says; utf16: for a player. 0 or -1.
 */
int fh_fs_root(const struct fh_fs *, int root, uint16_t export_id, bool utf16,
    struct fh_plain *);
/*
 * The same for any descriptor in the export (O_PATH is enough). -1 with
 * ENOTSUP where names are needed (FH_BY_NAME), EXDEV when it lies on another
 * mount than the root's (mount_id of fh_fs_mount(); 0: not checked).
 */
int fh_fs_plain(const struct fh_fs *, int fd, uint16_t export_id, bool utf16,
    uint64_t mount_id, struct fh_plain *);
/* The mount a descriptor belongs to; 0 when the kernel does not say. */
uint64_t fh_fs_mount(int fd);

/* Identity by number; name "" is dirfd itself; never follows. 0 or -1. */
int fh_fs_id(const struct fh_fs *, int dirfd, const char *name, struct fh_id *);
/* Identity by name: of the root (parent NULL), or of name in parent. */
void fh_fs_name_id(const struct fh_id *parent, const char *name,
    struct fh_id *);
/* Handle content of an identity. */
void fh_fs_from_id(const struct fh_id *, uint16_t export_id, bool utf16,
    struct fh_plain *);
/* Does the handle (FH_INODE or FH_PLAYER) name this identity? */
bool fh_fs_is(const struct fh_plain *, const struct fh_id *);
/* The 48 bits by which a player names it; the same for both handle kinds. */
uint64_t fh_fs_short(const struct fh_id *);
/* The same from a handle; 0 is never one. */
uint64_t fh_fs_short_of(const struct fh_plain *);

#endif
