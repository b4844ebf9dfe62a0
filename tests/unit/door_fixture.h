/* SPDX-License-Identifier: ISC */
/*
 * A scratch directory and an export of it, for unit tests of the door's parts.
 * Runs in: tests.
 */
#ifndef DOOR_FIXTURE_H
#define DOOR_FIXTURE_H

#include <stdbool.h>

#include "exports/exports.h"
#include "handle/fhandle.h"

extern const uint8_t fixture_key[FH_KEY_SIZE];

/* Makes a directory (mode 0755) that is removed at exit. Returns its path. */
const char *fixture_dir(void);
/* Opens that directory. */
int fixture_fd(int flags);
/* Makes a file with one line in it, at a path below the directory. */
void fixture_file(const char *path, const char *text, int mode);
/* Parses exports text. An error is fatal. */
struct exports *fixture_exports(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
