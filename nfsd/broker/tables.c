/* SPDX-License-Identifier: ISC */
/*
 * The inode tables of a list of exports: one for each export whose files have
 * no kernel handles, made when first needed and freed with the list.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <linux/capability.h>
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

/*
 * Other machines make handles of its files, or are meant to: a client may come
 * from them with a handle that was never seen here.
 */
static bool
is_shared(const struct served_export *e)
{
	return e->root != -1 &&
	    (e->fs.naming == FH_BY_INODE || e->fs.naming == FH_BY_NAME) &&
	    (!e->local_metadata || e->conf->handles == FH_BY_INODE);
}

void
broker_prepare(struct broker *b)
{
	struct served_exports *x = active_use(&b->active);
	struct inode_table *t;
	size_t i;

	/* Without either right it sees what every user may see. */
	if (cred_right(CAP_DAC_READ_SEARCH, true) == -1)
		(void)cred_right(CAP_DAC_OVERRIDE, true);
	for (i = 0; x != NULL && i < x->n; i++) {
		t = is_shared(&x->list[i]) ? broker_table(&x->list[i]) : NULL;
		if (t != NULL)
			inode_table_prepare(t);
	}
	active_done(x);
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
