/* SPDX-License-Identifier: ISC */
/*
 * What the door knows of the caller after squashing, and why it refuses a client.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_IDENTITY_H
#define DOOR_IDENTITY_H

#include <stdbool.h>

struct call_ctx;
struct export_user;
struct served_export;

/* Is the caller unsquashed root? */
bool door_is_root(const struct call_ctx *);
/* Is the caller's user, or group, the one that the client named? */
bool door_is_user_kept(const struct call_ctx *);
bool door_is_group_kept(const struct call_ctx *);
/* May the caller make device nodes? (unsquashed root, if configured) */
bool door_may_mknod(const struct call_ctx *);
/* The user in the certificate of the caller, or NULL. */
const struct export_user *door_user(const struct call_ctx *);

enum door_refusal {
	DOOR_UNKNOWN, /* no entry is for this client */
	DOOR_PORT, /* the port is not below 1024 */
	DOOR_WEAK, /* TLS or a certificate is demanded */
	DOOR_USER /* the certificate has no user of this machine */
};

/*
 * refusal.c. Logs why the client may not use the export, once a minute for each
 * client, and denies the call if a stronger connection might help.
 */
void door_refuse(struct call_ctx *, const struct served_export *, bool utf16,
    enum door_refusal);

#endif
