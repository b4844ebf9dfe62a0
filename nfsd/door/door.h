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
#include "nfsd/wire/call.h"
#include "nfsd/wire/nfs.h"

struct dirent64;
struct cache_entry;
struct served_export;

/* What an operation wants; door_open() refuses what the caller may not have. */
#define DOOR_DIR    0x01u /* must be a directory (NOTDIR) */
#define DOOR_FILE   0x02u /* must be a regular file (ISDIR, INVAL) */
#define DOOR_LINK   0x04u /* must be a symbolic link (INVAL) */
#define DOOR_MODIFY 0x08u /* changes something: ROFS on a read-only export */
/* fd reads data: r, or x as clients that execute over NFS need, or owner */
#define DOOR_READ   0x10u
#define DOOR_WRITE  0x20u /* fd writes data; w or owner; implies DOOR_MODIFY */
#define DOOR_LIST   0x40u /* entries are listed: r; see door_list_open() */
#define DOOR_STABLE 0x80u /* data is written or synced to stable storage */

/* An object in use; door_close() gives it back (the descriptor is cached). */
struct door_obj {
	int fd; /* good for what was wanted, else O_PATH; borrowed */
	struct stat st; /* as of door_open(): the "before" of weak cache data */
	const struct served_export *export;
	const struct export_options *options; /* of this client */
	struct cache_entry *entry;
	struct door_thread *thread; /* whose object it is */
	bool settled; /* DOOR_LIST: a change after door_open() shows in ctime */
	bool utf16; /* names below are in the player dialect */
};

/*
 * door.c. On NFS_OK the thread acts as the caller until the next door_open().
 * NFS_DEFERRED: the call would block, the dispatcher runs it again.
 */
enum nfsstat door_open(struct call_ctx *, const struct fh *, unsigned int want,
    struct door_obj *);
void door_close(struct door_obj *); /* accepts a zeroed object */
/* ask.c. openat(2) as the caller; evicts files if descriptors ran out. */
int door_openat(const struct call_ctx *, int dirfd, const char *name, int flags,
    mode_t mode);
/* ask.c. Sets the mode of a directory, with bits that the filter refuses. */
enum nfsstat door_chmod_dir(struct call_ctx *, const struct door_obj *, mode_t);
/* ask.c. The ACL as the filesystem has it; no entry: it has none. */
enum nfsstat door_get_acl(struct call_ctx *, const struct door_obj *,
    bool is_default, struct nfs_acl *);
enum nfsstat door_set_acl(struct call_ctx *, const struct door_obj *,
    bool is_default, const struct nfs_acl *);
/*
 * inside.c. Has the export of the call left the jail, as it does when it is
 * unmounted or mounted anew? Landlock then refuses what is not open yet.
 */
bool door_has_left(const struct call_ctx *);
/*
 * latency.c. Before an operation waits. True on the event loop: the call was
 * deferred, and the operation returns at once, with nothing changed.
 */
bool door_must_defer(struct call_ctx *);
/*
 * The same before the name of an object is used: an entry of a directory, or
 * one of these. If it was not used lately, the disk may have to be waited for.
 * door_used() is called after the use.
 */
#define DOOR_USE_ENTRIES "." /* all entries of a directory */
#define DOOR_USE_TARGET	 "" /* the target of a link */
#define DOOR_USE_RIGHTS	 "/" /* what the caller may do with it */
struct door_use {
	uint64_t key, since_ns;
};
bool door_must_defer_cold(struct call_ctx *, const struct door_obj *,
    const char *name, struct door_use *);
void door_used(struct call_ctx *, const struct door_use *);

/* What a name leads to. */
struct door_found {
	struct fh fh;
	struct stat st;
	const struct served_export *export; /* perhaps not the directory's */
};

/*
 * lookup.c. What the name in dir leads to (never "." or "..", nor with "/").
 * Follows nothing; enters another filesystem only if that is an export which
 * this client may use.
 */
enum nfsstat door_lookup(struct call_ctx *, const struct door_obj *dir,
    const char *name, struct door_found *);
/* Is the name the root of an export inside? It is not moved or removed. */
bool door_is_border(const struct door_obj *dir, const char *name);
/* ".." of a directory; the root of an export is its own parent. */
enum nfsstat door_parent(struct call_ctx *, const struct door_obj *dir,
    struct door_found *);
/*
 * The file just made as name in dir, from its descriptor; takes over fd, which can
 * read and write: its creator may go on writing. later, if not NULL: its handle may
 * come there at the end of the batch (batch.h).
 */
enum nfsstat door_adopt(struct call_ctx *, const struct door_obj *dir,
    const char *name, int fd, struct fh *later, struct door_found *);

/*
 * Gives the file another name in dir, both of one export. Asks the broker where
 * the kernel lets only it link a descriptor (linkat with AT_EMPTY_PATH); the
 * kernel decides under the caller's identity all the same.
 */
enum nfsstat door_link(struct call_ctx *, const struct door_obj *file,
    const struct door_obj *dir, const char *name);

/* A file was moved to name in dir; a broker that finds files so is told. */
void door_moved(struct call_ctx *, const struct door_obj *dir,
    const char *name);
/*
 * A name of a file was removed that had these attributes before. If it was the
 * last name, cached descriptors must go: they keep its blocks on the disk.
 */
void door_forget(struct call_ctx *, const struct stat *gone);

/* attr.c. The current attributes of an object. */
enum nfsstat door_stat(struct door_obj *, struct stat *);
/*
 * The attributes that this client of the object sees, of something in an
 * export: fsid of the export, fileid as configured.
 */
void door_attr(const struct door_obj *, const struct served_export *,
    const struct stat *, struct nfs_attr *);
uint64_t door_fileid(const struct door_obj *, ino_t);
/* The verifier of WRITE and COMMIT; changes after a failed write-back. */
uint64_t door_write_verifier(const struct call_ctx *);
void door_writeback_failed(const struct door_thread *);

/* rights.c. Which of R_OK, W_OK, X_OK the kernel grants the caller. */
int door_access(struct call_ctx *, const struct door_obj *, int mode);

#endif
