/* SPDX-License-Identifier: ISC */
/*
 * What the door knows of the caller after squashing.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_IDENTITY_H
#define DOOR_IDENTITY_H

#include <stdbool.h>

struct call_ctx;

/* Is the caller unsquashed root? */
bool door_is_root(const struct call_ctx *);
/*
 * Is the caller's user, or group, the one that the client named, perhaps by
 * another number?
 */
bool door_is_user_kept(const struct call_ctx *);
bool door_is_group_kept(const struct call_ctx *);
/* May the caller make device nodes? (unsquashed root, if configured) */
bool door_may_mknod(const struct call_ctx *);

#endif
