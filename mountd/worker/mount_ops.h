/* SPDX-License-Identifier: ISC */
/*
 * The hooks around an operation: a call gets its context; mounts and refusals
 * are logged, once per client and reason.
 * Runs in: mountd worker (event loop).
 */
#ifndef WORKER_MOUNT_OPS_H
#define WORKER_MOUNT_OPS_H

#include "mountd/mount.h"

struct mount_state;

/* Returns the hooks for the RPC server. state must outlive it. */
struct rpc_hooks mount_hooks(struct mount_state *);

#endif
