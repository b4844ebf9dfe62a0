/* SPDX-License-Identifier: ISC */
/*
 * The inode tables of a list of exports: one for each export whose files have
 * no kernel handles, made when first needed and freed with the list.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <stdlib.h>

#include "nfsd/broker/channel.h"

/* A new table, which does not lead into the exports inside this one. */
static struct inode_table *
make_table(const struct served_export *e)
{
	struct inode_border *list = calloc(e->ninner + 1, sizeof(*list));
	struct inode_table *t = NULL;
	size_t i, n = 0;

	if (list == NULL)
		return NULL;
	for (i = 0; i < e->ninner; i++) {
		if (e->inner[i]->root == -1)
			continue;
		list[n].dev = e->inner[i]->dev;
		list[n++].ino = e->inner[i]->ino;
	}
	t = inode_table_new(&e->fs, e->root, INODE_TABLE_MAX, e->crossmnt);
	if (t != NULL && !inode_table_set_borders(t, list, n)) {
		inode_table_free(t);
		t = NULL;
	}
	free(list);
	return t;
}

struct inode_table *
broker_table(struct served_export *e)
{
	struct inode_table *t = atomic_load(&e->table), *made;

	if (t != NULL)
		return t;
	made = make_table(e);
	if (made == NULL || atomic_compare_exchange_strong(&e->table, &t, made))
		return made;
	inode_table_free(made); /* another thread was faster */
	return t;
}

static void
clear(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		inode_table_free(atomic_load(&x->list[i].table));
	served_clear(x);
}

void
broker_own_tables(struct served_exports *x)
{
	x->clear = clear;
}
