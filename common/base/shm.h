/* SPDX-License-Identifier: ISC */
/*
 * Memory that the processes of a daemon share. The parent makes it and passes
 * the descriptor; each process maps it. Its size is sealed: a compromised
 * process could otherwise truncate it, which kills the processes that read it.
 * Runs in: every process.
 */
#ifndef BASE_SHM_H
#define BASE_SHM_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a descriptor of zeroed memory, or -1 and errno. */
int shm_new(size_t);
/*
 * The same, mapped here to be written until the process ends. No other process
 * can write it, whatever it does with the descriptor.
 */
int shm_new_published(size_t, void **);
/*
 * Returns another descriptor of the memory, by which no process can write it. -1 and
 * errno: it needs /proc.
 */
int shm_reader(int fd);
/*
 * Maps the memory until the process ends. Returns NULL and errno on an error.
 */
void *shm_map(int fd, size_t, bool writable);

#endif
