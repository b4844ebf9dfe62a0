/* SPDX-License-Identifier: ISC */
/*
 * Would an owner that begins to wait wait for itself? Locks of a descriptor, as
 * the kernel has them here, detect that neither. The search goes from each owner
 * in the way to the locks that it waits for. It is bounded: a client that builds
 * a huge graph gets no answer from it, and waits until it is interrupted.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include "nfsd/locks/parts.h"

#define STEPS_MAX 10000 /* locks looked at; a millisecond at most */

struct chase {
	struct locks_table *t;
	const struct wanted *from; /* the owner that begins to wait */
	struct waiter *first, *last; /* still to be followed */
	unsigned int steps;
	bool found;
};

/* An owner is in the way: whatever it waits for is followed too. */
static void
follow(struct chase *c, const struct holder *h)
{
	struct waiter *w = *waiters_of(c->t, h->client, h->svid);

	for (; w != NULL; w = w->next_owner) {
		c->steps++;
		if (!is_owner(h, w->client, w->svid) || w->holder != NULL ||
		    w->seen == c->t->searches)
			continue;
		w->seen = c->t->searches;
		w->next_search = NULL;
		if (c->last != NULL)
			c->last->next_search = w;
		else
			c->first = w;
		c->last = w;
	}
}

struct step {
	struct chase *chase;
	const struct table_client *client; /* the owner that waits */
	int32_t svid;
};

static bool
look_at(void *arg, struct range *r)
{
	const struct step *s = arg;
	struct chase *c = s->chase;

	if (is_owner(r->holder, s->client, s->svid))
		return true;
	if (is_owner(r->holder, c->from->client, c->from->svid)) {
		c->found = true;
		return false;
	}
	follow(c, r->holder);
	return ++c->steps < STEPS_MAX;
}

bool
deadlock_closes(struct locks_table *t, const struct locks_file *f,
    const struct wanted *from)
{
	struct chase c = { .t = t, .from = from };
	struct step s = { &c, from->client, from->svid };
	const struct waiter *w;

	t->searches++;
	(void)range_visit(f->ranges, from->start, from->end, !from->exclusive,
	    look_at, &s);
	while ((w = c.first) != NULL && !c.found && c.steps < STEPS_MAX) {
		c.first = w->next_search;
		if (c.first == NULL)
			c.last = NULL;
		s.client = w->client;
		s.svid = w->svid;
		(void)range_visit(w->file->ranges, w->start, w->end,
		    !w->exclusive, look_at, &s);
	}
	return c.found;
}
