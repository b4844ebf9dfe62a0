/* SPDX-License-Identifier: ISC */
/*
 * A whole mountd in one process on a scratch directory, with the parent's seal
 * and without the processes between: exports a, b and m, which is for players;
 * a/sub/file, m/Contents; and beside them a file that nobody may get.
 * Runs in: fuzzers.
 */
#ifndef MOUNT_FIXTURE_H
#define MOUNT_FIXTURE_H

#include <stdbool.h>

#include "handle/fhandle.h"
#include "rpc/server.h"

/* Once; the directory is removed when the program ends. */
struct rpc_server *mount_fixture_new(void);
/* Is it a good handle of one of the exports, and not of the file beside? */
bool mount_fixture_gave(const struct fh *);

#endif
