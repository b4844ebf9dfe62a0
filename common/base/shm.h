/* SPDX-License-Identifier: ISC */
/*
 * Memory that the processes of a daemon share: the parent makes it and passes
 * the descriptor, each process maps it. Its size is sealed, since a process
 * that was taken over could otherwise cut it and kill those that read it.
 * Runs in: every process.
 */
#ifndef BASE_SHM_H
#define BASE_SHM_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of zeroed memory, or -1 with errno. */
int shm_new(size_t);
/* Maps it, for good; NULL with errno. */
void *shm_map(int fd, size_t, bool writable);

#endif
