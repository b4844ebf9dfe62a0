/* SPDX-License-Identifier: ISC */
/*
 * A file beside the exports, open to everybody: only where it lies protects it.
 * Runs in: fuzzers.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Puts "outside" into the directory above dir; forgets an earlier one. */
void outside_put(int dir);
/* Is it, and the directory it lies in, as it was? */
bool outside_is_whole(void);
/* Is what it says somewhere in these bytes? */
bool outside_is_in(const void *, size_t);

#endif
