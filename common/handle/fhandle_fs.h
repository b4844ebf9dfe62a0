/* SPDX-License-Identifier: ISC */
/*
 * From a descriptor to the content of its handle. The filesystem of an export,
 * the rights of the process and the option handles= decide how handles identify
 * its files. They are the same after a restart, so mountd and nfsd always agree:
 *
 *   FH_BY_HANDLE  the kernel's handle, if it lasts, fits and can be opened
 *   FH_BY_GFID    the gfid of GlusterFS, if it can be opened (gfid.h)
 *   FH_BY_INODE   inode number and a hash that detects its reuse
 *   FH_BY_NAME    hash of the names from the root, if inode numbers do not last
 *                 (FAT); a rename makes such a handle stale
 *
 * Runs in: mountd parent, nfsd broker; nfsd worker (identities only).
 */
#ifndef HANDLE_FHANDLE_FS_H
#define HANDLE_FHANDLE_FS_H

#include <stdbool.h>
#include <stdint.h>

#include "handle/fhandle.h"
#include "handle/fstype.h"
#include "handle/gfid.h"

struct fh_fs {
	enum fh_naming naming;
	uint32_t magic; /* statfs(2) f_type */
};

/* What is to be found out about a root, and what is known. */
struct fh_ask {
	bool kernel; /* handles that lead anywhere on the mount may be used */
	enum fh_naming wish; /* only this naming; FH_BY_ANY: what serves best */
	const char *type; /* of mountinfo; NULL: not known */
};

/* A file's identity without the kernel's handle. */
#define FH_ID_SIZE 16
struct fh_id {
	uint8_t bytes[FH_ID_SIZE];
};

/*
 * The root of an export, and what is known of it. It is found out once, by a
 * process that may hang in the filesystem. Nothing else asks the filesystem.
 */
struct fh_root {
	int fd; /* -1: absent */
	struct fh_fs fs;
	uint64_t dev, ino;
	uint64_t mount_id; /* 0: not known */
	bool own_mount; /* it is the root of a mount */
	struct fh_plain plain[2]; /* its handle: names in bytes, in UTF-16 */
};

/*
 * Fills in everything but the export id of the handles. The descriptor is not
 * O_PATH, if its filesystem permits. Returns 0, or -1 with errno; EOPNOTSUPP:
 * the wish cannot be fulfilled.
 */
int fh_fs_look(struct fh_root *, int root, const struct fh_ask *);
/* The content of the root's handle; utf16: for a player. */
struct fh_plain fh_fs_plain_root(const struct fh_root *, uint16_t export_id,
    bool utf16);
/*
 * Fills in the filesystem of an export's root. Without a mount of the export's
 * own the kernel's handles may not be used: the kernel would open directories
 * outside. Returns 0, or -1 with errno.
 */
int fh_fs_probe(struct fh_fs *, int root, const struct fh_ask *);
/*
 * Makes the content of the root's handle; utf16: for a player. Returns 0 or -1.
 */
int fh_fs_root(const struct fh_fs *, int root, uint16_t export_id, bool utf16,
    struct fh_plain *);
/*
 * The same for any descriptor in the export; O_PATH is enough. Fails with
 * ENOTSUP if names are needed (FH_BY_NAME), and with EXDEV if the file is not
 * on the mount mount_id (from fh_fs_mount(); 0: not checked).
 */
int fh_fs_plain(const struct fh_fs *, int fd, uint16_t export_id, bool utf16,
    uint64_t mount_id, struct fh_plain *);
/* Makes the content of a handle from a gfid. */
void fh_fs_from_gfid(const struct gfid *, uint16_t export_id,
    struct fh_plain *);
/* The gfid in a handle. False: it has none. */
bool fh_fs_gfid(const struct fh_plain *, struct gfid *);
/* Returns the id of a descriptor's mount; 0: the kernel does not know it. */
uint64_t fh_fs_mount(int fd);

/*
 * Makes the identity by inode number. name "" is dirfd itself; a symbolic link
 * is not followed. Returns 0 or -1.
 */
int fh_fs_id(const struct fh_fs *, int dirfd, const char *name, struct fh_id *);
/* Makes the identity by name, of name in parent; parent NULL: of the root. */
void fh_fs_name_id(const struct fh_id *parent, const char *name,
    struct fh_id *);
/* Makes the content of a handle from an identity. */
void fh_fs_from_id(const struct fh_id *, uint16_t export_id, bool utf16,
    struct fh_plain *);
/* Does the handle (FH_INODE or FH_PLAYER) have this identity? */
bool fh_fs_is(const struct fh_plain *, const struct fh_id *);
/* Returns the 48 bits of an identity in a player's handle; never 0. */
uint64_t fh_fs_short(const struct fh_id *);
/* The same from a handle; 0: it has no identity. */
uint64_t fh_fs_short_of(const struct fh_plain *);

#endif
