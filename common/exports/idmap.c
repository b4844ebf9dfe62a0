/* SPDX-License-Identifier: ISC */
/*
 * See idmap.h. Maps are short, so they are searched from the start.
 * Runs in: wherever an export list is used.
 */
#include <stdlib.h>

#include "exports/exports.h"
#include "exports/idmap.h"

#define ID_LAST (UINT32_MAX - 1) /* -1 is no user */

/* Is id one of count numbers from first on? */
static bool
in_range(uint32_t id, uint32_t first, uint32_t count)
{
	return id >= first && id - first < count;
}

static bool
is_squashed(const struct id_range *r)
{
	return r->here == ID_MAP_SQUASH;
}

static const struct id_range *
by_client(const struct id_map *m, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < m->n; i++)
		if (in_range(id, m->list[i].client, m->list[i].count))
			return &m->list[i];
	return NULL;
}

static const struct id_range *
by_here(const struct id_map *m, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < m->n; i++)
		if (!is_squashed(&m->list[i]) &&
		    in_range(id, m->list[i].here, m->list[i].count))
			return &m->list[i];
	return NULL;
}

bool
id_map_in(const struct id_map *m, uint32_t *id)
{
	const struct id_range *r = by_client(m, *id);

	if (r == NULL)
		return by_here(m, *id) == NULL;
	if (is_squashed(r))
		return false;
	*id = r->here + (*id - r->client);
	return true;
}

uint32_t
id_map_search_out(const struct id_map *m, uint32_t id)
{
	const struct id_range *r = by_here(m, id);

	if (r != NULL)
		return r->client + (id - r->here);
	r = by_client(m, id);
	return r == NULL || is_squashed(r) ? id : EXPORTS_ANON;
}

bool
id_map_gives(const struct id_map *m, uint32_t id)
{
	return by_here(m, id) != NULL;
}

bool
id_map_yields(const struct id_map *m, uint32_t id)
{
	return id_map_gives(m, id) || by_client(m, id) == NULL;
}

/* Do two runs of numbers overlap? */
static bool
meet(uint32_t a, uint32_t na, uint32_t b, uint32_t nb)
{
	return in_range(a, b, nb) || in_range(b, a, na);
}

static const char *
add_range(struct id_map *m, const struct id_range *r)
{
	const struct id_range *o;

	for (o = m->list; o < m->list + m->n; o++) {
		if (meet(o->client, o->count, r->client, r->count))
			return "a number of the client is named twice";
		if (!is_squashed(o) && !is_squashed(r) &&
		    meet(o->here, o->count, r->here, r->count))
			return "two numbers of the client would be one here";
	}
	if (m->n == ID_MAP_MAX)
		return "more than 16 ranges";
	m->list[m->n++] = *r;
	return NULL;
}

/* Reads a number and moves *s behind it. */
static bool
read_id(const char **s, uint32_t *id)
{
	char *end;
	unsigned long n;

	if (**s < '0' || **s > '9')
		return false;
	n = strtoul(*s, &end, 10);
	if (n > ID_LAST || end - *s > 10)
		return false;
	*id = (uint32_t)n;
	*s = end;
	return true;
}

/* Reads "501/1000", "600-699/1600", or what is before the slash. */
static bool
read_range(const char **s, bool squash, struct id_range *r)
{
	uint32_t last;

	if (!read_id(s, &r->client))
		return false;
	last = r->client;
	if (**s == '-') {
		++*s;
		if (!read_id(s, &last) || last < r->client)
			return false;
	}
	r->count = last - r->client + 1;
	r->here = ID_MAP_SQUASH;
	if (squash)
		return true;
	if (**s != '/')
		return false;
	++*s;
	return read_id(s, &r->here) && r->count - 1 <= ID_LAST - r->here;
}

const char *
id_map_add(struct id_map *m, const char *text, bool squash)
{
	struct id_range r;
	const char *why;

	for (;; text++) {
		if (!read_range(&text, squash, &r) ||
		    (*text != ':' && *text != '\0'))
			return squash ?
			    "not a list such as 0-99:500" :
			    "not a list such as 501/1000:2000-2999/12000 "
			    "(client/here)";
		why = add_range(m, &r);
		if (why != NULL || *text == '\0')
			return why;
	}
}
