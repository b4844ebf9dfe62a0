/* SPDX-License-Identifier: ISC */
/*
 * The door: the only way from a file handle to a descriptor. Everything that
 * decides whether this client may do this lives behind it: tag, export, client
 * address, port rule, read-only, squash, type, permission. An operation that
 * got an object acts as the caller; it cannot forget a check.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_H
#define DOOR_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stdint.h>

#include "handle/fhandle.h"
#include "nfsd/wire/nfs.h"
#include "nfsd/wire/call.h"

struct dirent64;
struct fs_entry;
struct fs_export;

/* What an operation wants; fs_open() refuses what the caller may not have. */
#define FS_DIR	  0x01u /* must be a directory (NOTDIR) */
#define FS_FILE	  0x02u /* must be a regular file (ISDIR, INVAL) */
#define FS_LINK	  0x04u /* must be a symbolic link (INVAL) */
#define FS_MODIFY 0x08u /* changes something: ROFS on a read-only export */
/* fd reads data: r, or x as clients that execute over NFS need, or owner */
#define FS_READ	 0x10u
#define FS_WRITE 0x20u /* fd writes data; w or owner; implies FS_MODIFY */
#define FS_LIST	 0x40u /* entries are read: r; fd, see fs_list_open() */

/* An object in use; fs_close() gives it back (the descriptor is cached). */
struct fs_obj {
	int fd; /* good for what was wanted, else O_PATH; borrowed */
	/* As of fs_open(); or, when only attributes were wanted, of a call that
	 * arrived together with this one. The "before" of weak cache data. */
	struct stat st;
	const struct fs_export *export;
	const struct export_options *options; /* of this client */
	struct fs_entry *entry;
	struct fs_thread *thread; /* whose object it is */
	/* fs_list_open(): fd is lent to this object alone and stands here; what
	 * is left in resume is where it will stand at fs_close(). */
	bool own_fd;
	uint64_t at, resume;
	bool settled; /* FS_LIST: a change after fs_open() shows in ctime */
	bool changes; /* opened to be changed */
	bool utf16; /* names below are in the player dialect */
};

/*
 * On NFS_OK the thread acts as the caller until the next fs_open. NFS_LATER
 * (call->later is set): would have to wait, the pipeline runs it again.
 */
enum nfsstat fs_open(struct call_ctx *, const struct fh *, unsigned int want,
    struct fs_obj *);
/* Accepts a zeroed object. */
void fs_close(struct fs_obj *);
/* openat(2) as the caller, for which files that are only kept open give way. */
int fs_openat(const struct call_ctx *, int dirfd, const char *name, int flags,
    mode_t mode);
/* May this call wait for the disk? If not, arranges to be run again. */
bool fs_may_wait(struct call_ctx *);

/*
 * Handle and attributes of the name in dir (never ".", ".." or with "/": the
 * caller settled those with fs_parent()). Follows nothing; does not enter
 * another filesystem unless the export says so.
 */
enum nfsstat fs_lookup(struct call_ctx *, const struct fs_obj *dir,
    const char *name, struct fh *, struct stat *);
/* ".." of a directory; the root of an export is its own parent. */
enum nfsstat fs_parent(struct call_ctx *, const struct fs_obj *dir, struct fh *,
    struct stat *);
/*
 * Handle of something just made as name in dir, from its descriptor; takes over
 * fd (data says it can read and write, so that the creator may go on writing a
 * 0444 file).
 */
enum nfsstat fs_adopt(struct call_ctx *, const struct fs_obj *dir,
    const char *name, int fd, bool data, struct fh *, struct stat *);
/*
 * Attributes and handles of many names at once (READDIRPLUS): one question to
 * the broker for all that are not known yet. Same rules as fs_lookup(), with
 * "." and ".." left out by the caller. False: in a large directory some are not
 * known, and the call may not wait.
 */
#define FS_LARGE_DIR 32768 /* bytes; may have to be fetched from the disk */
#define FS_MANY_MAX  64
struct fs_name {
	const char *name;
	ino_t ino; /* fs_number(): by its directory; 0: it must be looked at */
	enum nfsstat status; /* NFS_OK: st and fh are filled */
	struct stat st;
	struct fh fh;
};
ino_t fs_number(const struct dirent64 *);
bool fs_lookup_many(struct call_ctx *, const struct fs_obj *dir,
    struct fs_name *, size_t n);

/*
 * Gives the file another name in dir, both of one export. Asks the broker where
 * the kernel lets only it link a descriptor (linkat with AT_EMPTY_PATH); the
 * kernel decides under the caller's identity all the same.
 */
enum nfsstat fs_link(struct call_ctx *, const struct fs_obj *file,
    const struct fs_obj *dir, const char *name);

/*
 * Something has just been moved to name in dir: tells the broker where it is
 * now, when it has to look for files by their place.
 */
void fs_moved(struct call_ctx *, const struct fs_obj *dir, const char *name);

/* Fresh attributes of an object. */
enum nfsstat fs_stat(struct fs_obj *, struct stat *);
/* The attributes a client sees: fsid of the export, fileid as configured. */
void fs_attr(const struct fs_obj *, const struct stat *, struct nfs_attr *);
/* Which of R_OK, W_OK, X_OK the kernel grants the caller on the object. */
int fs_access(struct call_ctx *, const struct fs_obj *, int mode);
/* Did the caller come as unsquashed root? */
bool fs_is_root(const struct call_ctx *);
/* May he make device nodes? (unsquashed root, where the administrator said) */
bool fs_may_mknod(const struct call_ctx *);
/* The caller's user after squashing. */
uint32_t fs_uid(const struct call_ctx *);
/*
 * A name of the file that gone describes (as it was before) was removed from
 * dir: when it was the last one, cached descriptors must go, or they would keep
 * its blocks on the disk.
 */
void fs_forget(struct call_ctx *, const struct fs_obj *dir,
    const struct stat *gone);

/* Same verifier for WRITE and COMMIT; changes at start and after a failed
 * write-back. */
uint64_t fs_write_verifier(void);
void fs_writeback_failed(void);

#endif
