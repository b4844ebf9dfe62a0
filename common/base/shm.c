/* SPDX-License-Identifier: ISC */
/*
 * Shared memory: see base/shm.h.
 * Runs in: every process.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/shm.h"
#include "base/util.h"

int
shm_new(size_t size)
{
	int fd = memfd_create("tern", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1)
		return -1;
	if (ftruncate(fd, (off_t)size) == -1 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
		-1) {
		close_keep_errno(fd);
		return -1;
	}
	return fd;
}

void *
shm_map(int fd, size_t size, bool writable)
{
	void *at = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0),
	    MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}
