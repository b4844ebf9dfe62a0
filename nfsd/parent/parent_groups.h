/* SPDX-License-Identifier: ISC */
/*
 * Keeps the table of nfsd/groups.h for -o manage-gids. Roles tell which users are
 * active. A user is looked up by the resolver at the first call, and again after
 * a minute while it is active. If the directory does not answer, the last answer
 * counts for an hour; then the user has no groups until it does.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_GROUPS_H
#define PARENT_GROUPS_H

#include <stdint.h>

#include "nfsd/groups.h"

#define PARENT_GROUPS_OLD_MS   (60 * 1000)
#define PARENT_GROUPS_KEEP_MS  (3600 * 1000) /* without an answer */
#define PARENT_GROUPS_AGAIN_MS (10 * 1000) /* the directory did not answer */
#define PARENT_GROUPS_LATE_MS  1000 /* no answer: it is silent */
#define PARENT_GROUPS_SAY_MS   (60 * 1000) /* between two lines about that */
#define PARENT_GROUPS_ASKED    32 /* questions at a time */

struct parent_groups;
struct resolver;

/* Never NULL. Ends the process if there is no memory. */
struct parent_groups *parent_groups_new(struct resolver *);
/* To be called after resolver_free(). Accepts NULL. */
void parent_groups_free(struct parent_groups *);
/* The descriptor for roles to inherit; -1 for NULL. */
int parent_groups_fd(const struct parent_groups *);
/* A role says that the user is active. */
void parent_groups_want(struct parent_groups *, uint32_t uid);
/* Looks all users up again. Accepts NULL. */
void parent_groups_reload(struct parent_groups *);

#endif
