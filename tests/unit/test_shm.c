/* SPDX-License-Identifier: ISC */
/*
 * Memory that processes share.
 * Runs in: tests.
 */
#include <sys/mman.h>

#include <errno.h>
#include <unistd.h>

#include "base/shm.h"
#include "tap.h"

int
main(void)
{
	int fd = shm_new(4096), pair[2], reader;
	char *at, *seen;
	void *published = NULL;

	plan(NO_PLAN);
	at = fd == -1 ? NULL : shm_map(fd, 4096, true);
	seen = fd == -1 ? NULL : shm_map(fd, 4096, false);
	if (at == NULL || seen == NULL)
		BAIL_OUT("no memory to share");
	ok(at[4095] == 0, "shared memory is zeroed");
	at[0] = 'x';
	ok(seen[0] == 'x',
	    "a write through one mapping is read through another");
	ok(pipe(pair) == 0 && write(pair[1], "y", 1) == 1 &&
		read(pair[0], seen, 1) == -1 && errno == EFAULT,
	    "a read-only mapping cannot be written");
	reader = shm_reader(fd);
	seen = reader == -1 ? NULL : shm_map(reader, 4096, false);
	ok(seen != NULL && seen[0] == 'x', "a reader sees the same");
	ok(shm_map(reader, 4096, true) == NULL &&
		mprotect(seen, 4096, PROT_READ | PROT_WRITE) == -1 &&
		write(reader, "y", 1) == -1,
	    "and can write it in no way");
	ok(ftruncate(fd, 0) == -1 && ftruncate(fd, 8192) == -1,
	    "no process can change its size");
	ok(shm_map(-1, 4096, true) == NULL, "a bad descriptor is an error");
	fd = shm_new_published(4096, &published);
	seen = fd == -1 ? NULL : shm_map(fd, 4096, false);
	if (seen == NULL)
		BAIL_OUT("no memory to publish");
	*(char *)published = 'z';
	ok(seen[0] == 'z', "published memory is written here and read there");
	ok(shm_map(fd, 4096, true) == NULL && write(fd, "y", 1) == -1 &&
		seen[0] == 'z',
	    "nobody else can write it");
	done_testing();
}
