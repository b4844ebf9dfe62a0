/* SPDX-License-Identifier: ISC */
/*
 * Tries to use the descriptor of a file that is open for reading and writing.
 * The locks role has such descriptors, and may only lock. Numbers below 3 are
 * the log's: a file that gets such a number could be written as if it were.
 * Runs in: children of each role, sealed as the role is.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "owned.h"

static char buf[16];

bool
file_read(const struct owned *o)
{
	return syscall(SYS_read, o->file, buf, sizeof(buf)) > 0;
}

bool
file_pread(const struct owned *o)
{
	return syscall(SYS_pread64, o->file, buf, sizeof(buf), 0) > 0;
}

bool
file_preadv(const struct owned *o)
{
	struct iovec to = { buf, sizeof(buf) };

	return syscall(SYS_preadv2, o->file, &to, 1, 0, 0, 0) > 0;
}

bool
file_map(const struct owned *o)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, o->file,
		   0) != -1;
}

bool
file_copy(const struct owned *o)
{
	int64_t from = 0, to = 4096;

	return syscall(SYS_copy_file_range, o->file, &from, o->file, &to, 4,
		   0) == 4;
}

bool
file_write(const struct owned *o)
{
	return syscall(SYS_write, o->file, "owned", 5) == 5;
}

bool
file_writev(const struct owned *o)
{
	struct iovec from = { buf, sizeof(buf) };

	return syscall(SYS_writev, o->file, &from, 1) > 0;
}

bool
file_pwrite(const struct owned *o)
{
	return syscall(SYS_pwrite64, o->file, "owned", 5, 0) == 5;
}

bool
file_truncate(const struct owned *o)
{
	return syscall(SYS_ftruncate, o->file, 0) == 0;
}

/* Can it be written by the number of the log? */
static bool
write_as_log(int fd)
{
	return fd == STDERR_FILENO &&
	    syscall(SYS_write, STDERR_FILENO, "owned", 5) == 5;
}

/* Standard error is closed already in a try. */
bool
file_as_log(const struct owned *o)
{
	return write_as_log((int)syscall(SYS_dup3, o->file, STDERR_FILENO,
	    O_CLOEXEC));
}

bool
file_as_log_wide(const struct owned *o)
{
	return write_as_log((int)syscall(SYS_dup3, o->file,
	    (UINT64_C(1) << 32) + STDERR_FILENO, O_CLOEXEC));
}

bool
close_log(const struct owned *o)
{
	return syscall(SYS_close, STDOUT_FILENO) == 0 &&
	    syscall(SYS_fcntl, o->file, F_DUPFD_CLOEXEC, 0) == STDOUT_FILENO &&
	    syscall(SYS_write, STDOUT_FILENO, "owned", 5) == 5;
}

bool
close_log_wide(const struct owned *o)
{
	return syscall(SYS_close, (UINT64_C(1) << 32) + STDOUT_FILENO) == 0 &&
	    syscall(SYS_fcntl, o->file, F_DUPFD_CLOEXEC, 0) == STDOUT_FILENO &&
	    syscall(SYS_write, STDOUT_FILENO, "owned", 5) == 5;
}

/* The purpose of the locks role. */
bool
file_lock(const struct owned *o)
{
	struct flock lock;

	memset(&lock, 0, sizeof(lock));
	lock.l_type = F_WRLCK;
	return syscall(SYS_fcntl, o->file, F_OFD_SETLK, &lock) == 0;
}
