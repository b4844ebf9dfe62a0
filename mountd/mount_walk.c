/* SPDX-License-Identifier: ISC */
/*
 * See mount_walk.h.
 * Runs in: mountd worker (file threads); mountd -n -x.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "base/util.h"
#include "exports/client.h"
#include "mountd/mount_walk.h"

/* Stores type, mount and device of a descriptor. Returns 0 or -1. */
static int
look(int fd, struct statx *sx)
{
	memset(sx, 0, sizeof(*sx));
	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
	    STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_MNT_ID, sx);
}

static bool
is_member(const struct mount_caller *c, uint32_t want)
{
	uint32_t i;

	if (exports_gid(c->options, c->cred->gid) == want)
		return true;
	for (i = 0; i < c->cred->ngids && i < RPC_GROUPS_MAX; i++)
		if (exports_gid(c->options, c->cred->gids[i]) == want)
			return true;
	return false;
}

/*
 * May the caller, after squashing, search the directory? By its mode: an ACL
 * cannot be read through O_PATH.
 */
static bool
may_search(const struct mount_caller *c, const struct statx *sx)
{
	const struct export_options *o = c->options;
	bool anonymous = c->cred->flavor != AUTH_SYS || o->all_squash ||
	    c->cred->uid == UINT32_MAX || c->cred->gid == UINT32_MAX;
	uint32_t uid = anonymous ? o->anonuid : exports_uid(o, c->cred->uid);

	if (uid == 0)
		return true;
	if (uid == sx->stx_uid)
		return (sx->stx_mode & S_IXUSR) != 0;
	if (anonymous ? o->anongid == sx->stx_gid : is_member(c, sx->stx_gid))
		return (sx->stx_mode & S_IXGRP) != 0;
	return (sx->stx_mode & S_IXOTH) != 0;
}

/*
 * Does the file lie on another mount than the root? A subvolume of btrfs has a
 * device of its own, but no mount: it belongs to the export, as in nfsd.
 */
static bool
is_elsewhere(const struct statx *sx, const struct statx *root)
{
	if ((sx->stx_mask & root->stx_mask & STATX_MNT_ID) != 0)
		return sx->stx_mnt_id != root->stx_mnt_id;
	return sx->stx_dev_major != root->stx_dev_major ||
	    sx->stx_dev_minor != root->stx_dev_minor;
}

/* May the worker go on from this file? Sets errno if not. */
static bool
is_step(const struct statx *sx, const struct statx *root, bool last,
    bool crossmnt)
{
	errno = 0;
	if (S_ISLNK(sx->stx_mode))
		errno = ELOOP;
	else if (!crossmnt && is_elsewhere(sx, root))
		errno = EXDEV;
	else if (!last && !S_ISDIR(sx->stx_mode))
		errno = ENOTDIR;
	else if (!S_ISDIR(sx->stx_mode) && !S_ISREG(sx->stx_mode))
		errno = EACCES; /* a device or a pipe cannot be mounted */
	return errno == 0;
}

/*
 * Opens one component after the other and follows no link. openat2(2) would do
 * it in one call, but a system call filter cannot check its flags. The filter
 * permits openat(2) with exactly the flags MOUNT_WALK_OPEN.
 */
int
mount_walk(int root, const char *below, const struct mount_caller *caller)
{
	char name[NAME_UTF8_MAX + 1];
	struct statx top, sx;
	int at = root, fd = -1;
	size_t len;

	if (at == -1 || look(at, &top) == -1) {
		errno = ENOENT;
		return -1;
	}
	sx = top;
	do {
		len = strcspn(below, "/");
		if (!may_search(caller, &sx)) {
			fd = -1;
			errno = EPERM;
		} else if (len > NAME_UTF8_MAX) {
			fd = -1;
			errno = ENAMETOOLONG;
		} else {
			memcpy(name, below, len);
			name[len] = '\0';
			fd = openat(at, name, MOUNT_WALK_OPEN);
		}
		if (at != root)
			close_keep_errno(at);
		if (fd == -1)
			return -1;
		below += len + (below[len] == '/');
		if (look(fd, &sx) == -1 ||
		    !is_step(&sx, &top, *below == '\0',
			caller->options->crossmnt)) {
			close_keep_errno(fd);
			return -1;
		}
		at = fd;
	} while (*below != '\0');
	return fd;
}

enum mountstat
mount_walk_failed(int error, unsigned int *row, const char **why)
{
	static const struct {
		int error;
		enum mountstat status;
		const char *why;
	} rows[] = {
		{ ENOENT, MNTERR_NOENT, "no such file or directory" },
		{ ENOTDIR, MNTERR_NOTDIR, "not a directory" },
		{ ENAMETOOLONG, MNTERR_NAMETOOLONG, "a name is too long" },
		{ ELOOP, MNTERR_ACCES, "a symbolic link is in the path" },
		{ EXDEV, MNTERR_ACCES,
		    "another filesystem is mounted there (export it by "
		    "itself, or add \"crossmnt\")" },
		{ EACCES, MNTERR_ACCES,
		    "mountd's user cannot reach it (chmod o+x the "
		    "directories above, or export it by itself)" },
		{ EPERM, MNTERR_ACCES,
		    "the caller may not search a directory above it" },
	};

	for (*row = 0; *row < nitems(rows); ++*row) {
		if (rows[*row].error == error) {
			*why = rows[*row].why;
			return rows[*row].status;
		}
	}
	*why = strerror(error);
	return MNTERR_IO;
}
