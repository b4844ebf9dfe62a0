/* SPDX-License-Identifier: ISC */
/*
 * Places: an array linked into hash chains by the 48-bit short
 * form of the identity, which both handle kinds lead to. A place knows its
 * directory by index; a directory is not forgotten while something below it is
 * remembered, so a path can always be put together.
 *
 * Chains and hand look like those of the worker's descriptor cache, and are not
 * shared with it. There an entry stays in place while it is held and is found by
 * two keys; here the array moves when it grows, and what may go depends on the
 * entries below. What is common is six lines.
 * Runs in: nfsd broker.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nfsd/broker/inode_parts.h"

uint32_t *
inode_chain(struct inode_table *t, uint64_t brief)
{
	return &t->chains[(brief ^ (brief >> 24)) & t->mask];
}

uint32_t
inode_find_id(struct inode_table *t, const struct fh_id *id)
{
	uint32_t i = *inode_chain(t, fh_fs_short(id));

	while (i != NONE && memcmp(&t->places[i].id, id, sizeof(*id)) != 0)
		i = t->places[i].next;
	return i;
}

void
inode_forget(struct inode_table *t, uint32_t i)
{
	struct place *p = &t->places[i];
	uint32_t *link = inode_chain(t, fh_fs_short(&p->id));

	while (*link != i)
		link = &t->places[*link].next;
	*link = p->next;
	t->places[p->parent].children--;
	free(p->name);
	p->name = NULL;
	p->used = false;
	t->n--;
}

/* A place to fill: a fresh one, or the first the clock's hand finds idle. */
static uint32_t
free_place(struct inode_table *t)
{
	struct place *more;
	size_t i, room;

	if (t->n == t->room && t->room < t->max) {
		room = t->room * 2 < t->max ? t->room * 2 : t->max;
		more = recallocarray(t->places, t->room, room, sizeof(*more));
		if (more != NULL) {
			t->places = more;
			t->room = room;
		}
	}
	/* Three rounds: a parent is free once its children are gone. */
	for (i = 0; i < t->room * 3; i++) {
		uint32_t at = t->hand;
		struct place *p = &t->places[at];

		t->hand = (uint32_t)((t->hand + 1) % t->room);
		if (!p->used)
			return at;
		if (t->n < t->room || at == ROOT || p->children > 0)
			continue;
		if (p->recent) {
			p->recent = false;
			continue;
		}
		inode_forget(t, at);
		return at;
	}
	return NONE;
}

/*
 * Before place i is moved below parent. If i is known to be above parent, part
 * of what is known is out of date: directories were moved meanwhile. The place
 * just below i is then forgotten, so that paths never form a circle: it stands
 * below the root with an empty name, where no file is found.
 */
static void
cut_circle(struct inode_table *t, uint32_t i, uint32_t parent)
{
	struct place *p;

	if (t->places[i].children == 0)
		return;
	for (; parent != ROOT && parent != i; parent = p->parent) {
		p = &t->places[parent];
		if (p->parent != i)
			continue;
		t->places[i].children--;
		t->places[ROOT].children++;
		p->parent = ROOT;
		p->name[0] = '\0';
		return;
	}
}

uint32_t
inode_note(struct inode_table *t, uint32_t parent, const char *name,
    const struct fh_id *id)
{
	uint32_t i = inode_find_id(t, id), *link;
	struct place *p;
	char *copy;

	if (i == ROOT || i == parent) /* no directory lies in itself */
		return i;
	if (i != NONE && t->places[i].parent == parent &&
	    strcmp(t->places[i].name, name) == 0)
		return i;
	copy = strdup(name);
	if (copy == NULL)
		return NONE;
	if (i != NONE)
		cut_circle(t, i, parent);
	t->places[parent]
	    .children++; /* keeps free_place() from taking the parent */
	if (i == NONE) {
		i = free_place(t);
		if (i == NONE) {
			t->places[parent].children--;
			free(copy);
			return NONE;
		}
		p = &t->places[i];
		p->id = *id;
		p->used = true;
		p->children = 0;
		link = inode_chain(t, fh_fs_short(id));
		p->next = *link;
		*link = i;
		t->n++;
	} else {
		p = &t->places[i];
		t->places[p->parent].children--;
		free(p->name);
	}
	p->parent = parent;
	p->name = copy;
	p->recent = true;
	return i;
}
