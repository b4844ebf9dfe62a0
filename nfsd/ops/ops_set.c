/* SPDX-License-Identifier: ISC */
/*
 * Sets one attribute of an object. The kernel decides what the caller may set.
 * One rule is added: only an unsquashed root sets set-id bits on files.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/door/identity.h"
#include "nfsd/ops/ops_set.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

mode_t
ops_mode(const struct call_ctx *ctx, uint32_t mode, bool directory)
{
	if (!directory && !door_is_root(ctx))
		mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return mode & 07777;
}

bool
ops_can_chmod_path(void)
{
	static _Atomic int can = -1;

	if (can == -1)
		can = syscall(SYS_fchmodat2, -1, "", 0, AT_EMPTY_PATH) != -1 ||
		    errno != ENOSYS;
	return can == 1;
}

int
ops_set_mode(int fd, mode_t mode, bool directory)
{
	if (ops_can_chmod_path())
		return (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH);
	return directory ? fchmodat(fd, ".", mode, 0) : fchmod(fd, mode);
}

static struct timespec
set_time(enum nfs_set_time how, const struct timespec *client)
{
	struct timespec now = { 0, UTIME_NOW }, keep = { 0, UTIME_OMIT };

	if (how == NFS_CLIENT_TIME)
		return *client;
	return how == NFS_SERVER_TIME ? now : keep;
}

int
ops_set_times(int fd, const struct nfs_sattr *s)
{
	struct timespec t[2];

	if (s->set_atime == NFS_KEEP_TIME && s->set_mtime == NFS_KEEP_TIME)
		return 0;
	t[0] = set_time(s->set_atime, &s->atime);
	t[1] = set_time(s->set_mtime, &s->mtime);
	return utimensat(fd, "", t, AT_EMPTY_PATH);
}

int
ops_set_owner(int fd, const struct nfs_sattr *s)
{
	uid_t uid = s->set_uid ? s->uid : (uid_t)-1;
	gid_t gid = s->set_gid ? s->gid : (gid_t)-1;

	if (!s->set_uid && !s->set_gid)
		return 0;
	/* For the kernel, -1 means "leave it". A client must not send it. */
	if ((s->set_uid && uid == (uid_t)-1) ||
	    (s->set_gid && gid == (gid_t)-1)) {
		errno = EINVAL;
		return -1;
	}
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}
