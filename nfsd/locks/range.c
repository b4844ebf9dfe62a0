/* SPDX-License-Identifier: ISC */
/*
 * Two treaps in one node: see range.h. The functions recurse as deep as a tree
 * is, which is some 40 levels for the most ranges that a file may have.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stddef.h>

#include "nfsd/locks/range.h"

/* Ascending by start; readers may begin at the same byte. */
static bool
is_before(const struct range *a, const struct range *b)
{
	return a->start != b->start ? a->start < b->start :
				      (uintptr_t)a < (uintptr_t)b;
}

/* After a change of its children in RANGE_FILE. */
static void
update(struct range *r)
{
	const struct range *kid;
	size_t i;

	r->last = r->end;
	r->write_until = r->exclusive ? r->end + 1 : 0;
	for (i = 0; i < 2; i++) {
		kid = r->kid[RANGE_FILE][i];
		if (kid == NULL)
			continue;
		if (kid->last > r->last)
			r->last = kid->last;
		if (kid->write_until > r->write_until)
			r->write_until = kid->write_until;
	}
}

static struct range *
merge(enum range_tree t, struct range *a, struct range *b)
{
	struct range *top;

	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	top = a->rank >= b->rank ? a : b;
	if (top == a)
		a->kid[t][1] = merge(t, a->kid[t][1], b);
	else
		b->kid[t][0] = merge(t, a, b->kid[t][0]);
	if (t == RANGE_FILE)
		update(top);
	return top;
}

/* Divides a tree into what is before r and what is not. */
static void
split(enum range_tree t, struct range *tree, const struct range *r,
    struct range **before, struct range **after)
{
	if (tree == NULL) {
		*before = *after = NULL;
		return;
	}
	if (is_before(tree, r)) {
		split(t, tree->kid[t][1], r, &tree->kid[t][1], after);
		*before = tree;
	} else {
		split(t, tree->kid[t][0], r, before, &tree->kid[t][0]);
		*after = tree;
	}
	if (t == RANGE_FILE)
		update(tree);
}

static void
insert(enum range_tree t, struct range **tree, struct range *r)
{
	struct range *before, *after;

	split(t, *tree, r, &before, &after);
	*tree = merge(t, merge(t, before, r), after);
}

static void
take_out(enum range_tree t, struct range **tree, struct range *r)
{
	if (*tree == r) {
		*tree = merge(t, r->kid[t][0], r->kid[t][1]);
		return;
	}
	take_out(t, &(*tree)->kid[t][is_before(*tree, r)], r);
	if (t == RANGE_FILE)
		update(*tree);
}

void
range_insert(struct range **file, struct range **own, struct range *r)
{
	enum range_tree t;

	for (t = RANGE_FILE; t < RANGE_TREES; t++)
		r->kid[t][0] = r->kid[t][1] = NULL;
	update(r);
	insert(RANGE_FILE, file, r);
	insert(RANGE_OWN, own, r);
}

void
range_remove(struct range **file, struct range **own, struct range *r)
{
	take_out(RANGE_FILE, file, r);
	take_out(RANGE_OWN, own, r);
}

/* Ranges of one holder do not overlap, so those before a range end before it. */
struct range *
range_own_first(struct range *own, uint64_t start, uint64_t end)
{
	struct range *found = NULL;

	while (own != NULL) {
		if (own->end < start) {
			own = own->kid[RANGE_OWN][1];
			continue;
		}
		found = own;
		own = own->kid[RANGE_OWN][0];
	}
	return found != NULL && found->start <= end ? found : NULL;
}

bool
range_visit(struct range *file, uint64_t start, uint64_t end, bool only_writes,
    bool (*visit)(void *arg, struct range *), void *arg)
{
	struct range *const *kid;

	if (file == NULL || file->last < start ||
	    (only_writes && file->write_until <= start))
		return true;
	kid = file->kid[RANGE_FILE];
	if (!range_visit(kid[0], start, end, only_writes, visit, arg))
		return false;
	if (file->start > end)
		return true;
	if (range_overlaps(file, start, end) &&
	    (!only_writes || file->exclusive) && !visit(arg, file))
		return false;
	return range_visit(kid[1], start, end, only_writes, visit, arg);
}
