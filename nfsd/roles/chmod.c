/* SPDX-License-Identifier: ISC */
/*
 * See chmod.h.
 * Runs in: nfsd worker, nfsd broker.
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd/roles/chmod.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

bool
chmod_takes_path(void)
{
	static _Atomic int can = -1;

	if (can == -1)
		can = syscall(SYS_fchmodat2, -1, "", 0, AT_EMPTY_PATH) != -1 ||
		    errno != ENOSYS;
	return can == 1;
}

int
chmod_fd(int fd, mode_t mode, bool directory)
{
	if (chmod_takes_path())
		return (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH);
	return directory ? fchmodat(fd, ".", mode, 0) : fchmod(fd, mode);
}
