/* SPDX-License-Identifier: ISC */
/*
 * The jail as a role sees it: which files it has, which not, and what a local
 * user can change. All tests run in children and private directories.
 * Runs in: tests only, as root (skipped otherwise).
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "tap.h"

static char base[64]; /* the test's directory; exports are below it */
static char srv[128], nested[160], media[128], later[128];

static void
make_tree(void)
{
	char path[256];
	int fd;

	(void)snprintf(base, sizeof(base), "/tmp/jail-test-XXXXXX");
	if (mkdtemp(base) == NULL)
		BAIL_OUT("mkdtemp");
	(void)chmod(base, 0755);
	(void)snprintf(srv, sizeof(srv), "%s/srv", base);
	(void)snprintf(nested, sizeof(nested), "%s/srv/deep/nested", base);
	(void)snprintf(media, sizeof(media), "%s/media", base);
	(void)snprintf(later, sizeof(later), "%s/later", base);
	(void)mkdir(srv, 0755);
	(void)snprintf(path, sizeof(path), "%s/deep", srv);
	(void)mkdir(path, 0755);
	(void)mkdir(nested, 0755);
	(void)mkdir(media, 0755);
	(void)mkdir(later, 0755);
	(void)snprintf(path, sizeof(path), "%s/secret", base);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	close(fd);
	(void)snprintf(path, sizeof(path), "%s/file", srv);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	close(fd);
}

/* Asks a question in a child inside the jail. The exit status is the answer. */
static bool
inside(const struct jail *jail, bool (*question)(const struct jail *))
{
	struct jail_view view;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		jail_enter(&view, dup(jail_fd(jail)));
		_exit(question(jail) ? 0 : 1);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
sees_exports(const struct jail *jail UNUSED)
{
	return access(srv, F_OK) == 0 && access(media, F_OK) == 0;
}

static bool
sees_nothing_else(const struct jail *jail UNUSED)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/secret", base);
	return access("/etc", F_OK) == -1 && access("/proc", F_OK) == -1 &&
	    access(path, F_OK) == -1;
}

static bool
root_is_read_only(const struct jail *jail UNUSED)
{
	return mkdir("/new", 0755) == -1 && errno == EROFS;
}

static bool
export_is_writable(const struct jail *jail UNUSED)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/made", srv);
	return mkdir(path, 0755) == 0 && rmdir(path) == 0;
}

static bool
media_is_read_only(const struct jail *jail UNUSED)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/made", media);
	return mkdir(path, 0755) == -1 && errno == EROFS;
}

static bool
sees_later(const struct jail *jail UNUSED)
{
	return access(later, F_OK) == 0;
}

static bool
media_is_gone(const struct jail *jail UNUSED)
{
	struct stat top, m;

	return stat(base, &top) == 0 &&
	    (stat(media, &m) == -1 || m.st_dev == top.st_dev);
}

static bool
symlink_refused(const struct jail *jail UNUSED)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/link", srv);
	(void)unlink(path);
	if (symlink("/", path) == -1)
		return false;
	return open(path, O_RDONLY | O_CLOEXEC) == -1 && errno == ELOOP;
}

/* A held directory is moved out of the export: does ".." stay inside? */
static bool
moved_out_leads_nowhere(const struct jail *jail)
{
	char in[256];
	struct stat st;
	int fd, up;

	(void)snprintf(in, sizeof(in), "%s/walk", srv);
	(void)mkdir(in, 0755);
	fd = openat(jail_root(jail, srv), "walk",
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return false;
	(void)raise(SIGSTOP); /* the test moves it now */
	up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return up == -1 || fstatat(up, "secret", &st, 0) == -1;
}

static bool
flags_are_set(const struct jail *jail, const char *path)
{
	struct statvfs v;
	const unsigned long want = ST_NOSUID | ST_NODEV | ST_NOEXEC;

	return fstatvfs(jail_root(jail, path), &v) == 0 &&
	    (v.f_flag & want) == want;
}

static void
test_mounts(void)
{
	struct jail_export list[] = { { .path = media, .read_only = true },
		{ .path = srv, .read_only = false },
		{ .path = nested, .read_only = true } };
	struct jail_export more[] = { { .path = later, .read_only = false },
		{ .path = srv, .read_only = false },
		{ .path = nested, .read_only = true } };
	struct jail *jail = jail_new(list, nitems(list), false);
	int before;

	cmp_ok(jail_kind(jail), "==", JAIL_MOUNTS, "root gets private mounts");
	ok(inside(jail, sees_exports), "exports are at their own paths");
	ok(inside(jail, sees_nothing_else), "no other file is in the jail");
	ok(inside(jail, root_is_read_only), "the root is read-only");
	ok(inside(jail, export_is_writable), "a writable export is writable");
	ok(inside(jail, media_is_read_only), "a read-only export is read-only");
	ok(inside(jail, symlink_refused), "symbolic links are not followed");
	ok(flags_are_set(jail, srv), "an export is nosuid,nodev,noexec");
	ok(jail_root(jail, nested) != -1, "a nested export has a root");
	cmp_ok(jail_root(jail, "/nowhere"), "==", -1,
	    "a path that is not exported has no root");

	before = jail_root(jail, srv);
	cmp_ok(jail_update(jail, more, nitems(more), JAIL_ALL), "==", 0,
	    "updates");
	ok(inside(jail, sees_later), "a new export appears");
	ok(inside(jail, media_is_gone), "a removed export is gone");
	cmp_ok(jail_root(jail, media), "==", -1,
	    "a removed export has no root");
	cmp_ok(jail_root(jail, srv), "==", before,
	    "an unchanged export keeps its mount");
	ok(!jail_needs_restart(jail), "running roles need no restart");
	ok(inside(jail, root_is_read_only), "the root is read-only again");

	more[2].read_only = false;
	ok(jail_update(jail, more, nitems(more), JAIL_ALL) == 0 &&
		jail_root(jail, nested) != -1,
	    "a changed export is mounted again");

	jail_free(jail);
}

static void
test_moved_out(void)
{
	struct jail_export list[] = { { .path = srv, .read_only = false } };
	struct jail *jail = jail_new(list, nitems(list), false);
	struct jail_view view;
	char out[256], in[256];
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		jail_enter(&view, dup(jail_fd(jail)));
		_exit(moved_out_leads_nowhere(jail) ? 0 : 1);
	}
	(void)waitpid(pid, &status, WUNTRACED);
	(void)snprintf(in, sizeof(in), "%s/walk", srv);
	(void)snprintf(out, sizeof(out), "%s/walked-out", base);
	ok(WIFSTOPPED(status) && rename(in, out) == 0, "a user moves it out");
	(void)kill(pid, SIGCONT);
	(void)waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "a directory moved out of the export does not lead out");
	jail_free(jail);
}

/* Is the root of the export the directory that is at its path now? */
static bool
is_current(const struct jail *jail, const char *path)
{
	struct stat root, here;

	return fstat(jail_root(jail, path), &root) == 0 &&
	    stat(path, &here) == 0 && root.st_ino == here.st_ino;
}

static void
test_replaced(void)
{
	struct jail_export list[] = { { .path = media, .read_only = true },
		{ .path = srv, .read_only = false },
		{ .path = nested, .read_only = true } };
	struct jail *jail = jail_new(list, nitems(list), false);
	int before = jail_root(jail, srv);
	char away[200];

	ok(rmdir(media) == 0 && mkdir(media, 0755) == 0 &&
		!is_current(jail, media),
	    "an exported directory is removed and made again");
	cmp_ok(jail_update(jail, list, nitems(list), JAIL_ALL), "==", 0,
	    "updates");
	ok(is_current(jail, media), "the new directory is mounted");
	cmp_ok(jail_root(jail, srv), "==", before,
	    "the other export keeps its mount");
	(void)snprintf(away, sizeof(away), "%s.away", nested);
	ok(rename(nested, away) == 0 &&
		jail_update(jail, list, nitems(list), JAIL_ALL) == 0 &&
		jail_root(jail, nested) == -1,
	    "an export that was moved away has no root");
	ok(rename(away, nested) == 0 &&
		jail_update(jail, list, nitems(list), JAIL_ALL) == 0 &&
		is_current(jail, nested),
	    "it has one again after it was moved back");
	jail_free(jail);
}

static void
test_absent(void)
{
	char gone[256];
	struct jail_export list[] = { { .path = gone, .read_only = false },
		{ .path = srv, .read_only = false } };
	struct jail *jail;

	(void)snprintf(gone, sizeof(gone), "%s/absent", base);
	jail = jail_new(list, nitems(list), false);
	ok(jail_root(jail, gone) == -1 && jail_root(jail, srv) != -1,
	    "a path that does not exist is left out, the others served");
	(void)mkdir(gone, 0755);
	ok(jail_update(jail, list, nitems(list), JAIL_ALL) == 0 &&
		jail_root(jail, gone) != -1,
	    "it is served after it appears and exports are reloaded");
	jail_free(jail);
}

/* Links of root are followed, in any direction. Links of users are not. */
static void
test_links(void)
{
	char absolute[256], there[256], up[256], loop[256], user[256];
	char own[256], moved[256];
	struct jail_export list[] = { { .path = absolute, .read_only = false },
		{ .path = moved, .read_only = false },
		{ .path = loop, .read_only = false },
		{ .path = own, .read_only = false },
		{ .path = up, .read_only = false },
		{ .path = user, .read_only = false } };
	struct jail *jail;

	(void)snprintf(absolute, sizeof(absolute), "%s/absolute/deep", base);
	(void)snprintf(moved, sizeof(moved), "%s/his/moved", base);
	(void)snprintf(loop, sizeof(loop), "%s/loop", base);
	(void)snprintf(own, sizeof(own), "%s/own", base);
	(void)snprintf(up, sizeof(up), "%s/srv/up", base);
	(void)snprintf(user, sizeof(user), "%s/user/deep", base);
	(void)snprintf(there, sizeof(there), "%s/absolute", base);
	if (symlink(srv, there) == -1 || symlink("loop", loop) == -1 ||
	    symlink("../absolute/./deep", up) == -1)
		BAIL_OUT("links");
	(void)snprintf(there, sizeof(there), "%s/user", base);
	if (symlink("srv", there) == -1 || lchown(there, 1000, 1000) == -1)
		BAIL_OUT("a user's link");
	(void)snprintf(there, sizeof(there), "%s/his", base);
	if (mkdir(there, 0755) == -1 || chown(there, 1000, 1000) == -1 ||
	    symlink("his", own) == -1 || lchown(own, 1000, 1000) == -1 ||
	    symlink(srv, moved) == -1)
		BAIL_OUT("a user's directory");
	jail = jail_new(list, nitems(list), false);
	ok(jail_root(jail, absolute) != -1, "root's link is followed");
	ok(jail_root(jail, up) != -1,
	    "root's link through another link and upwards is followed");
	ok(jail_root(jail, loop) == -1, "a loop of links is refused");
	ok(jail_root(jail, user) == -1, "a user's link is not followed");
	ok(jail_root(jail, own) != -1,
	    "a user's link to the user's own directory is followed");
	ok(jail_root(jail, moved) == -1,
	    "root's link in a user's directory is not: the user may have moved it");
	jail_free(jail);
}

/* As a plain user, in a user namespace if the kernel permits one. */
static void
test_user(void)
{
	struct jail_export list[] = { { .path = srv, .read_only = false } };
	struct jail_export more[] = { { .path = later, .read_only = false },
		{ .path = srv, .read_only = false } };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct jail *jail;
		int bits = 0;

		/* raw calls: lint permits the functions in daemon.c only */
		if (syscall(SYS_setgid, 65534) == -1 ||
		    syscall(SYS_setuid, 65534) == -1 ||
		    prctl(PR_SET_DUMPABLE, 1) == -1)
			_exit(255);
		jail = jail_new(list, nitems(list), true);
		bits |= jail_kind(jail) == JAIL_USER ? 1 : 0;
		bits |= flags_are_set(jail, srv) ? 2 : 0;
		bits |= jail_update(jail, more, nitems(more), JAIL_ALL) == 0 &&
			jail_root(jail, later) != -1 ?
		    4 :
		    0;
		bits |= jail_needs_restart(jail) ? 8 : 0;
		_exit(bits);
	}
	(void)waitpid(pid, &status, 0);
	status = WEXITSTATUS(status);
	skip((status & 1) == 0, 3, "no user namespaces for plain users here");
	ok((status & 2) != 0, "a plain user's exports are bind mounts too");
	ok((status & 4) != 0, "its exports can be changed");
	ok((status & 8) != 0, "but running roles must be restarted");
	end_skip;
}

static void
test_empty(void)
{
	struct jail_view view;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		jail_enter_empty(&view, NULL);
		_exit(view.kind == JAIL_MOUNTS && access("/etc", F_OK) == -1 &&
			    mkdir("/x", 0755) == -1 &&
			    strcmp(view.root, "empty") == 0 ?
			0 :
			1);
	}
	(void)waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "a process that needs no file gets an empty root");
}

static void
lose_sys_admin(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	const uint32_t bit = UINT32_C(1) << CAP_SYS_ADMIN;

	(void)syscall(SYS_capget, &head, data);
	data[0].permitted &= ~bit;
	data[0].effective &= ~bit;
	(void)syscall(SYS_capset, &head, data);
}

/* Only chroot remains if mounting is forbidden. */
static void
test_chroot(void)
{
	struct jail_export list[] = { { .path = media, .read_only = false },
		{ .path = srv, .read_only = false } };
	struct jail_view view;
	struct jail *jail;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		lose_sys_admin();
		jail = jail_new(list, nitems(list), false);
		if (jail_kind(jail) != JAIL_CHROOT)
			_exit(3);
		jail_enter(&view, jail_fd(jail));
		_exit(view.kind == JAIL_CHROOT && strcmp(view.root, base) == 0 ?
			0 :
			4);
	}
	(void)waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "without CAP_SYS_ADMIN: a chroot to the directory above all exports");
}

static void
remove_tree(void)
{
	char command[] = "/bin/rm";
	char flag[] = "-rf";
	char *argv[] = { command, flag, base, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		(void)execv(command, argv);
		_exit(1);
	}
	(void)waitpid(pid, NULL, 0);
}

int
main(void)
{
	log_init("test_jail");
	if (geteuid() != 0)
		plan(SKIP_ALL, "needs root");
	plan(NO_PLAN);
	make_tree();
	test_mounts();
	test_moved_out();
	test_replaced();
	test_absent();
	test_links();
	test_user();
	test_empty();
	test_chroot();
	remove_tree();
	done_testing();
}
