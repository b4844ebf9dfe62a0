/* SPDX-License-Identifier: ISC */
/*
 * The inode tables of a list of exports: one for each export whose files have
 * no kernel handles, made when first needed and freed with the list.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include "nfsd/broker/channel.h"

struct inode_table *
broker_table(struct served_export *e)
{
	struct inode_table *t = atomic_load(&e->table), *made;

	if (t != NULL)
		return t;
	made = inode_table_new(&e->fs, e->root, INODE_TABLE_MAX, e->crossmnt);
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
