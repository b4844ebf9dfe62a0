/* SPDX-License-Identifier: ISC */
/*
 * SETATTR of modes with and without a kernel that can chmod an O_PATH
 * descriptor (Linux 6.6 can). Attributes are current after a local change.
 * Links: nfsd
 * Runs in: test program.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "tap.h"

#define NR_FCHMODAT2 452

static void
put_mode(struct xdr_out *out, const struct fh *fh, uint32_t mode)
{
	int i;

	xdr_put_opaque(out, fh->bytes, FH_SIZE);
	xdr_put_bool(out, true);
	xdr_put_u32(out, mode);
	for (i = 0; i < 6; i++) /* nothing else, no guard */
		xdr_put_u32(out, 0);
}

static bool
set_mode(struct nfs_fixture *f, const char *handle, const char *name,
    uint32_t mode)
{
	struct fh fh = nfs_fixture_handle(f, handle);
	uint8_t args[128];
	struct xdr_out out;
	struct xdr_in in;
	struct stat st;

	xdr_out_init(&out, args, sizeof(args));
	put_mode(&out, &fh, mode);
	in = nfs_fixture_call(f, 3, NFSPROC3_SETATTR, 0, args, out.len);
	return xdr_get_u32(&in) == NFS_OK &&
	    fstatat(nfs_fixture_dir(f), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st.st_mode & 07777) == mode;
}

/*
 * Sets modes of files, unreadable ones too, and of directories. Returns the
 * number of failures.
 */
static int
set_modes(void)
{
	struct nfs_fixture *f = nfs_fixture_new("");
	int failed = 0;

	failed += !set_mode(f, "file", "hello", 0);
	failed += !set_mode(f, "file", "hello", 0640);
	failed += !set_mode(f, "sub", "sub", 0711);
	failed += !set_mode(f, "sub", "sub", 02755);
	nfs_fixture_free(f);
	return failed;
}

static int
set_modes_without_call(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (filter == NULL ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), NR_FCHMODAT2, 0) !=
		0 ||
	    seccomp_load(filter) != 0)
		return 100;
	return set_modes();
}

/* The mode in a reply to GETATTR. */
static uint32_t
told_mode(struct nfs_fixture *f)
{
	struct fh fh = nfs_fixture_handle(f, "file");
	struct xdr_out out;
	struct xdr_in in;
	uint8_t args[64];

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, fh.bytes, FH_SIZE);
	in = nfs_fixture_call(f, 3, NFSPROC3_GETATTR, 0, args, out.len);
	(void)xdr_get_u32(&in); /* status */
	(void)xdr_get_u32(&in); /* type */
	return xdr_get_u32(&in) & 07777;
}

/* A change on the server itself, between two calls. */
static void
test_current(void)
{
	struct nfs_fixture *f = nfs_fixture_new("");
	int dir = nfs_fixture_dir(f);

	ok(fchmodat(dir, "hello", 0600, 0) == 0 && told_mode(f) == 0600,
	    "GETATTR gets the mode");
	ok(fchmodat(dir, "hello", 0604, 0) == 0 && told_mode(f) == 0604,
	    "GETATTR after a local chmod gets the new mode");
	nfs_fixture_free(f);
}

/* Runs in a child, since the server remembers what the kernel can do. */
static int
in_child(int (*test)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(test());
	if (pid == -1 || waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int
main(void)
{
	int failed;

	plan(NO_PLAN);
	cmp_ok(in_child(set_modes), "==", 0,
	    "SETATTR sets modes of files and directories");
	failed = in_child(set_modes_without_call);
	skip(failed == 100, 1, "seccomp filters are not available");
	cmp_ok(failed, "==", 0, "SETATTR sets them on Linux before 6.6 too");
	end_skip;
	test_current();
	done_testing();
}
