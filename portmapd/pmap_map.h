/* SPDX-License-Identifier: ISC */
/*
 * The table of registered services and their addresses. It knows neither RPC
 * nor sockets nor permissions, which pmap_ops.c checks first. It is bounded and
 * in order of registration.
 * Runs in: portmapd.
 */
#ifndef PMAP_MAP_H
#define PMAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/uaddr.h"

#define PMAP_ENTRIES_MAX 1024
#define PMAP_PER_UID_MAX 512 /* of one user other than root */
#define PMAP_VERSIONS	 3 /* PORTMAP 2, RPCBIND 3 and 4, for statistics */

#define PMAP_LINK_NONE 0 /* the entry lasts until it is removed */
#define PMAP_LINK_SELF UINT64_MAX /* portmapd's own entry: never removed */

struct pmap_service {
	uint32_t prog, vers;
	enum netid netid;
	struct uaddr at;
};

/* The owner of an entry: a user, and the connection that it lasts for. */
struct pmap_owner {
	uint64_t link;
	uint32_t uid;
};

struct pmap_entry {
	struct pmap_service svc;
	struct pmap_owner by;
	uint32_t asked[PMAP_VERSIONS]; /* replies to GETPORT and GETADDR */
	uint32_t called[PMAP_VERSIONS]; /* replies to CALLIT */
};

/* The entry to find. */
struct pmap_want {
	uint32_t prog, vers;
	enum netid netid;
	bool any_version; /* accept another version if vers is absent */
	bool reachable; /* only services at the address `asked` */
	const struct addr *asked; /* the address the client used; NULL: local */
};

struct pmap_map;

/* Never returns NULL. */
struct pmap_map *pmap_map_new(void);
void pmap_map_free(struct pmap_map *);

/*
 * Adds a service. Returns true if the table now holds it for this owner, even
 * if it did before. One owner may hold a service at several addresses. Returns
 * false if another owner holds the service, or at a limit.
 */
bool pmap_map_set(struct pmap_map *, const struct pmap_service *,
    const struct pmap_owner *);
/* Does a limit forbid another entry of this owner? */
bool pmap_map_is_full(const struct pmap_map *, const struct pmap_owner *);
/*
 * Removes prog and vers on the transports in the bit set netids (1u << netid):
 * the entries that `by` owns, or with `any` all but portmapd's own. Returns
 * true if it removed any.
 */
bool pmap_map_unset(struct pmap_map *, uint32_t prog, uint32_t vers,
    unsigned int netids, const struct pmap_owner *by, bool any);
/* Removes the entries of a closed connection. Returns how many. */
size_t pmap_map_drop(struct pmap_map *, uint64_t link);

/* Returns an entry, valid until the next change, or NULL. */
struct pmap_entry *pmap_map_find(struct pmap_map *, const struct pmap_want *);
/*
 * Returns the entry after this one (NULL: the first), or NULL after the last.
 * It is valid until the next change.
 */
const struct pmap_entry *pmap_map_next(const struct pmap_map *,
    const struct pmap_entry *);
size_t pmap_map_count(const struct pmap_map *);

#endif
