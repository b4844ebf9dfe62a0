/* SPDX-License-Identifier: ISC */
/*
 * Constants of NFS version 2 (RFC 1094) and version 3 (RFC 1813), and the types
 * both share: attributes, names, attributes to set. Statuses are those of
 * version 3. Version 2 uses the same numbers for the codes it has;
 * nfs2_status() maps the others.
 * Runs in: nfsd worker, tests.
 */
#ifndef WIRE_NFS_H
#define WIRE_NFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"
#include "rpc/xdr.h"

#define NFS_PROGRAM 100003

enum nfs2_procnum {
	NFSPROC2_NULL = 0,
	NFSPROC2_GETATTR = 1,
	NFSPROC2_SETATTR = 2,
	NFSPROC2_ROOT = 3,
	NFSPROC2_LOOKUP = 4,
	NFSPROC2_READLINK = 5,
	NFSPROC2_READ = 6,
	NFSPROC2_WRITECACHE = 7,
	NFSPROC2_WRITE = 8,
	NFSPROC2_CREATE = 9,
	NFSPROC2_REMOVE = 10,
	NFSPROC2_RENAME = 11,
	NFSPROC2_LINK = 12,
	NFSPROC2_SYMLINK = 13,
	NFSPROC2_MKDIR = 14,
	NFSPROC2_RMDIR = 15,
	NFSPROC2_READDIR = 16,
	NFSPROC2_STATFS = 17,
	NFSPROC2_COUNT
};

enum nfs3_procnum {
	NFSPROC3_NULL = 0,
	NFSPROC3_GETATTR = 1,
	NFSPROC3_SETATTR = 2,
	NFSPROC3_LOOKUP = 3,
	NFSPROC3_ACCESS = 4,
	NFSPROC3_READLINK = 5,
	NFSPROC3_READ = 6,
	NFSPROC3_WRITE = 7,
	NFSPROC3_CREATE = 8,
	NFSPROC3_MKDIR = 9,
	NFSPROC3_SYMLINK = 10,
	NFSPROC3_MKNOD = 11,
	NFSPROC3_REMOVE = 12,
	NFSPROC3_RMDIR = 13,
	NFSPROC3_RENAME = 14,
	NFSPROC3_LINK = 15,
	NFSPROC3_READDIR = 16,
	NFSPROC3_READDIRPLUS = 17,
	NFSPROC3_FSSTAT = 18,
	NFSPROC3_FSINFO = 19,
	NFSPROC3_PATHCONF = 20,
	NFSPROC3_COMMIT = 21,
	NFSPROC3_COUNT
};

enum nfsstat {
	NFS_OK = 0,
	NFSERR_PERM = 1,
	NFSERR_NOENT = 2,
	NFSERR_IO = 5,
	NFSERR_NXIO = 6,
	NFSERR_ACCES = 13,
	NFSERR_EXIST = 17,
	NFSERR_XDEV = 18,
	NFSERR_NODEV = 19,
	NFSERR_NOTDIR = 20,
	NFSERR_ISDIR = 21,
	NFSERR_INVAL = 22,
	NFSERR_FBIG = 27,
	NFSERR_NOSPC = 28,
	NFSERR_ROFS = 30,
	NFSERR_MLINK = 31,
	NFSERR_NAMETOOLONG = 63,
	NFSERR_NOTEMPTY = 66,
	NFSERR_DQUOT = 69,
	NFSERR_STALE = 70,
	NFSERR_REMOTE = 71,
	NFSERR_WFLUSH = 99, /* version 2 only */
	NFSERR_BADHANDLE = 10001,
	NFSERR_NOT_SYNC = 10002,
	NFSERR_BAD_COOKIE = 10003,
	NFSERR_NOTSUPP = 10004,
	NFSERR_TOOSMALL = 10005,
	NFSERR_SERVERFAULT = 10006,
	NFSERR_BADTYPE = 10007,
	NFSERR_JUKEBOX = 10008,
	NFS_DEFERRED = -1 /* never on the wire: run again on a file thread */
};

enum nfs_ftype {
	NFS_NONE = 0,
	NFS_REG = 1,
	NFS_DIR = 2,
	NFS_BLK = 3,
	NFS_CHR = 4,
	NFS_LNK = 5,
	NFS_SOCK = 6,
	NFS_FIFO = 7
};
#define NFS_FTYPES 8

/* ACCESS3: RFC 1813, 3.3.4. */
#define ACCESS3_READ	0x01u
#define ACCESS3_LOOKUP	0x02u
#define ACCESS3_MODIFY	0x04u
#define ACCESS3_EXTEND	0x08u
#define ACCESS3_DELETE	0x10u
#define ACCESS3_EXECUTE 0x20u

/* FSINFO properties: RFC 1813, 3.3.19. */
#define FSF3_LINK	 0x01u
#define FSF3_SYMLINK	 0x02u
#define FSF3_HOMOGENEOUS 0x08u
#define FSF3_CANSETTIME	 0x10u

enum nfs_stable { NFS_UNSTABLE = 0, NFS_DATA_SYNC = 1, NFS_FILE_SYNC = 2 };
enum nfs_create { NFS_UNCHECKED = 0, NFS_GUARDED = 1, NFS_EXCLUSIVE = 2 };

#define NFS2_FHSIZE    32
#define NFS2_MAXDATA   8192
#define NFS3_FHSIZE    64
#define NFS3_MAXDATA   (1024 * 1024)
#define NFS_NAME_MAX   255 /* bytes of a name on the wire; UTF-16: characters */
#define NFS_NAME_SIZE  768 /* 255 UTF-16 units are at most 765 bytes here */
#define NFS_TARGET_MAX 4095 /* bytes of a symbolic link, as in Linux */
/* Longest legal call: WRITE with a full credential. */
#define NFS_RECORD_MAX (NFS3_MAXDATA + 4096)

/* Limits of a protocol version. Operations stay within them. */
struct nfs_limits {
	uint32_t data_max; /* bytes of one READ or WRITE */
	uint64_t size_max; /* largest file size and offset */
	uint64_t cookie_max; /* largest directory cookie */
	size_t read_at; /* offset of READ data in call->room */
	/* Bytes of a listing, as the `count` argument counts them. */
	size_t dir_uncounted; /* in the result but not in count */
	size_t dir_head; /* counted: before and after the entries */
	size_t dir_entry; /* one entry without its padded name */
	size_t dir_plus; /* attributes and handle of one entry */
	bool jukebox; /* there is a status that says "try again later" */
};
extern const struct nfs_limits nfs2_limits;
extern const struct nfs_limits nfs3_limits;

/* Attributes as a client sees them (fattr, fattr3). */
struct nfs_attr {
	enum nfs_ftype type;
	uint32_t mode; /* permission bits only */
	uint32_t nlink, uid, gid;
	uint64_t size, used;
	uint32_t rdev_major, rdev_minor;
	uint64_t fsid, fileid;
	struct timespec atime, mtime, ctime;
};

/* post_op_attr */
struct nfs_post {
	bool has;
	struct nfs_attr attr;
};

/* wcc_data */
struct nfs_wcc {
	bool has_before;
	uint64_t size;
	struct timespec mtime, ctime;
	struct nfs_post after;
};

/*
 * One component. If fault is not NFS_OK, no file can have this name, and str is
 * empty: the name is empty, too long, holds "/" or NUL, or is not in the
 * dialect. The operation handles "." and "..".
 */
struct nfs_name {
	enum nfsstat fault;
	const char *str;
};

/* diropargs. A handle of wrong length becomes zeros; the door refuses it. */
struct nfs_place {
	struct fh dir;
	struct nfs_name name;
};

enum nfs_set_time { NFS_KEEP_TIME = 0, NFS_SERVER_TIME, NFS_CLIENT_TIME };

/* sattr: the attributes to set. */
struct nfs_sattr {
	bool set_mode, set_uid, set_gid, set_size;
	enum nfs_set_time set_atime, set_mtime;
	enum nfsstat fault; /* not NFS_OK: a value is illegal */
	uint32_t mode, uid, gid;
	uint64_t size;
	struct timespec atime, mtime;
};

struct rpc_prog;

/* Both versions (nfs3_proc.c), for rpc_server_new(). */
extern const struct rpc_prog nfs_program;

/*
 * nfs_name.c. Checks a name from the wire, sent for directory dir, and converts
 * it to the server's encoding, in text.
 */
void nfs_name_set(struct nfs_name *, char text[NFS_NAME_SIZE], struct slice,
    const struct fh *dir);
/* Is it "." or ".."? Such entries cannot be made or removed. */
bool nfs_name_is_dots(const struct nfs_name *);

/*
 * Returns the seconds for the wire. A time that does not fit 32 bits becomes the
 * nearest one that does.
 */
static inline uint32_t
nfs_seconds(const struct timespec *t)
{
	if (t->tv_sec < 0)
		return 0;
	return t->tv_sec > UINT32_MAX ? UINT32_MAX : (uint32_t)t->tv_sec;
}

/* nfs_status.c. Returns the status for an errno; NFSERR_IO for an unknown one. */
enum nfsstat nfs_status(int error);
/* Returns the name of a status, as in RFC 1813 without its prefix. */
const char *nfs_status_name(enum nfsstat);
/* Returns the version 2 code for any status: always one of RFC 1094. */
enum nfsstat nfs2_status(enum nfsstat);

#endif
