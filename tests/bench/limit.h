/* SPDX-License-Identifier: ISC */
/*
 * The limit: what a server could reach that did only the system calls an
 * operation needs. No credentials, no checks, no exports, no handles that last;
 * not an NFS server for any use but to be measured against.
 * Runs in: make bench.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <stddef.h>
#include <stdint.h>

#define LIMIT_REPLY_MAX (1u << 21)

/* Serves this directory. 0 or -1. */
int limit_ops_init(const char *dir);
/* Answers one call into out; the length of the reply, 0 for none. */
size_t limit_serve(const uint8_t *call, size_t len, uint8_t *out, size_t cap);

#endif
