/* SPDX-License-Identifier: ISC */
/*
 * The worker's table of exports.
 * Runs in: mountd worker (event loop and file threads).
 */
#include <stdlib.h>
#include <unistd.h>

#include "mountd/worker/mount_table.h"

static void
close_root(struct served_export *e)
{
	if (e->root != -1)
		close(e->root);
	e->root = -1;
}

static void
clear(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		close_root(&x->list[i]);
	free(x->list);
}

struct served_exports *
mount_table_new(struct exports *ex, const struct fh_root *roots,
    const struct mountd_handles *handles)
{
	struct served_exports *x = active_list_new(ex, clear);
	size_t i;

	if (x == NULL)
		return NULL;
	x->list = calloc(ex->n + 1, sizeof(*x->list));
	if (x->list == NULL) {
		free(x);
		return NULL;
	}
	x->n = ex->n;
	for (i = 0; i < ex->n; i++) {
		x->list[i].root = roots[i].fd;
		x->list[i].handles = handles[i];
		if (!handles[i].served)
			close_root(&x->list[i]);
	}
	return x;
}
