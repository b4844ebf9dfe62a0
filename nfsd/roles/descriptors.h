/* SPDX-License-Identifier: ISC */
/*
 * How the descriptors of a worker are divided.
 * Runs in: nfsd parent, which warns of few; nfsd worker, which divides.
 */
#ifndef ROLES_DESCRIPTORS_H
#define ROLES_DESCRIPTORS_H

#include <stddef.h>

#define DESCRIPTORS_FILES 32768 /* files kept open, without -o files */

/* Those for files and connections, of as many as a process may have. */
size_t descriptors_usable(size_t limit);

/* Logs a warning if they are fewer than the files to be kept open. */
void descriptors_warn(size_t limit, size_t files);

#endif
