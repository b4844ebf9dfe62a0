/* SPDX-License-Identifier: ISC */
/*
 * The host names of the exports and their addresses, as the resolver found
 * them. Asking never waits: an unknown name has no address until the resolver
 * answers. Names are asked for in parallel, again every minute while one is
 * missing, and now and then when it is old. A name that cannot be looked up at
 * the moment keeps its addresses for a day; one that no longer exists loses
 * them at once.
 *
 * The resolver is woken when the exports name a host for the first time.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef RESOLVE_NAMES_H
#define RESOLVE_NAMES_H

#include <stdbool.h>

#include "exports/load.h"

#define NAMES_MISSING_MS (60 * 1000) /* ask again for a missing name */
#define NAMES_OLD_MS	 (5 * 60 * 1000) /* ask again for a known name */
#define NAMES_KEEP_MS	 (24 * 3600 * 1000) /* without confirmation */

struct names;
struct resolver;

/* Calls changed from the event loop when addresses differ from before. */
struct names *names_new(void (*changed)(void *arg), void *arg);
/* To be called after resolver_free(). Accepts NULL. */
void names_free(struct names *);
/* Returns what exports_load() looks names up by. */
const struct exports_names *names_source(struct names *);
/* To be called before and after each load; loaded: it succeeded. */
void names_begin(struct names *);
void names_end(struct names *, bool loaded);
/* The event loop is there: lookups begin. */
void names_start(struct names *, struct resolver *);

#endif
