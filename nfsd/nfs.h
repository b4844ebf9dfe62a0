/* SPDX-License-Identifier: ISC */
/*
 * Numbers that NFS version 2 (RFC 1094) and version 3 (RFC 1813) share.
 * Runs in: nfsd worker, tests.
 */
#ifndef NFS_H
#define NFS_H

#include <stdint.h>

#define NFS_PROGRAM 100003

/* The version 3 set; version 2 codes have the same numbers where shared. */
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
	NFS_LATER = -1 /* never on the wire: run again on a file thread */
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

/* One table from errno to status; unknown is NFSERR_IO. */
enum nfsstat nfs_status(int error);

#endif
