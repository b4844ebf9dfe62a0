/* SPDX-License-Identifier: ISC */
/*
 * The way into a file. What of it is doomed is freed first, so that the thread
 * that enters finds it as it should be.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>

#include "base/util.h"
#include "nfsd/locks/parts.h"

#define BRIEF_STEPS 50000 /* of the kernel, some 6 ns each */

void
share_end(struct locks_table *t, struct share *s)
{
	TAILQ_REMOVE(&s->file->shares, s, of_file);
	TAILQ_REMOVE(&s->client->shares, s, of_client);
	s->file->nshares--;
	s->client->text -= s->owner_len;
	client_add_locks(t, s->client, -1);
	table_count(t, LOCKS_COUNT_SHARES, -1);
	free(s);
}

/* Finds a range whose holder is doomed. */
static bool
find_doomed(void *arg, struct range *r)
{
	if (!r->holder->doomed)
		return true;
	*(struct holder **)arg = r->holder;
	return false;
}

static void
sweep_file(struct locks_table *t, struct locks_file *f)
{
	struct holder *h;
	struct waiter *w, *next_w;
	struct share *s, *next_s;

	f->doomed = false;
	for (w = TAILQ_FIRST(&f->waiters); w != NULL; w = next_w) {
		next_w = TAILQ_NEXT(w, of_file);
		if (w->doomed)
			waiter_end(t, w);
	}
	for (s = TAILQ_FIRST(&f->shares); s != NULL; s = next_s) {
		next_s = TAILQ_NEXT(s, of_file);
		if (s->doomed)
			share_end(t, s);
	}
	do {
		h = NULL;
		(void)range_visit(f->ranges, 0, RANGE_LAST, false, find_doomed,
		    &h);
		if (h != NULL)
			holder_release(t, h);
	} while (h != NULL);
	waiters_wake(t, f, 0, RANGE_LAST);
}

void
file_enter(struct locks_table *t, struct locks_file *f)
{
	f->pins++;
	while (f->busy)
		t->hooks.wait(t->hooks.arg);
	f->pins--;
	f->busy = true;
	if (f->doomed)
		sweep_file(t, f);
}

static bool
is_saved(struct locks_table *t, const struct table_ask *q)
{
	const struct table_client *c = client_find(t, &q->ask->client, q->name);

	return c != NULL && (c->saved || !q->ask->monitored);
}

static bool
count(void *arg, struct range *r UNUSED)
{
	uint64_t *n = arg;

	return --*n > 0;
}

/*
 * nlm reads no other call before a brief answer. The kernel searches its list of
 * ranges for each that ends, and for each waiter that gets one.
 */
static bool
is_long(const struct locks_file *f, const struct table_ask *q)
{
	uint64_t most = BRIEF_STEPS / (f->nranges + 1u), left = most;
	struct wanted w;

	if (f->nwaiters >= most)
		return true;
	return wanted_of(q->ask, &w) &&
	    !range_visit(f->ranges, w.start, w.end, false, count, &left);
}

bool
table_is_ready(struct locks_table *t, const struct table_ask *q, bool file)
{
	const struct locks_file *f = file_find(t, &q->ask->fh);

	if (f != NULL &&
	    (f->busy || f->doomed || f->opened.slow || is_long(f, q)))
		return false;
	return !file || (f != NULL && t->grace_until == 0 && is_saved(t, q));
}
