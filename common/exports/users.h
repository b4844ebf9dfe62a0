/* SPDX-License-Identifier: ISC */
/*
 * The users of this machine, for exports with certuser. The parent reads them
 * when it loads the exports, and the roles get them with the list, so that no
 * call waits for a lookup. A user that is not in the list is refused.
 * Runs in: mountd parent, nfsd parent (read); nfsd worker (find).
 */
#ifndef EXPORTS_USERS_H
#define EXPORTS_USERS_H

#include "exports/exports.h"

#define EXPORTS_USERS_MAX   65536
#define EXPORTS_USER_NAME   33 /* with the final 0 */
#define EXPORTS_USER_GROUPS 16

struct export_user {
	char name[EXPORTS_USER_NAME];
	uint32_t uid, gid;
	uint32_t ngids;
	uint32_t gids[EXPORTS_USER_GROUPS];
};

/* Does any client entry say certuser? */
bool exports_wants_users(const struct exports *);
/* Reads all users, sorted by name. Returns how many; *users may be NULL. */
size_t exports_users_read(struct export_user **users);
/* Finds the user of a name of this length, or NULL. */
const struct export_user *exports_user(const struct exports *, const char *name,
    size_t len);

#endif
