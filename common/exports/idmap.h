/* SPDX-License-Identifier: ISC */
/*
 * The numbers of users and groups of a client that are others here. Options of a
 * client entry: map_uids= and map_gids= for numbers that correspond, squash_uids=
 * and squash_gids= for those that become anonymous.
 *
 * A map leads both ways, and no two numbers of one side are one number of the
 * other. So a number that another one is mapped to is not free: a caller that
 * comes with it is squashed. A file of a user whose number means another user on
 * the client gets the anonymous owner there.
 * Runs in: wherever an export list is used.
 */
#ifndef EXPORTS_IDMAP_H
#define EXPORTS_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#define ID_MAP_MAX    16 /* ranges of one map */
#define ID_MAP_SQUASH UINT32_MAX /* here: none */

struct id_range {
	uint32_t client, here; /* the first number on each side */
	uint32_t count;
};

/* No range: all numbers are as they are. Unused ranges are zero. */
struct id_map {
	uint32_t n;
	struct id_range list[ID_MAP_MAX];
};

/*
 * Adds ranges: "501/1000:2000-2999/12000", or, squash, "0-99:500". Returns NULL
 * or what is wrong.
 */
const char *id_map_add(struct id_map *, const char *text, bool squash);
/* Replaces a number of the client. Returns false: it is squashed. */
bool id_map_in(const struct id_map *, uint32_t *id);
/* Returns the number that a client sees; EXPORTS_ANON if it has none. */
uint32_t id_map_search_out(const struct id_map *, uint32_t id);
static inline uint32_t
id_map_out(const struct id_map *m, uint32_t id)
{
	return m->n == 0 ? id : id_map_search_out(m, id);
}
/* Does a range lead to this number here? */
bool id_map_gives(const struct id_map *, uint32_t id);
/* Can a number of the client be this one here? */
bool id_map_yields(const struct id_map *, uint32_t id);

#endif
