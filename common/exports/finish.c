/* SPDX-License-Identifier: ISC */
/*
 * The last step of exports_parse(), after the last line. Clients are sorted by
 * precedence, exports by path. Each export gets its id, from fsid= or from its
 * path alone. Contradictions between lines are reported.
 * Runs in: wherever exports_parse() does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exports/client.h"
#include "exports/id.h"
#include "exports/parse.h"

/* More specific first; equal ones stay in the order of the file. */
static int
compare_clients(const void *a, const void *b)
{
	const struct export_client *x = a, *y = b;
	unsigned int xlen, ylen;

	if ((x->cert != 0) != (y->cert != 0))
		return x->cert != 0 ? -1 : 1;
	if (x->cert != y->cert)
		return x->cert < y->cert ? -1 : 1;
	if (x->any != y->any)
		return x->any ? 1 : -1;
	xlen = x->plen + (x->net.family == AF_INET ? 96 : 0);
	ylen = y->plen + (y->net.family == AF_INET ? 96 : 0);
	if (xlen != ylen)
		return xlen > ylen ? -1 : 1;
	if ((x->net.scope == 0) != (y->net.scope == 0))
		return x->net.scope == 0 ? 1 : -1;
	xlen = x->source != NULL ? x->source->number : 0;
	ylen = y->source != NULL ? y->source->number : 0;
	if (xlen != ylen)
		return xlen < ylen ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static int
compare_paths(const void *a, const void *b)
{
	const struct export *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Returns the export id; an fsid= that fits in 16 bits is the id itself. */
static uint16_t
export_id(const struct export *e)
{
	char number[16];

	if (e->has_fsid && e->fsid <= UINT16_MAX)
		return (uint16_t)e->fsid;
	(void)snprintf(number, sizeof(number), "%u", e->fsid);
	return exports_id(e->has_fsid ? number : e->path);
}

static struct exports_at
at_client(const struct export_client *c)
{
	return (struct exports_at){ c->line, c->column, c->source };
}

/* Fills by_id by insertion and reports two exports with one id. */
static void
index_ids(struct exports_parser *p, struct exports *ex)
{
	const struct export *e, *other;
	char where[EXPORTS_WHERE];
	size_t i, at;

	ex->by_id = calloc(ex->n + 1, sizeof(*ex->by_id));
	if (ex->by_id == NULL) {
		exports_error(p, exports_top, "out of memory");
		return;
	}
	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		for (at = i; at > 0; at--) {
			other = &ex->list[ex->by_id[at - 1]];
			if (other->id == e->id)
				exports_error(p,
				    (struct exports_at){
					e->line, 1, e->source },
				    "\"%s\" and \"%s\" (%s) have the same export "
				    "id %u: give one of them another fsid=",
				    e->path, other->path,
				    exports_where(other->source, other->line,
					where),
				    e->id);
			if (other->id <= e->id)
				break;
			ex->by_id[at] = ex->by_id[at - 1];
		}
		ex->by_id[at] = (uint16_t)i;
	}
}

/* Do two client entries have a host and the dialect in common? */
static bool
overlap(const struct export_client *a, const struct export_client *b)
{
	if (a->options.names != b->options.names)
		return false;
	return a->any || b->any || addr_in_prefix(&a->net, &b->net, b->plen) ||
	    addr_in_prefix(&b->net, &a->net, a->plen);
}

/* Are the names equal for MNT, with or without a slash at the end? */
static bool
same_name(const char *a, const char *b)
{
	size_t alen = strlen(a), blen = strlen(b);

	while (alen > 1 && a[alen - 1] == '/')
		alen--;
	while (blen > 1 && b[blen - 1] == '/')
		blen--;
	return alen == blen && memcmp(a, b, alen) == 0;
}

static bool
has_name(const struct export_client *c, const char *alias)
{
	size_t i;

	for (i = 0; i < c->naliases; i++) {
		if (same_name(c->aliases[i], alias))
			return true;
	}
	return false;
}

/* Reports if a later export has the same alias for a common host. */
static void
check_alias_twins(struct exports_parser *p, struct exports *ex, size_t from,
    const struct export_client *c, const char *alias)
{
	const struct export_client *other;
	char where[EXPORTS_WHERE];
	size_t i, j;

	for (i = from + 1; i < ex->n; i++) {
		for (j = 0; j < ex->list[i].nclients; j++) {
			other = &ex->list[i].clients[j];
			if (has_name(other, alias) && overlap(c, other))
				exports_error(p, at_client(other),
				    "alias \"%s\" stands for \"%s\" already "
				    "(%s), for clients in common",
				    alias, ex->list[from].path,
				    exports_where(c->source, c->line, where));
		}
	}
}

/* Reports aliases that stand for two exports. */
static void
check_aliases(struct exports_parser *p, struct exports *ex)
{
	char clean[EXPORTS_PATH_MAX + 1], where[EXPORTS_WHERE];
	const struct export_client *c;
	const struct export *e, *other;
	size_t i, j, k;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		for (j = 0; j < e->nclients; j++) {
			c = &e->clients[j];
			for (k = 0; k < c->naliases; k++) {
				check_alias_twins(p, ex, i, c, c->aliases[k]);
				(void)exports_clean_path(c->aliases[k],
				    strlen(c->aliases[k]), clean);
				other = exports_find_path(ex, clean);
				if (other != NULL && other != e)
					exports_error(p, at_client(c),
					    "alias \"%s\" is the path of an "
					    "export (%s)",
					    c->aliases[k],
					    exports_where(other->source,
						other->line, where));
			}
		}
	}
}

/*
 * Returns false if there is no memory. glibc's qsort(3) calls sysinfo(2) for
 * more than a few entries, which a role's system call filter forbids.
 */
static bool
sort(void *list, size_t n, size_t size,
    int (*compare)(const void *, const void *))
{
	return n < 2 || mergesort(list, n, size, compare) == 0;
}

void
exports_finish(struct exports_parser *p, struct exports *ex)
{
	struct export *e;
	bool sorted = true;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		e->id = export_id(e);
		sorted = sort(e->clients, e->nclients, sizeof(*e->clients),
			     compare_clients) &&
		    sorted;
	}
	if (!sort(ex->list, ex->n, sizeof(*ex->list), compare_paths) || !sorted)
		exports_error(p, exports_top, "out of memory");
	index_ids(p, ex);
	check_aliases(p, ex);
	exports_option_idle(p);
}
