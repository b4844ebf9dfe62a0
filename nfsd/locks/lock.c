/* SPDX-License-Identifier: ISC */
/*
 * LOCK, UNLOCK and TEST. The table decides between owners of NFS, then the
 * kernel decides between them and the programs of this machine.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <errno.h>
#include <string.h>

#include "nfsd/locks/parts.h"

static enum locks_stat
status(int error)
{
	switch (error) {
	case EAGAIN:
	case EACCES:
		return LOCKS_DENIED;
	case EBADF: /* the descriptor cannot write */
	case EROFS:
		return LOCKS_ROFS;
	case ESTALE:
		return LOCKS_STALE;
	default:
		return LOCKS_NOLOCKS;
	}
}

/* Nothing is in the way: the owner gets the lock if the kernel agrees. */
static enum locks_stat
take(struct locks_table *t, struct locks_file *f, const struct wanted *w,
    const struct table_ask *q)
{
	struct holder *h = holder_find(t, f, w->client, w->svid);
	size_t text = h == NULL ? q->ask->owner_len : 0;
	uint32_t more = h == NULL ? 1 : holder_grows(h, w);
	struct range *spare[2];

	if (f->nranges + more > TABLE_FILE_RANGES) {
		table_limit(t, &w->client->listed.client.from,
		    "ranges of a file");
		return LOCKS_NOLOCKS;
	}
	if (!client_may_lock(t, w->client, more, text) || !ranges_make(spare))
		return LOCKS_NOLOCKS;
	if (h == NULL)
		h = holder_make(t, f, w, q->owner, q->ask->owner_len, false);
	if (h == NULL) {
		ranges_drop(spare);
		return LOCKS_NOLOCKS;
	}
	if (file_set(t, f, w->exclusive ? KERNEL_WRITE : KERNEL_READ, w->start,
		w->end) == -1) {
		ranges_drop(spare);
		holder_end(t, h);
		return status(errno);
	}
	h->state = q->ask->state;
	holder_set(t, h, w, spare);
	ranges_drop(spare);
	return LOCKS_GRANTED;
}

static enum locks_stat
lock_file(struct locks_table *t, struct locks_file *f, const struct wanted *w,
    const struct table_ask *q)
{
	struct waiter *waiter = waiter_find(t, f, w);
	enum locks_stat stat = LOCKS_DENIED;
	bool conflict;

	if (waiter != NULL && waiter->state == WAITER_GRANTED) {
		waiter_confirm(t, waiter);
		return LOCKS_GRANTED;
	}
	waiters_settle(t, f, w);
	if (w->exclusive && !f->opened.writable)
		return LOCKS_ROFS;
	conflict = file_conflict(f, w) != NULL;
	if (!conflict)
		stat = take(t, f, w, q);
	if (stat == LOCKS_GRANTED) {
		if (waiter != NULL)
			waiter_end(t, waiter);
		if (!w->exclusive) /* it may have been exclusive before */
			waiters_wake(t, f, w->start, w->end);
	}
	if (stat != LOCKS_DENIED)
		return stat;
	if (!q->ask->block || q->ask->reclaim)
		return LOCKS_DENIED;
	if (waiter != NULL && waiter->state != WAITER_REFUSED)
		return LOCKS_BLOCKED;
	return waiter_make(t, f, w, q, !conflict);
}

enum locks_stat
table_lock(struct locks_table *t, const struct table_ask *q,
    struct table_opened *o)
{
	enum locks_stat stat;
	struct locks_file *f;
	struct wanted w;

	if (!wanted_of(q->ask, &w))
		return LOCKS_FBIG;
	stat = grace_judge(t, q);
	if (stat != LOCKS_GRANTED)
		return stat;
	w.client = client_make(t, &q->ask->client, q->name);
	if (w.client == NULL)
		return LOCKS_NOLOCKS;
	client_pin(t, w.client);
	stat = client_take(t, w.client, q, o, &f);
	if (stat == LOCKS_GRANTED) {
		file_enter(t, f);
		file_better(t, f, o);
		/* Parked since it was found: the client asks again. */
		stat = f->parked ? LOCKS_GRACE : lock_file(t, f, &w, q);
		file_leave(t, f);
	}
	client_unpin(t, w.client);
	if (stat == LOCKS_GRANTED && q->ask->reclaim)
		table_count(t, LOCKS_COUNT_RECLAIMED, 1);
	return stat;
}

/* Splits a lock in two only if there may be one more. */
static enum locks_stat
unlock_file(struct locks_table *t, struct locks_file *f, const struct wanted *w)
{
	struct holder *h;
	struct range *spare[2] = { NULL, NULL };

	waiters_settle(t, f, w);
	waiters_unlock(t, f, w);
	h = holder_find(t, f, w->client, w->svid);
	if (h == NULL)
		return LOCKS_GRANTED;
	if (holder_splits(h, w->start, w->end) &&
	    (f->nranges >= TABLE_FILE_RANGES ||
		!client_may_lock(t, w->client, 1, 0) || !ranges_make(spare)))
		return LOCKS_NOLOCKS;
	if (holder_clear(t, h, w->start, w->end, spare))
		waiters_wake(t, f, w->start, w->end);
	ranges_drop(spare);
	return LOCKS_GRANTED;
}

enum locks_stat
table_unlock(struct locks_table *t, const struct table_ask *q)
{
	struct locks_file *f = file_find(t, &q->ask->fh);
	enum locks_stat stat;
	struct wanted w;

	if (!wanted_of(q->ask, &w))
		return LOCKS_FBIG;
	w.client = client_find(t, &q->ask->client, q->name);
	if (f == NULL || w.client == NULL)
		return LOCKS_GRANTED;
	client_pin(t, w.client);
	file_enter(t, f);
	stat = unlock_file(t, f, &w);
	file_leave(t, f);
	client_unpin(t, w.client);
	return stat;
}

/* Says which lock is in the way. */
static void
describe(const struct range *r, struct locks_answer *a, uint8_t *owner)
{
	a->exclusive = r->exclusive;
	a->svid = r->holder->svid;
	a->offset = r->start;
	a->length = range_length(r->start, r->end);
	a->owner_len = r->holder->owner_len;
	memcpy(owner, r->holder->owner, r->holder->owner_len);
}

static enum locks_stat
test_file(struct locks_table *t, struct locks_file *f, const struct wanted *w,
    struct locks_answer *a, uint8_t *owner)
{
	const struct range *r = file_conflict(f, w);
	struct kernel_found found = { .start = w->start, .end = w->end };

	if (r != NULL) {
		describe(r, a, owner);
		return LOCKS_DENIED;
	}
	if (!t->hooks.get(t->hooks.arg, f, w->exclusive, &found))
		return LOCKS_GRANTED;
	a->exclusive = found.exclusive;
	a->offset = found.start;
	a->length = range_length(found.start, found.end);
	return LOCKS_DENIED;
}

/* Makes neither a client nor a file: a file without locks has its own lock. */
enum locks_stat
table_test(struct locks_table *t, const struct table_ask *q,
    struct table_opened *o, struct locks_answer *a, uint8_t *owner)
{
	struct locks_file probe = { .opened = *o, .ranges = NULL }, *f;
	enum locks_stat stat;
	struct wanted w;

	if (!wanted_of(q->ask, &w))
		return LOCKS_FBIG;
	stat = grace_judge(t, q);
	if (stat != LOCKS_GRANTED)
		return stat;
	f = file_known(t, &q->ask->fh, o);
	w.client = client_find(t, &q->ask->client, q->name);
	if (w.client != NULL)
		client_pin(t, w.client);
	if (f != NULL) {
		file_enter(t, f);
		file_better(t, f, o);
		stat = f->parked ? LOCKS_GRACE : test_file(t, f, &w, a, owner);
		file_leave(t, f);
	} else
		stat = test_file(t, &probe, &w, a, owner);
	if (w.client != NULL)
		client_unpin(t, w.client);
	return stat;
}
