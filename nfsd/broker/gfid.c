/* SPDX-License-Identifier: ISC */
/*
 * GlusterFS: from a gfid to a descriptor and back, whatever the volume holds. A
 * file is opened by the name ".gfid/UUID" below the root. A directory that is
 * opened so cannot be used. Its path is asked for, which is data like any other:
 * it is opened beneath the root, through no link and no mount, and the inode
 * number of what is found there is compared, which is half of the gfid.
 *
 * The mounts of several heads remember nothing, so each name of a path and each
 * look at a file is a question to the bricks. What never changes is not asked for.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/channel.h"

#define PATH_ATTR "glusterfs.ancestry.path"
#define SHORT	  (sizeof(GFID_DIR) + GFID_TEXT) /* ".gfid/UUID" */

static void
name_gfid(const struct gfid *gfid, char out[SHORT])
{
	char text[GFID_TEXT];

	gfid_print(gfid, text);
	(void)snprintf(out, SHORT, GFID_DIR "/%s", text);
}

/* A path below the export, which lies at its own path in the jail. */
static int
full_path(const struct served_export *e, const char *below, char out[PATH_MAX])
{
	const char *top = strcmp(e->path, "/") == 0 ? "" : e->path;

	if (snprintf(out, PATH_MAX, "%s/%s", top, below) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* The type and the inode number, which the kernel knows of what is open. */
static int
look(int fd, struct statx *sx)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
	    STATX_TYPE | STATX_INO, sx);
}

static int
open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned int)flags };

	how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	    RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

/* Reads the path of a directory below the root. Returns 0, or -1 with errno. */
static int
read_path(const struct served_export *e, const char *name,
    char path[PATH_MAX + 1])
{
	char at[PATH_MAX];
	ssize_t n;

	if (full_path(e, name, at) == -1)
		return -1;
	n = lgetxattr(at, PATH_ATTR, path, PATH_MAX);
	if (n == -1) {
		if (errno == ENOENT)
			errno = ESTALE;
		else if (errno == ERANGE)
			errno = ENAMETOOLONG;
		else if (errno == ENODATA || errno == EOPNOTSUPP) {
			if (log_permit("gfid path", 0))
				log_warnx("export %s: GlusterFS does not tell "
					  "paths of directories; clients wait "
					  "(set storage.build-pgfid on)",
				    e->path);
			errno = EAGAIN;
		}
		return -1;
	}
	path[n] = '\0';
	if (path[0] == '/')
		return 0;
	errno = EAGAIN;
	return -1;
}

/*
 * Opens the directory at its path. If it was moved just now, another one may be
 * there, or none: EAGAIN.
 */
static int
open_directory(const struct served_export *e, const char *name,
    const struct gfid *want, int flags)
{
	char path[PATH_MAX + 1];
	struct statx sx;
	int fd;

	if (read_path(e, name, path) == -1)
		return -1;
	fd = open_beneath(e->root, path[1] == '\0' ? "." : path + 1, flags);
	if (fd == -1) {
		if (errno == ENOENT || errno == ENOTDIR)
			errno = EAGAIN;
		else if (errno == EXDEV || errno == ELOOP)
			errno = ESTALE; /* it lies in an export inside */
		return -1;
	}
	if (look(fd, &sx) == 0) {
		if (S_ISDIR(sx.stx_mode) && sx.stx_ino == gfid_ino(want))
			return fd;
		errno = EAGAIN;
	}
	close_keep_errno(fd);
	return -1;
}

int
broker_open_gfid(const struct broker_source *s, int flags)
{
	const struct served_export *e = s->export;
	struct gfid gfid;
	char name[SHORT];
	struct statx sx;
	int fd;

	if (s->fd != -1 && look(s->fd, &sx) == 0 && S_ISDIR(sx.stx_mode))
		return open_beneath(s->fd, ".", flags);
	if (!fh_fs_gfid(&s->plain, &gfid)) {
		errno = ESTALE;
		return -1;
	}
	if (gfid_is_root(&gfid))
		return open_beneath(e->root, ".", flags);
	name_gfid(&gfid, name);
	fd = open_beneath(e->root, name, flags);
	if (fd == -1 || look(fd, &sx) == -1) {
		if (errno == ENOENT)
			errno = ESTALE;
		close_keep_errno(fd);
		return -1;
	}
	if (!S_ISDIR(sx.stx_mode) && !s->no_file &&
	    sx.stx_ino == gfid_ino(&gfid))
		return fd;
	close(fd);
	if (S_ISDIR(sx.stx_mode))
		return open_directory(e, name, &gfid, flags);
	errno = ESTALE;
	return -1;
}

/*
 * Asks by directory and name, for what cannot be opened: links, devices, sockets.
 * EAGAIN: another file has the name by now.
 */
static int
gfid_by_name(const struct served_export *e, const struct gfid *dir,
    const char *name, ino_t ino, struct gfid *gfid)
{
	char below[SHORT + INODE_NAME_MAX + 2], at[PATH_MAX], text[GFID_TEXT];
	char top[SHORT];
	ssize_t n;

	name_gfid(dir, top);
	if (gfid_is_root(dir))
		(void)strlcpy(below, name, sizeof(below));
	else
		(void)snprintf(below, sizeof(below), "%s/%s", top, name);
	if (full_path(e, below, at) == -1)
		return -1;
	n = lgetxattr(at, GFID_ATTR, text, sizeof(text));
	if (n == -1 && errno != ENOENT)
		return -1;
	if (n != -1 && gfid_parse(text, (size_t)n, gfid) &&
	    gfid_ino(gfid) == ino)
		return 0;
	errno = EAGAIN;
	return -1;
}

int
broker_gfid_of(const struct served_export *e, const struct gfid *dir, int fd,
    const char *name, struct gfid *gfid)
{
	const struct fh_fs kernel = { FH_BY_HANDLE, e->fs.magic };
	struct fh_plain plain;
	struct statx sx;
	int again, result;

	/* The kernel's handle is good while the descriptor is open. */
	if (look(fd, &sx) == -1 ||
	    fh_fs_plain(&kernel, fd, e->id, false, e->mount_id, &plain) == -1)
		return -1;
	if (!S_ISDIR(sx.stx_mode) && !S_ISREG(sx.stx_mode) &&
	    !S_ISFIFO(sx.stx_mode))
		return gfid_by_name(e, dir, name, sx.stx_ino, gfid);
	again = broker_open_kernel(&plain, e->root,
	    O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (again == -1)
		return -1;
	result = gfid_read(again, gfid);
	close_keep_errno(again);
	return result;
}
