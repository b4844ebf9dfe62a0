/* SPDX-License-Identifier: ISC */
/*
 * The table: an array in order of registration, searched from the front. The
 * limit of entries keeps a search shorter than the system calls of a call.
 * Runs in: portmapd.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "portmapd/pmap_map.h"

struct pmap_map {
	size_t n;
	struct pmap_entry entries[PMAP_ENTRIES_MAX];
};

struct pmap_map *
pmap_map_new(void)
{
	struct pmap_map *map;

	if ((map = calloc(1, sizeof(*map))) == NULL)
		fatal("table: out of memory");
	return map;
}

void
pmap_map_free(struct pmap_map *map)
{
	free(map);
}

static bool
same_owner(const struct pmap_owner *a, const struct pmap_owner *b)
{
	return a->link == b->link && a->uid == b->uid;
}

/* May one owner hold a service at both addresses? They must be distinct. */
static bool
are_apart(const struct uaddr *a, const struct uaddr *b)
{
	return a->kind == UADDR_INET && b->kind == UADDR_INET &&
	    !uaddr_is_wildcard(a) && !uaddr_is_wildcard(b) &&
	    !uaddr_is_host(a, &b->at);
}

bool
pmap_map_is_full(const struct pmap_map *map, const struct pmap_owner *by)
{
	size_t i, held = 0;

	if (map->n == PMAP_ENTRIES_MAX)
		return true;
	if (by->link == PMAP_LINK_SELF || by->uid == 0)
		return false;
	for (i = 0; i < map->n; i++)
		if (map->entries[i].by.uid == by->uid)
			held++;
	return held >= PMAP_PER_UID_MAX;
}

bool
pmap_map_set(struct pmap_map *map, const struct pmap_service *svc,
    const struct pmap_owner *by)
{
	const struct pmap_entry *e = NULL;
	struct pmap_entry *new;

	while ((e = pmap_map_next(map, e)) != NULL) {
		if (e->svc.prog != svc->prog || e->svc.vers != svc->vers ||
		    e->svc.netid != svc->netid)
			continue;
		if (!same_owner(&e->by, by))
			return false;
		if (uaddr_equal(&e->svc.at, &svc->at))
			return true;
		if (by->link == PMAP_LINK_NONE ||
		    !are_apart(&e->svc.at, &svc->at))
			return false;
	}
	if (pmap_map_is_full(map, by))
		return false;
	new = &map->entries[map->n++];
	memset(new, 0, sizeof(*new));
	new->svc = *svc;
	new->by = *by;
	return true;
}

static void
remove_at(struct pmap_map *map, size_t i)
{
	map->n--;
	memmove(&map->entries[i], &map->entries[i + 1],
	    (map->n - i) * sizeof(map->entries[0]));
}

bool
pmap_map_unset(struct pmap_map *map, uint32_t prog, uint32_t vers,
    unsigned int netids, const struct pmap_owner *by, bool any)
{
	size_t i, before = map->n;
	struct pmap_entry *e;

	for (i = map->n; i-- > 0;) {
		e = &map->entries[i];
		if (e->svc.prog != prog || e->svc.vers != vers ||
		    (netids & 1u << e->svc.netid) == 0 ||
		    e->by.link == PMAP_LINK_SELF)
			continue;
		if (any || same_owner(&e->by, by))
			remove_at(map, i);
	}
	return map->n < before;
}

size_t
pmap_map_drop(struct pmap_map *map, uint64_t link)
{
	size_t i, before = map->n;

	if (link == PMAP_LINK_NONE || link == PMAP_LINK_SELF)
		return 0;
	for (i = map->n; i-- > 0;)
		if (map->entries[i].by.link == link)
			remove_at(map, i);
	return before - map->n;
}

/* Returns how well an entry fits the address the client used; 0: not at all. */
static unsigned int
fit_of_place(const struct pmap_entry *e, const struct pmap_want *want)
{
	if (want->asked == NULL || e->svc.at.kind != UADDR_INET ||
	    e->by.link == PMAP_LINK_SELF)
		return 3;
	if (uaddr_is_host(&e->svc.at, want->asked))
		return 3;
	if (uaddr_is_wildcard(&e->svc.at))
		return 2;
	return want->reachable ? 0 : 1;
}

struct pmap_entry *
pmap_map_find(struct pmap_map *map, const struct pmap_want *want)
{
	struct pmap_entry *e, *best = NULL;
	unsigned int fit, best_fit = 0;
	size_t i;

	for (i = 0; i < map->n; i++) {
		e = &map->entries[i];
		if (e->svc.prog != want->prog || e->svc.netid != want->netid)
			continue;
		if (e->svc.vers != want->vers && !want->any_version)
			continue;
		if ((fit = fit_of_place(e, want)) == 0)
			continue;
		fit += e->svc.vers == want->vers ? 4 : 0;
		/* Among other versions prefer the newest. */
		if (fit > best_fit ||
		    (fit == best_fit && e->svc.vers > best->svc.vers)) {
			best = e;
			best_fit = fit;
		}
	}
	return best;
}

const struct pmap_entry *
pmap_map_next(const struct pmap_map *map, const struct pmap_entry *e)
{
	e = e == NULL ? map->entries : e + 1;
	return e < map->entries + map->n ? e : NULL;
}

size_t
pmap_map_count(const struct pmap_map *map)
{
	return map->n;
}
