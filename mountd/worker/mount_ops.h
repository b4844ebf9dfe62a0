/* SPDX-License-Identifier: ISC */
/*
 * What happens around an operation: a call gets its context before, and after
 * it mounts and refusals are logged, once per client and reason.
 * Runs in: mountd worker (event loop).
 */
#ifndef WORKER_MOUNT_OPS_H
#define WORKER_MOUNT_OPS_H

#include "mountd/mount.h"

struct mount_state;

/* The hooks of the pipeline; state is borrowed for good. */
struct rpc_hooks mount_hooks(struct mount_state *);

#endif
