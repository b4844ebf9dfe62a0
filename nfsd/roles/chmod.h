/* SPDX-License-Identifier: ISC */
/*
 * Changes the mode of an open file. Linux 6.6 and later can do so with an O_PATH
 * descriptor.
 * Runs in: nfsd worker, nfsd broker.
 */
#ifndef ROLES_CHMOD_H
#define ROLES_CHMOD_H

#include <sys/stat.h>

#include <stdbool.h>

/* Can the kernel change the mode of an O_PATH descriptor of a file? */
bool chmod_takes_path(void);
/*
 * Returns 0, or -1 with errno. If chmod_takes_path() is false, fd must be a
 * directory or a data descriptor.
 */
int chmod_fd(int fd, mode_t mode, bool directory);

#endif
