/* SPDX-License-Identifier: ISC */
/*
 * The jail's mounts. A tree gets its flags while it is detached, so it is never
 * visible without them.
 * Runs in: short-lived children of a parent; portmapd at its start.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "confine/jail_mount.h"

#define JAIL_FLAGS                                                             \
	(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |            \
	    MOUNT_ATTR_NOSYMFOLLOW)

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd == -1)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

int
jail_mount_become_user(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	char text[64];

	if (unshare(CLONE_NEWUSER) == -1)
		return -1;
	(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (write_file("/proc/self/uid_map", text) == -1 ||
	    write_file("/proc/self/setgroups", "deny") == -1)
		return -1;
	(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return write_file("/proc/self/gid_map", text);
}

static int
set_flags(int tree, unsigned long long set, bool recursive)
{
	struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	return mount_setattr(tree, "",
	    AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr,
	    sizeof(attr));
}

int
jail_mount_clone(int fd, bool read_only)
{
	unsigned int flags =
	    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	bool submounts = false;
	int tree;

	tree = open_tree(fd, "", flags);
	if (tree == -1 && errno == EINVAL) {
		/* a user namespace may not uncover what a mount hides */
		submounts = true;
		tree = open_tree(fd, "", flags | AT_RECURSIVE);
	}
	if (tree != -1 &&
	    set_flags(tree, JAIL_FLAGS | (read_only ? MOUNT_ATTR_RDONLY : 0),
		submounts) == -1) {
		close_keep_errno(tree);
		tree = -1;
	}
	return tree;
}

int
jail_mount_tmpfs(void)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -1;

	if (fs == -1)
		return -1;
	if (fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_STRING, "size", "1m", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "16k", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tree = fsmount(fs, FSMOUNT_CLOEXEC, JAIL_FLAGS);
	close(fs);
	return tree;
}

int
jail_mount_unshare(void)
{
	if (unshare(CLONE_NEWNS) == -1)
		return -1;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* As pivot_root(2) describes: stack the old root on the new one, detach it. */
int
jail_mount_pivot(int tree)
{
	if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) ==
		-1 ||
	    fchdir(tree) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		return -1;
	return 0;
}

/* mkdir -p below top; path is absolute and clean. */
static int
make_directories(int top, const char *path)
{
	char part[PATH_MAX];
	char *p;

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, strlen(path) + 1);
	for (p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdirat(top, part + 1, 0755) == -1 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	if (mkdirat(top, part + 1, 0755) == -1 && errno != EEXIST)
		return -1;
	return 0;
}

int
jail_mount_attach(int tree, int top, const char *path)
{
	struct stat st;

	/* the directory of a nested export exists in the outer export */
	if (lstat(path, &st) == -1 && make_directories(top, path) == -1)
		return -1;
	return move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

int
jail_mount_writable(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	int top = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (top != -1 &&
	    mount_setattr(top, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1) {
		close(top);
		return -1;
	}
	return top;
}

int
jail_mount_seal_root(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | JAIL_FLAGS };

	return mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr));
}

int
jail_mount_open(int fd)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int root = openat(fd, ".", O_RDONLY | flags);

	return root == -1 && errno == EACCES ? openat(fd, ".", O_PATH | flags) :
					       root;
}
