/* SPDX-License-Identifier: ISC */
/*
 * Compares two export lists, export by export.
 * Runs in: mountd parent, nfsd parent.
 */
#include <string.h>

#include "exports/load.h"
#include "exports/parse.h"

static bool
same_aliases(const struct export_client *a, const struct export_client *b)
{
	size_t i;

	if (a->naliases != b->naliases)
		return false;
	for (i = 0; i < a->naliases; i++) {
		if (strcmp(a->aliases[i], b->aliases[i]) != 0)
			return false;
	}
	return true;
}

/* Are they equal? Lines and columns do not matter. */
static bool
same_export(const struct export *a, const struct export *b)
{
	const struct export_client *x, *y;
	size_t i;

	if (a->id != b->id || a->handles != b->handles ||
	    a->nclients != b->nclients)
		return false;
	for (i = 0; i < a->nclients; i++) {
		x = &a->clients[i];
		y = &b->clients[i];
		if (x->cert != y->cert || x->any != y->any ||
		    x->plen != y->plen || !addr_equal(&x->net, &y->net) ||
		    (x->cert != 0 && strcmp(x->text, y->text) != 0) ||
		    !exports_options_equal(&x->options, &y->options) ||
		    !same_aliases(x, y))
			return false;
	}
	return true;
}

void
exports_diff(const struct exports *before, const struct exports *after,
    void (*tell)(void *arg, const char *what, const struct export *), void *arg)
{
	size_t i = 0, j = 0;
	int order;

	/* Both are sorted by path. */
	for (;;) {
		if (before == NULL || i == before->n)
			order = 1;
		else if (after == NULL || j == after->n)
			order = -1;
		else
			order =
			    strcmp(before->list[i].path, after->list[j].path);
		if (order > 0 && (after == NULL || j == after->n))
			return;
		if (order < 0)
			tell(arg, "removed", &before->list[i++]);
		else if (order > 0)
			tell(arg, "added", &after->list[j++]);
		else if (!same_export(&before->list[i++], &after->list[j++]))
			tell(arg, "changed", &after->list[j - 1]);
	}
}
