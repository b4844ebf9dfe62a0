/* SPDX-License-Identifier: ISC */
/*
 * Shared memory: see base/shm.h.
 * Runs in: every process.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/shm.h"
#include "base/util.h"

/* map: NULL, or where to map it before it is sealed against writers. */
static int
shm_make(size_t size, void **map)
{
	int fd = memfd_create("tern", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	bool good = fd != -1 && ftruncate(fd, (off_t)size) == 0;

	if (good && map != NULL) {
		*map = shm_map(fd, size, true);
		seals |= F_SEAL_FUTURE_WRITE;
		good = *map != NULL;
	}
	if (good && fcntl(fd, F_ADD_SEALS, seals) == 0)
		return fd;
	if (fd != -1)
		close_keep_errno(fd);
	return -1;
}

int
shm_new(size_t size)
{
	return shm_make(size, NULL);
}

int
shm_new_published(size_t size, void **map)
{
	return shm_make(size, map);
}

int
shm_reader(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void *
shm_map(int fd, size_t size, bool writable)
{
	void *at = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0),
	    MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}
