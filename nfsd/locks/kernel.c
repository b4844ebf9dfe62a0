/* SPDX-License-Identifier: ISC */
/*
 * Locks of an open file description, as the kernel has them. They conflict with
 * those of every program and protocol on this machine, and end with the last
 * copy of the descriptor.
 * Runs in: nfsd locks, tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/locks/kernel.h"

static int
control(int fd, int cmd, struct flock *fl)
{
	int result;

	do
		result = fcntl(fd, cmd, fl);
	while (result == -1 && errno == EINTR);
	return result;
}

static struct flock
to_flock(short type, uint64_t start, uint64_t end)
{
	struct flock fl = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)start,
		.l_len = (off_t)range_length(start, end) };

	return fl;
}

int
kernel_set(int fd, enum kernel_lock kind, uint64_t start, uint64_t end)
{
	static const short types[] = { [KERNEL_NONE] = F_UNLCK,
		[KERNEL_READ] = F_RDLCK,
		[KERNEL_WRITE] = F_WRLCK };
	struct flock fl = to_flock(types[kind], start, end);
	int result = control(fd, F_OFD_SETLK, &fl);

	if (result == -1 && errno == EACCES) /* as POSIX permits */
		errno = EAGAIN;
	return result;
}

bool
kernel_get(int fd, bool exclusive, struct kernel_found *found)
{
	struct flock fl =
	    to_flock(exclusive ? F_WRLCK : F_RDLCK, found->start, found->end);

	if (control(fd, F_OFD_GETLK, &fl) == -1 || fl.l_type == F_UNLCK)
		return false;
	found->start = (uint64_t)fl.l_start;
	found->end =
	    fl.l_len == 0 ? RANGE_LAST : found->start + (uint64_t)fl.l_len - 1;
	found->exclusive = fl.l_type == F_WRLCK;
	return true;
}
