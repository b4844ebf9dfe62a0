/* SPDX-License-Identifier: ISC */
/*
 * Makes or changes the jail and exits. Exports are cloned while the host's tree
 * is the root. They are attached after the jail has become the root, so no
 * symbolic link in an export can redirect a mount.
 * Runs in: short-lived children of mountd's and nfsd's parent.
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ipc.h"
#include "confine/jail_build.h"
#include "confine/jail_mount.h"

static void
say(const struct jail_plan *plan, enum jail_say what, size_t which, int error,
    const int *fds, size_t nfds)
{
	struct jail_word word = { .which = (uint32_t)which, .error = error };

	if (ipc_send(plan->channel, what, &word, sizeof(word), fds, nfds) == -1)
		_exit(1);
}

static void NO_RETURN
fail(const struct jail_plan *plan)
{
	say(plan, JAIL_SAY_FAILED, 0, errno, NULL, 0);
	_exit(1);
}

/* Sends the namespaces; /proc is gone after the pivot. */
static void
tell_spaces(const struct jail_plan *plan)
{
	int fds[2];

	fds[0] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	fds[1] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	if (fds[0] == -1 || fds[1] == -1)
		fail(plan);
	say(plan, JAIL_SAY_SPACES, 0, 0, fds, 2);
	close(fds[0]);
	close(fds[1]);
}

static void
clone_all(const struct jail_plan *plan, int *trees)
{
	const struct jail_export *e;
	size_t i;

	for (i = 0; i < plan->nadd; i++) {
		trees[i] = -1;
		if (plan->skip[i])
			continue;
		e = &plan->add[i];
		say(plan, JAIL_SAY_TRYING, i, 0, NULL, 0);
		trees[i] = jail_mount_clone(e->path, e->read_only);
		if (trees[i] != -1)
			continue;
		/* these two concern every path, other errors only this one */
		if (errno == EPERM || errno == ENOSYS)
			fail(plan);
		say(plan, JAIL_SAY_ABSENT, i, errno, NULL, 0);
	}
}

static void
attach_all(const struct jail_plan *plan, int *trees, int top)
{
	size_t i;
	int fd;

	for (i = 0; i < plan->nadd; i++) {
		if (trees[i] == -1)
			continue;
		fd = -1;
		if (jail_mount_attach(trees[i], top, plan->add[i].path) == 0)
			fd = jail_mount_open(plan->add[i].path);
		if (fd == -1)
			say(plan, JAIL_SAY_ABSENT, i, errno, NULL, 0);
		else
			say(plan, JAIL_SAY_ROOT, i, 0, &fd, 1);
		if (fd != -1)
			close(fd);
		close(trees[i]);
	}
}

/* Enters a new namespace whose root is a tmpfs. Returns the writable root. */
static int
make_new(const struct jail_plan *plan, int *trees)
{
	int top;

	if (plan->user && jail_mount_become_user() == -1)
		fail(plan);
	if (jail_mount_unshare() == -1)
		fail(plan);
	tell_spaces(plan);
	clone_all(plan, trees);
	top = jail_mount_tmpfs();
	if (top == -1 || jail_mount_pivot(top) == -1)
		fail(plan);
	return top;
}

/*
 * Enters the existing namespace and unmounts the removed exports. Returns the
 * writable root. An export nested in a removed one is unmounted with it, so a
 * later umount2() of it may fail.
 */
static int
change_old(const struct jail_plan *plan, int *trees)
{
	size_t i;
	int top;

	if (plan->user &&
	    (setns(plan->user_space, CLONE_NEWUSER) == -1 ||
		jail_mount_unshare() == -1))
		fail(plan);
	clone_all(plan, trees);
	if (setns(plan->mount_space, CLONE_NEWNS) == -1)
		fail(plan);
	top = jail_mount_writable();
	if (top == -1)
		fail(plan);
	for (i = 0; i < plan->nremove; i++)
		(void)umount2(plan->remove[i], MNT_DETACH | UMOUNT_NOFOLLOW);
	return top;
}

/* Does the path lead to another directory than root, or to none? */
static bool
is_replaced(const char *path, int root)
{
	int fd = jail_path_open(path);
	struct stat here, was;
	bool same = fd != -1 && fstat(fd, &here) == 0 &&
	    fstat(root, &was) == 0 && here.st_dev == was.st_dev &&
	    here.st_ino == was.st_ino;

	if (fd != -1)
		close(fd);
	return !same;
}

static void NO_RETURN
look_at_paths(const struct jail_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nadd; i++) {
		if (plan->roots[i] == -1 || plan->skip[i])
			continue;
		say(plan, JAIL_SAY_TRYING, i, 0, NULL, 0);
		if (is_replaced(plan->add[i].path, plan->roots[i]))
			say(plan, JAIL_SAY_REPLACED, i, 0, NULL, 0);
	}
	say(plan, JAIL_SAY_DONE, 0, 0, NULL, 0);
	_exit(0);
}

void
jail_build(const struct jail_plan *plan)
{
	int *trees = calloc(plan->nadd + 1, sizeof(*trees));
	int top;

	if (trees == NULL)
		fail(plan);
	if (plan->roots != NULL)
		look_at_paths(plan);
	top = plan->mount_space == -1 ? make_new(plan, trees) :
					change_old(plan, trees);
	attach_all(plan, trees, top);
	if (jail_mount_seal_root() == -1)
		fail(plan);
	say(plan, JAIL_SAY_DONE, 0, 0, NULL, 0);
	_exit(0);
}
