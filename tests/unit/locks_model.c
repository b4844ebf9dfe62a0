/* SPDX-License-Identifier: ISC */
/*
 * See locks_model.h.
 * Runs in: tests.
 */
#include <string.h>

#include "locks_model.h"

static bool
covers(const struct model_lock *l, unsigned int byte)
{
	return byte >= l->start && byte <= l->end;
}

static bool
overlap(const struct model_lock *a, const struct model_lock *b)
{
	return a->file == b->file && a->start <= b->end && a->end >= b->start;
}

static bool
same(const struct model_lock *a, const struct model_lock *b)
{
	return a->file == b->file && a->owner == b->owner &&
	    a->start == b->start && a->end == b->end && a->kind == b->kind;
}

/* Do two kinds exclude each other? */
static bool
clash(unsigned int a, unsigned int b)
{
	return a != MODEL_NONE && b != MODEL_NONE &&
	    (a == MODEL_WRITE || b == MODEL_WRITE);
}

/* Does this owner hold something in the way of the lock? */
static bool
is_blocked_by(const struct model *m, const struct model_lock *l,
    unsigned int owner)
{
	const struct model_waiter *w;
	unsigned int b;
	size_t i;

	if (owner == l->owner)
		return false;
	for (b = l->start; b <= l->end; b++)
		if (clash(m->held[l->file][owner][b], l->kind))
			return true;
	for (i = 0; i < m->nwaiters; i++) {
		w = &m->waiters[i];
		if (w->granted && w->lock.owner == owner &&
		    overlap(&w->lock, l) && clash(w->lock.kind, l->kind))
			return true;
	}
	return false;
}

unsigned int
model_blocker(const struct model *m, const struct model_lock *l)
{
	unsigned int o = 0;

	while (o < MODEL_OWNERS && !is_blocked_by(m, l, o))
		o++;
	return o;
}

bool
model_conflicts(const struct model *m, const struct model_lock *l)
{
	return model_blocker(m, l) < MODEL_OWNERS;
}

bool
model_is_foreign(const struct model *m, const struct model_lock *l)
{
	unsigned int b;

	for (b = l->start; b <= l->end; b++)
		if (clash(m->foreign[l->file][b], l->kind))
			return true;
	return false;
}

static struct model_waiter *
find(struct model *m, const struct model_lock *l)
{
	size_t i;

	for (i = 0; i < m->nwaiters; i++)
		if (same(&m->waiters[i].lock, l))
			return &m->waiters[i];
	return NULL;
}

static void
drop(struct model *m, struct model_waiter *w)
{
	size_t i = (size_t)(w - m->waiters);

	m->nwaiters--;
	memmove(w, w + 1, (m->nwaiters - i) * sizeof(*w));
}

static void
set(struct model *m, const struct model_lock *l)
{
	memset(&m->held[l->file][l->owner][l->start], (int)l->kind,
	    l->end - l->start + 1);
}

/* Does from, or an owner that it waits for, wait for the owner `for_`? */
static bool
waits_for(const struct model *m, unsigned int from, unsigned int for_,
    bool seen[MODEL_OWNERS])
{
	unsigned int o;
	size_t i;

	seen[from] = true;
	for (i = 0; i < m->nwaiters; i++) {
		if (m->waiters[i].granted || m->waiters[i].lock.owner != from)
			continue;
		for (o = 0; o < MODEL_OWNERS; o++) {
			if (!is_blocked_by(m, &m->waiters[i].lock, o))
				continue;
			if (o == for_ ||
			    (!seen[o] && waits_for(m, o, for_, seen)))
				return true;
		}
	}
	return false;
}

static bool
closes_circle(const struct model *m, const struct model_lock *l)
{
	bool seen[MODEL_OWNERS] = { false };
	unsigned int o;

	for (o = 0; o < MODEL_OWNERS; o++)
		if (is_blocked_by(m, l, o) && !seen[o] &&
		    waits_for(m, o, l->owner, seen))
			return true;
	return false;
}

/* A granted lock is its owner's; bytes that were exclusive may be shared. */
static void
confirm(struct model *m, struct model_waiter *w)
{
	const struct model_lock l = w->lock;

	drop(m, w);
	set(m, &l);
	if (l.kind == MODEL_READ)
		model_wake(m, l.file, l.start, l.end);
}

/* An owner goes on: what it was granted there is confirmed. */
static void
settle(struct model *m, const struct model_lock *l)
{
	size_t i = 0;

	while (i < m->nwaiters)
		if (m->waiters[i].granted &&
		    m->waiters[i].lock.owner == l->owner &&
		    overlap(&m->waiters[i].lock, l))
			confirm(m, &m->waiters[i]);
		else
			i++;
}

enum model_answer
model_lock(struct model *m, const struct model_lock *l, bool block)
{
	struct model_waiter *w = find(m, l);

	if (w != NULL && w->granted) {
		confirm(m, w);
		return MODEL_GRANTED;
	}
	settle(m, l);
	w = find(m, l);
	if (!model_conflicts(m, l) && !model_is_foreign(m, l)) {
		if (w != NULL)
			drop(m, w);
		set(m, l);
		if (l->kind == MODEL_READ)
			model_wake(m, l->file, l->start, l->end);
		return MODEL_GRANTED;
	}
	if (!block)
		return MODEL_DENIED;
	if (w != NULL)
		return MODEL_BLOCKED;
	if (closes_circle(m, l))
		return MODEL_DEADLOCK;
	m->waiters[m->nwaiters++] = (struct model_waiter){ .lock = *l };
	return MODEL_BLOCKED;
}

void
model_wake(struct model *m, unsigned int file, unsigned int start,
    unsigned int end)
{
	const struct model_lock freed = {
		.file = file, .start = start, .end = end
	};
	struct model_waiter *w;
	size_t i;

	for (i = 0; i < m->nwaiters; i++) {
		w = &m->waiters[i];
		if (w->granted || !overlap(&w->lock, &freed) ||
		    model_conflicts(m, &w->lock) ||
		    model_is_foreign(m, &w->lock))
			continue;
		w->granted = true;
		w->granted_at = m->now;
		m->grants[m->ngrants++] = w->lock;
	}
}

void
model_unlock(struct model *m, const struct model_lock *l)
{
	struct model_waiter *w;
	bool had = false;
	unsigned int b;
	size_t i = 0;

	settle(m, l);
	while (i < m->nwaiters) {
		w = &m->waiters[i];
		if (w->lock.owner == l->owner && !w->granted &&
		    w->lock.file == l->file && w->lock.start == l->start &&
		    w->lock.end == l->end)
			drop(m, w);
		else
			i++;
	}
	for (b = l->start; b <= l->end; b++) {
		had = had || m->held[l->file][l->owner][b] != MODEL_NONE;
		m->held[l->file][l->owner][b] = MODEL_NONE;
	}
	if (had)
		model_wake(m, l->file, l->start, l->end);
}

enum model_answer
model_cancel(struct model *m, const struct model_lock *l)
{
	struct model_waiter *w = find(m, l);
	bool granted;
	unsigned int b;

	if (w != NULL) {
		granted = w->granted;
		drop(m, w);
		if (granted)
			model_wake(m, l->file, l->start, l->end);
		return MODEL_GRANTED;
	}
	for (b = l->start; b <= l->end; b++)
		if (m->held[l->file][l->owner][b] != l->kind)
			return MODEL_GRANTED;
	return MODEL_DENIED;
}

bool
model_reply(struct model *m, const struct model_lock *l, bool wanted)
{
	struct model_waiter *w = find(m, l);

	if (w == NULL || !w->granted)
		return false;
	drop(m, w);
	if (wanted)
		set(m, l);
	return true;
}

void
model_forget(struct model *m, unsigned int owner)
{
	unsigned int f;
	size_t i = 0;

	while (i < m->nwaiters)
		if (m->waiters[i].lock.owner == owner)
			drop(m, &m->waiters[i]);
		else
			i++;
	for (f = 0; f < MODEL_FILES; f++)
		memset(m->held[f][owner], MODEL_NONE, MODEL_BYTES);
}

enum model_kind
model_union(const struct model *m, unsigned int file, unsigned int byte)
{
	unsigned int kind = MODEL_NONE, o;
	const struct model_lock *l;
	size_t i;

	for (o = 0; o < MODEL_OWNERS; o++)
		if (m->held[file][o][byte] > kind)
			kind = m->held[file][o][byte];
	for (i = 0; i < m->nwaiters; i++) {
		l = &m->waiters[i].lock;
		if (m->waiters[i].granted && l->file == file &&
		    covers(l, byte) && l->kind > kind)
			kind = l->kind;
	}
	return (enum model_kind)kind;
}

bool
model_is_run(const struct model *m, const struct model_lock *l)
{
	const uint8_t *held = m->held[l->file][l->owner];
	unsigned int b;
	size_t i;

	for (i = 0; i < m->nwaiters; i++)
		if (m->waiters[i].granted && same(&m->waiters[i].lock, l))
			return true;
	for (b = l->start; b <= l->end; b++)
		if (held[b] != l->kind)
			return false;
	return (l->start == 0 || held[l->start - 1] != l->kind) &&
	    (l->end + 1 == MODEL_BYTES || held[l->end + 1] != l->kind);
}
