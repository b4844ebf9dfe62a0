/* SPDX-License-Identifier: ISC */
/*
 * The table of who serves what where. Knows neither RPC nor sockets nor who
 * may do what: callers decide that first. Bounded, in order of registration.
 * Runs in: portmapd.
 */
#ifndef PMAP_MAP_H
#define PMAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/uaddr.h"

#define PMAP_ENTRIES_MAX 1024
#define PMAP_PER_UID_MAX 512 /* for any one user who is not root */
#define PMAP_VERSIONS	 3 /* PORTMAP 2, RPCBIND 3 and 4, for statistics */

#define PMAP_LINK_NONE 0 /* lasts until it is removed */
#define PMAP_LINK_SELF UINT64_MAX /* portmapd's own: always, everywhere */

struct pmap_service {
	uint32_t prog, vers;
	enum netid netid;
	struct uaddr at;
};

/* Whose it is: the user, and the connection it lives and dies with. */
struct pmap_owner {
	uint64_t link;
	uint32_t uid;
};

struct pmap_entry {
	struct pmap_service svc;
	struct pmap_owner by;
	uint32_t asked[PMAP_VERSIONS]; /* found by GETPORT or GETADDR */
	uint32_t called[PMAP_VERSIONS]; /* answered for by CALLIT */
};

/* Which entry is wanted. */
struct pmap_want {
	uint32_t prog, vers;
	enum netid netid;
	bool any_version; /* another version will do if vers is not there */
	bool reachable; /* only what answers at `asked` itself */
	const struct addr *asked; /* where the client reached us; NULL: local */
};

struct pmap_map;

/* Never NULL. */
struct pmap_map *pmap_map_new(void);
void pmap_map_free(struct pmap_map *);

/*
 * True when the service is in the table now: added, or already there by the
 * same owner at the same address. The owner may hold one service at several
 * different addresses; nobody else may add to it. False at a limit.
 */
bool pmap_map_set(struct pmap_map *, const struct pmap_service *,
    const struct pmap_owner *);
/* At a limit: nothing can be added by this owner. */
bool pmap_map_is_full(const struct pmap_map *, const struct pmap_owner *);
/*
 * Removes prog and vers on the transports in the bit set netids (1u << netid).
 * `by` removes what it owns; with `any`, everything but portmapd's own. True
 * if something was removed.
 */
bool pmap_map_unset(struct pmap_map *, uint32_t prog, uint32_t vers,
    unsigned int netids, const struct pmap_owner *by, bool any);
/* The connection ended: removes its entries, returns how many. */
size_t pmap_map_drop(struct pmap_map *, uint64_t link);

/* Borrowed until the next change; NULL when there is none. */
struct pmap_entry *pmap_map_find(struct pmap_map *, const struct pmap_want *);
/* Walks the table: NULL starts, NULL ends. Borrowed until the next change. */
const struct pmap_entry *pmap_map_next(const struct pmap_map *,
    const struct pmap_entry *);
size_t pmap_map_count(const struct pmap_map *);

#endif
