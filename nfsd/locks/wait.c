/* SPDX-License-Identifier: ISC */
/*
 * CANCEL, what clients answer to call-backs, and what time brings: call-backs
 * that are repeated, foreign locks that are polled, clients that are idle.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include "nfsd/locks/parts.h"

/*
 * Some clients take LOCKS_DENIED for "it is yours", so that is said only if it
 * is.
 */
static enum locks_stat
cancel_in(struct locks_table *t, struct locks_file *f, const struct wanted *by)
{
	struct waiter *w = waiter_find(t, f, by);
	const struct holder *h;
	const struct range *r;

	if (w != NULL) {
		waiter_end(t, w);
		return LOCKS_GRANTED;
	}
	h = holder_find(t, f, by->client, by->svid);
	r = h == NULL ? NULL : range_own_first(h->own, by->start, by->end);
	return r != NULL && r->start <= by->start && r->end >= by->end &&
		r->exclusive == by->exclusive ?
	    LOCKS_DENIED :
	    LOCKS_GRANTED;
}

enum locks_stat
table_cancel(struct locks_table *t, const struct table_ask *q)
{
	struct locks_file *f = file_find(t, &q->ask->fh);
	enum locks_stat stat;
	struct wanted by;

	if (!wanted_of(q->ask, &by))
		return LOCKS_FBIG;
	by.client = client_find(t, &q->ask->client, q->name);
	if (f == NULL || by.client == NULL)
		return LOCKS_GRANTED;
	client_pin(t, by.client);
	file_enter(t, f);
	stat = cancel_in(t, f, &by);
	file_leave(t, f);
	client_unpin(t, by.client);
	return stat;
}

/* Only notes it: freeing the lock may wait for the file. */
void
table_reply(struct locks_table *t, const struct locks_reply *reply)
{
	struct waiter *w = *waiter_cookie(t, reply->cookie);

	if (w == NULL || w->state != WAITER_GRANTED || w->doomed)
		return;
	if (reply->stat != LOCKS_GRANTED) {
		w->state = WAITER_REFUSED;
		waiter_due(t, w, t->now);
	} else if (!w->file->busy && !waiter_lessens(w))
		waiter_confirm(t, w);
	else {
		w->until = UINT64_MAX; /* confirmed when the file is free */
		waiter_due(t, w, t->now);
	}
}

/* Does what is due for a waiter whose file is entered. */
static void
serve(struct locks_table *t, struct waiter *w)
{
	if (w->state == WAITER_FOREIGN)
		waiter_try(t, w);
	else if (w->until == UINT64_MAX)
		waiter_confirm(t, w);
	else if (w->state == WAITER_REFUSED)
		waiter_end(t, w);
	else if (w->state == WAITER_GRANTED && t->now >= w->until) {
		table_count(t, LOCKS_COUNT_UNANSWERED, 1);
		waiter_end(t, w);
	} else if (w->state == WAITER_GRANTED)
		waiter_call_back(t, w);
	else
		waiter_due(t, w, 0);
}

/* Collects those that are due. Returns the next time of the others. */
static uint64_t
collect(struct locks_table *t, bool slow)
{
	struct waiter *w, *next;
	uint64_t soonest = 0;
	unsigned int n = 0;

	for (w = TAILQ_FIRST(&t->timed[slow][0]); w != NULL; w = next) {
		next = TAILQ_NEXT(w, timed);
		if (w->due <= t->now && !w->file->busy && n < TABLE_TIMED) {
			TAILQ_REMOVE(&t->timed[slow][0], w, timed);
			TAILQ_INSERT_TAIL(&t->timed[slow][1], w, timed);
			w->is_due = true;
			n++;
		} else if (soonest == 0 || w->due < soonest)
			soonest = w->due > t->now ? w->due : t->now + 1;
	}
	return soonest;
}

static void
serve_due(struct locks_table *t, bool slow)
{
	struct locks_file *f;
	struct waiter *w;

	while ((w = TAILQ_FIRST(&t->timed[slow][1])) != NULL) {
		f = w->file;
		if (f->busy) {
			waiter_due(t, w, t->now + TABLE_POLL_MS);
			continue;
		}
		file_enter(t, f);
		/* Entering may have freed it. */
		if (w == TAILQ_FIRST(&t->timed[slow][1]))
			serve(t, w);
		file_leave(t, f);
	}
}

void
table_tick(struct locks_table *t, bool slow)
{
	uint64_t next;

	t->next_due[slow] = 0;
	if (t->doomed[slow])
		doomed_sweep(t, slow);
	next = collect(t, slow);
	serve_due(t, slow);
	if (!slow)
		next = sooner(next, sooner(client_sweep(t), grace_sweep(t)));
	if (t->doomed[slow])
		next = sooner(next, t->now + TABLE_POLL_MS);
	t->next_due[slow] = sooner(next, t->next_due[slow]);
}

uint64_t
table_next(const struct locks_table *t, bool slow)
{
	return t->next_due[slow];
}
