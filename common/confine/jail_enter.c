/* SPDX-License-Identifier: ISC */
/*
 * Enters a jail. A process that cannot enter it exits. As a plain user, or if a
 * container forbids chroot(2), it goes on without; the log line at start tells.
 * Runs in: the roles of mountd and nfsd; portmapd.
 */
#include <sys/stat.h>
#include <sys/vfs.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/jail_mount.h"

#define JAIL_ABOVE "/run/tern"
#define JAIL_EMPTY JAIL_ABOVE "/empty" /* if mounting is not permitted */

static void
describe(struct jail_view *view, enum jail_kind kind, const char *root)
{
	static const char *const mounts[] = { "shared", "shared", "user",
		"private" };

	view->kind = kind;
	view->mounts = mounts[kind];
	(void)snprintf(view->root, sizeof(view->root), "%s", root);
	view->top = -1;
	if (kind == JAIL_MOUNTS || kind == JAIL_CHROOT) {
		view->top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (view->top == -1)
			fatal("jail: cannot open the new root");
	}
}

/* Stores the path of a descriptor, "" if unknown. Needs /proc. */
static void
name_of(int fd, char *out, size_t size)
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

static void
enter_directory(struct jail_view *view, int fd)
{
	char name[128];

	name_of(fd, name, sizeof(name));
	if (fchdir(fd) == -1)
		fatal("jail: cannot enter %s", name);
	if (chroot(".") == 0)
		describe(view, JAIL_CHROOT, name);
	else if (errno == EPERM) /* a container without CAP_SYS_CHROOT */
		describe(view, JAIL_NONE, "none");
	else
		fatal("jail: cannot chroot to %s", name);
}

void
jail_enter(struct jail_view *view, int fd)
{
	struct statfs fs;

	if (fd == -1) {
		describe(view, JAIL_NONE, "none");
		return;
	}
	if (fstatfs(fd, &fs) == -1)
		fatal("jail: cannot look at its descriptor");
	if (fs.f_type != NSFS_MAGIC)
		enter_directory(view, fd);
	else if (setns(fd, CLONE_NEWNS) == 0)
		describe(view, JAIL_MOUNTS, "jail");
	else if (errno == EPERM && geteuid() != 0)
		describe(view, JAIL_USER, "none");
	else
		fatal("jail: cannot enter the mount namespace");
	close(fd);
}

void
jail_name_root(struct jail_view *view, const char *only)
{
	if (only != NULL && view->kind == JAIL_MOUNTS)
		(void)snprintf(view->root, sizeof(view->root), "%s", only);
}

/* Enters a new mount namespace whose root is dir or empty. 0 or -1. */
static int
enter_own(const char *dir)
{
	int fd, tree, failed;

	if (geteuid() != 0 && jail_mount_become_user() == -1)
		return -1;
	if (jail_mount_unshare() == -1)
		return -1;
	if (dir == NULL)
		tree = jail_mount_tmpfs();
	else {
		fd = jail_path_open(dir);
		tree = fd == -1 ? -1 : jail_mount_clone(fd, true);
		close_keep_errno(fd);
	}
	if (tree == -1)
		return -1;
	failed = jail_mount_pivot(tree);
	close(tree);
	return failed == -1 ? -1 : jail_mount_seal_root();
}

void
jail_enter_empty(struct jail_view *view, const char *dir)
{
	const char *where = dir != NULL ? dir : JAIL_EMPTY;
	int fd;

	if (enter_own(dir) == 0) {
		describe(view, JAIL_MOUNTS, dir != NULL ? dir : "empty");
		return;
	}
	log_debug("jail: no private mounts: %s", strerror(errno));
	if (dir == NULL) {
		(void)mkdir(JAIL_ABOVE, 0755);
		(void)mkdir(JAIL_EMPTY, 0555);
	}
	fd = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 && dir != NULL)
		fatal("jail: cannot open %s", dir);
	if (fd != -1 && fchdir(fd) == 0 && chroot(".") == 0)
		describe(view, JAIL_CHROOT, where);
	else
		describe(view, JAIL_NONE, "none");
	if (fd != -1)
		close(fd);
}
