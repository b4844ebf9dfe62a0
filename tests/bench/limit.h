/* SPDX-License-Identifier: ISC */
/*
 * The limit: the speed of a server that makes only the system calls an
 * operation needs. It has no credentials, no checks, no exports and no lasting
 * handles, and serves for comparison only.
 * Runs in: make bench.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_REPLY_MAX (1u << 21)

/*
 * Serves this directory. With synced, changes of names and attributes are on
 * disk before the reply. 0 or -1.
 */
int limit_ops_init(const char *dir, bool synced);
/* Writes the reply to one call to out. Returns its length, 0 for none. */
size_t limit_serve(const uint8_t *call, size_t len, uint8_t *out, size_t cap);

#endif
