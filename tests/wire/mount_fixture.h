/* SPDX-License-Identifier: ISC */
/*
 * mountd in one process on a scratch directory: the worker's code calls the
 * parent's seal directly. The exports are a (with sub/file), b and m (for
 * players, with Contents). Beside them is a file that no client may get.
 * Runs in: fuzzers.
 */
#ifndef MOUNT_FIXTURE_H
#define MOUNT_FIXTURE_H

#include <stdbool.h>

#include "handle/fhandle.h"
#include "rpc/server.h"

/* Call it once. The directory is removed when the program ends. */
struct rpc_server *mount_fixture_new(void);
/* Is this a valid handle of an export, and not of the file outside? */
bool mount_fixture_gave(const struct fh *);

#endif
