/* SPDX-License-Identifier: ISC */
/*
 * One table from errno to status and one from status to version 2. Both cover
 * every value: an unknown errno is an I/O error, and version 2 never sends a
 * number that RFC 1094 lacks.
 * Runs in: nfsd worker, tests.
 */
#include <errno.h>

#include "base/util.h"
#include "handle/fstype.h"
#include "nfsd/wire/nfs.h"

struct row {
	int error;
	enum nfsstat status;
};

/* clang-format off */
static const struct row errors[] = {
	{ EPERM,	NFSERR_PERM },
	{ ENOENT,	NFSERR_NOENT },
	{ EIO,		NFSERR_IO },
	{ ENXIO,	NFSERR_NXIO },
	{ EACCES,	NFSERR_ACCES },
	{ EEXIST,	NFSERR_EXIST },
	{ EXDEV,	NFSERR_XDEV },
	{ ENODEV,	NFSERR_NODEV },
	{ ENOTDIR,	NFSERR_NOTDIR },
	{ EISDIR,	NFSERR_ISDIR },
	{ EINVAL,	NFSERR_INVAL },
	{ EFBIG,	NFSERR_FBIG },
	{ EOVERFLOW,	NFSERR_FBIG },
	{ ENOSPC,	NFSERR_NOSPC },
	{ EROFS,	NFSERR_ROFS },
	{ EMLINK,	NFSERR_MLINK },
	{ ENAMETOOLONG,	NFSERR_NAMETOOLONG },
	{ ENOTEMPTY,	NFSERR_NOTEMPTY },
	{ EDQUOT,	NFSERR_DQUOT },
	{ ESTALE,	NFSERR_STALE },
	{ EREMOTE,	NFSERR_REMOTE },
	{ EOPNOTSUPP,	NFSERR_NOTSUPP },
	{ ENOSYS,	NFSERR_NOTSUPP },
	/* A link that is not followed, a busy file: a retry does not help. */
	{ ELOOP,	NFSERR_INVAL },
	{ ETXTBSY,	NFSERR_ACCES },
	{ EBUSY,	NFSERR_ACCES },
	/* Temporary: the client retries. */
	{ EAGAIN,	NFSERR_JUKEBOX },
	{ EINTR,	NFSERR_JUKEBOX },
	{ ENOMEM,	NFSERR_JUKEBOX },
	{ EMFILE,	NFSERR_JUKEBOX },
	{ ENFILE,	NFSERR_JUKEBOX },
	/* The file is encrypted and the kernel has no key for it. */
	{ ENOKEY,	NFSERR_ACCES },
};

/* Statuses that RFC 1094 lacks. All others have the same number there. */
static const struct {
	enum nfsstat status, v2;
} folds[] = {
	{ NFSERR_XDEV,		NFSERR_IO },
	{ NFSERR_INVAL,		NFSERR_IO },
	{ NFSERR_MLINK,		NFSERR_IO },
	{ NFSERR_REMOTE,	NFSERR_IO },
	{ NFSERR_BADHANDLE,	NFSERR_STALE },
	{ NFSERR_NOT_SYNC,	NFSERR_IO },
	{ NFSERR_BAD_COOKIE,	NFSERR_IO },
	{ NFSERR_NOTSUPP,	NFSERR_PERM },
	{ NFSERR_TOOSMALL,	NFSERR_IO },
	{ NFSERR_SERVERFAULT,	NFSERR_IO },
	{ NFSERR_BADTYPE,	NFSERR_IO },
	{ NFSERR_JUKEBOX,	NFSERR_IO },
	{ NFS_DEFERRED,		NFSERR_IO },
};
static const struct {
	enum nfsstat status;
	const char *name;
} names[] = {
	{ NFS_OK           ,	"OK" },
	{ NFSERR_PERM      ,	"PERM" },
	{ NFSERR_NOENT     ,	"NOENT" },
	{ NFSERR_IO        ,	"IO" },
	{ NFSERR_NXIO      ,	"NXIO" },
	{ NFSERR_ACCES     ,	"ACCES" },
	{ NFSERR_EXIST     ,	"EXIST" },
	{ NFSERR_XDEV      ,	"XDEV" },
	{ NFSERR_NODEV     ,	"NODEV" },
	{ NFSERR_NOTDIR    ,	"NOTDIR" },
	{ NFSERR_ISDIR     ,	"ISDIR" },
	{ NFSERR_INVAL     ,	"INVAL" },
	{ NFSERR_FBIG      ,	"FBIG" },
	{ NFSERR_NOSPC     ,	"NOSPC" },
	{ NFSERR_ROFS      ,	"ROFS" },
	{ NFSERR_MLINK     ,	"MLINK" },
	{ NFSERR_NAMETOOLONG,	"NAMETOOLONG" },
	{ NFSERR_NOTEMPTY  ,	"NOTEMPTY" },
	{ NFSERR_DQUOT     ,	"DQUOT" },
	{ NFSERR_STALE     ,	"STALE" },
	{ NFSERR_REMOTE    ,	"REMOTE" },
	{ NFSERR_WFLUSH    ,	"WFLUSH" },
	{ NFSERR_BADHANDLE ,	"BADHANDLE" },
	{ NFSERR_NOT_SYNC  ,	"NOT_SYNC" },
	{ NFSERR_BAD_COOKIE,	"BAD_COOKIE" },
	{ NFSERR_NOTSUPP   ,	"NOTSUPP" },
	{ NFSERR_TOOSMALL  ,	"TOOSMALL" },
	{ NFSERR_SERVERFAULT,	"SERVERFAULT" },
	{ NFSERR_BADTYPE   ,	"BADTYPE" },
	{ NFSERR_JUKEBOX   ,	"JUKEBOX" },
};
/* clang-format on */

enum nfsstat
nfs_status(int error)
{
	size_t i;

	for (i = 0; i < nitems(errors); i++)
		if (errors[i].error == error)
			return errors[i].status;
	return fstype_is_sick(error) ? NFSERR_JUKEBOX : NFSERR_IO;
}

const char *
nfs_status_name(enum nfsstat status)
{
	size_t i;

	for (i = 0; i < nitems(names); i++)
		if (names[i].status == status)
			return names[i].name;
	return "?";
}

enum nfsstat
nfs2_status(enum nfsstat status)
{
	size_t i;

	for (i = 0; i < nitems(folds); i++)
		if (folds[i].status == status)
			return folds[i].v2;
	return status;
}
