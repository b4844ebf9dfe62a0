/* SPDX-License-Identifier: ISC */
/*
 * A file beside the exports with mode 0666: only its place protects it.
 * Runs in: fuzzers.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Puts "outside" into the directory above dir; forgets an earlier one. */
void outside_put(int dir);
/* Are the file and its directory unchanged? */
bool outside_is_whole(void);
/* Do these bytes contain the text of the file? */
bool outside_is_in(const void *, size_t);

#endif
