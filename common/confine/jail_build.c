/* SPDX-License-Identifier: ISC */
/*
 * Makes or changes the jail and exits. Exports were cloned by another child
 * (jail_look.c), in the host's tree. They are attached in the jail, so no
 * symbolic link in an export can redirect a mount.
 * Runs in: short-lived children of mountd's and nfsd's parent.
 */
#include <sys/mount.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/ipc.h"
#include "confine/jail_build.h"
#include "confine/jail_mount.h"

void
jail_say(const struct jail_plan *plan, enum jail_say what,
    struct jail_word *word, size_t len, const int *fds, size_t nfds)
{
	if (ipc_send(plan->channel, what, word, len, fds, nfds) == -1)
		_exit(1);
}

/* A message that is a word only. */
static void
say(const struct jail_plan *plan, enum jail_say what, size_t which, int error)
{
	struct jail_word word = { (uint32_t)which, error };

	jail_say(plan, what, &word, sizeof(word), NULL, 0);
}

void
jail_fail(const struct jail_plan *plan)
{
	say(plan, JAIL_SAY_FAILED, 0, errno);
	_exit(1);
}

/* Sends the namespaces; /proc is gone after the pivot. */
static void
tell_spaces(const struct jail_plan *plan)
{
	struct jail_word word = { 0, 0 };
	int fds[2];

	fds[0] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	fds[1] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	if (fds[0] == -1 || fds[1] == -1)
		jail_fail(plan);
	jail_say(plan, JAIL_SAY_SPACES, &word, sizeof(word), fds, 2);
}

void
jail_build_new(const struct jail_plan *plan)
{
	int top;

	if (plan->user && jail_mount_become_user() == -1)
		jail_fail(plan);
	if (jail_mount_unshare() == -1)
		jail_fail(plan);
	tell_spaces(plan);
	top = jail_mount_tmpfs();
	if (top == -1 || jail_mount_pivot(top) == -1 ||
	    jail_mount_seal_root() == -1)
		jail_fail(plan);
	say(plan, JAIL_SAY_DONE, 0, 0);
	_exit(0);
}

/*
 * An export nested in a removed one is unmounted with it, so a later umount2()
 * of it may fail.
 */
void
jail_build_change(const struct jail_plan *plan)
{
	size_t i;
	int top;

	if ((plan->user && setns(plan->user_space, CLONE_NEWUSER) == -1) ||
	    setns(plan->mount_space, CLONE_NEWNS) == -1 ||
	    (top = jail_mount_writable()) == -1)
		jail_fail(plan);
	for (i = 0; i < plan->nremove; i++)
		(void)umount2(plan->remove[i], MNT_DETACH | UMOUNT_NOFOLLOW);
	for (i = 0; i < plan->n; i++)
		if (plan->trees[i] != -1 &&
		    jail_mount_attach(plan->trees[i], top,
			plan->list[i].path) == -1)
			say(plan, JAIL_SAY_ABSENT, i, errno);
	if (jail_mount_seal_root() == -1)
		jail_fail(plan);
	say(plan, JAIL_SAY_DONE, 0, 0);
	_exit(0);
}
