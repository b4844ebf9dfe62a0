/* SPDX-License-Identifier: ISC */
/*
 * Locks that wait. When part of a file is unlocked, the first waiter that fits
 * gets its lock at once, under a holder of its own, and its client is called
 * back. Until the client confirms, the lock can be taken back without a change
 * to what its owner had before. A lock of a program of this machine tells
 * nothing when it ends, so waiters for such a lock try again and again.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

#define CALL_GAP_MS  1000 /* to the second call-back; then 2, 4, 8 s */
#define CALL_GAP_MAX 8000

struct waiter **
waiter_cookie(struct locks_table *t, const uint8_t cookie[LOCKS_COOKIE])
{
	struct waiter **at;
	uint64_t h;

	memcpy(&h, cookie, sizeof(h));
	at = &t->cookies[h % WAITER_BUCKETS];
	while (*at != NULL && memcmp((*at)->cookie, cookie, LOCKS_COOKIE) != 0)
		at = &(*at)->next_cookie;
	return at;
}

void
waiter_due(struct locks_table *t, struct waiter *w, uint64_t due)
{
	bool slow = w->file->opened.slow;

	if (w->due != 0)
		TAILQ_REMOVE(&t->timed[slow][w->is_due], w, timed);
	w->due = due;
	w->is_due = false;
	if (due == 0)
		return;
	TAILQ_INSERT_TAIL(&t->timed[slow][0], w, timed);
	t->next_due[slow] = sooner(t->next_due[slow], due);
}

static bool
is_of(const struct waiter *w, const struct wanted *by)
{
	return w->client == by->client && w->svid == by->svid;
}

struct waiter *
waiter_find(struct locks_table *t, const struct locks_file *f,
    const struct wanted *by)
{
	struct waiter *w = *waiters_of(t, by->client, by->svid);

	while (w != NULL &&
	    (w->file != f || !is_of(w, by) || w->start != by->start ||
		w->end != by->end || w->exclusive != by->exclusive))
		w = w->next_owner;
	return w;
}

static struct waiter *
new_waiter(struct locks_table *t, struct locks_file *f, const struct wanted *by,
    const struct table_ask *q)
{
	struct waiter *w = calloc(1, sizeof(*w) + q->ask->owner_len);

	if (w == NULL)
		return table_limit(t, &by->client->listed.client.from,
		    "memory");
	w->file = f;
	w->client = by->client;
	w->svid = by->svid;
	w->start = by->start;
	w->end = by->end;
	w->exclusive = by->exclusive;
	w->offset = q->ask->offset;
	w->length = q->ask->length;
	w->fh = q->ask->fh;
	w->nsm_state = q->ask->state;
	w->since = t->now;
	w->owner_len = (uint16_t)q->ask->owner_len;
	memcpy(w->owner, q->owner, q->ask->owner_len);
	return w;
}

static void
wait_foreign(struct locks_table *t, struct waiter *w)
{
	if (w->state != WAITER_FOREIGN || w->gap == 0)
		w->gap = TABLE_POLL_MS;
	else if (w->gap < TABLE_POLL_MAX_MS / 2)
		w->gap *= 2;
	else
		w->gap = TABLE_POLL_MAX_MS;
	w->state = WAITER_FOREIGN;
	waiter_due(t, w, t->now + w->gap);
}

enum locks_stat
waiter_make(struct locks_table *t, struct locks_file *f,
    const struct wanted *by, const struct table_ask *q, bool foreign)
{
	struct waiter *w, **at = waiters_of(t, by->client, by->svid);

	if (deadlock_closes(t, f, by)) {
		table_count(t, LOCKS_COUNT_DEADLOCKS, 1);
		return LOCKS_DEADLOCK;
	}
	if (f->nwaiters >= TABLE_FILE_WAITERS) {
		table_limit(t, &by->client->listed.client.from,
		    "waiting locks of a file");
		return LOCKS_NOLOCKS;
	}
	if (!client_may_wait(t, by->client, q->ask->owner_len) ||
	    (w = new_waiter(t, f, by, q)) == NULL)
		return LOCKS_NOLOCKS;
	while (*at != NULL)
		at = &(*at)->next_owner;
	*at = w;
	TAILQ_INSERT_TAIL(&f->waiters, w, of_file);
	TAILQ_INSERT_TAIL(&by->client->waiters, w, of_client);
	f->nwaiters++;
	by->client->text += w->owner_len;
	client_add_waiters(t, by->client, 1);
	if (foreign)
		wait_foreign(t, w);
	return LOCKS_BLOCKED;
}

/* Takes it out of everything but its holder. */
static void
unlink_waiter(struct locks_table *t, struct waiter *w)
{
	struct waiter **at = waiters_of(t, w->client, w->svid);

	while (*at != w)
		at = &(*at)->next_owner;
	*at = w->next_owner;
	if (w->holder != NULL) {
		at = waiter_cookie(t, w->cookie);
		*at = w->next_cookie;
	}
	waiter_due(t, w, 0);
	TAILQ_REMOVE(&w->file->waiters, w, of_file);
	TAILQ_REMOVE(&w->client->waiters, w, of_client);
	w->file->nwaiters--;
	w->client->text -= w->owner_len;
	client_add_waiters(t, w->client, -1);
}

void
waiter_end(struct locks_table *t, struct waiter *w)
{
	struct locks_file *f = w->file;
	uint64_t start = w->start, end = w->end;
	struct holder *h = w->holder;

	unlink_waiter(t, w);
	ranges_drop(w->spare);
	free(w);
	if (h == NULL)
		return;
	holder_release(t, h);
	waiters_wake(t, f, start, end);
}

static bool
stop(void *arg, struct range *r)
{
	*(struct range **)arg = r;
	return false;
}

bool
waiter_lessens(const struct waiter *w)
{
	struct range *write = NULL;

	if (!w->exclusive)
		(void)range_visit(w->file->ranges, w->start, w->end, true, stop,
		    &write);
	return write != NULL;
}

/*
 * Its range becomes one of the owner's others. The kernel has it already, but
 * for bytes that the owner had exclusively until now.
 */
void
waiter_confirm(struct locks_table *t, struct waiter *w)
{
	const struct wanted by = { w->client, w->svid, w->start, w->end,
		w->exclusive };
	struct locks_file *f = w->file;
	bool lessens = waiter_lessens(w);
	struct holder *h;

	client_pin(t, w->client);
	h = holder_find(t, w->file, w->client, w->svid);
	if (h == NULL)
		h = holder_make(t, w->file, &by, w->owner, w->owner_len, false);
	if (h != NULL) {
		h->state = w->nsm_state;
		holder_set(t, h, &by, w->spare);
		holder_forget(t, w->holder);
		unlink_waiter(t, w);
		ranges_drop(w->spare);
	} else /* no memory: it stays as it is, and needs no answer */
		waiter_due(t, w, 0);
	if (h != NULL)
		free(w);
	if (h != NULL && lessens) {
		file_sync(t, f, by.start, by.end, true);
		waiters_wake(t, f, by.start, by.end);
	}
	client_unpin(t, by.client);
}

void
waiter_call_back(struct locks_table *t, struct waiter *w)
{
	uint8_t buf[LOCKS_GRANT_MAX];
	struct locks_grant g = { .tries = w->tries++,
		.client = w->client->listed.client,
		.fh = w->fh,
		.owner_len = w->owner_len,
		.svid = w->svid,
		.offset = w->offset,
		.length = w->length,
		.exclusive = w->exclusive };
	size_t len = sizeof(g);

	memcpy(g.cookie, w->cookie, sizeof(g.cookie));
	memcpy(buf, &g, sizeof(g));
	memcpy(buf + len, w->client->name, g.client.name_len);
	len += g.client.name_len;
	memcpy(buf + len, w->owner, w->owner_len);
	len += w->owner_len;
	w->gap = w->tries == 1 ? CALL_GAP_MS : 2 * w->gap;
	waiter_due(t, w,
	    w->gap > CALL_GAP_MAX || t->now + w->gap > w->until ?
		w->until :
		t->now + w->gap);
	if (t->hooks.grant != NULL)
		t->hooks.grant(t->hooks.arg, buf, len);
}

/* Makes the holder of a lock that is granted. False: there is no memory. */
static bool
hold(struct locks_table *t, struct waiter *w, const struct wanted *by)
{
	struct range *spare[2];

	if (!ranges_make(spare))
		return false;
	if (!ranges_make(w->spare) ||
	    (w->holder = holder_make(t, w->file, by, w->owner, w->owner_len,
		 true)) == NULL) {
		ranges_drop(spare);
		ranges_drop(w->spare);
		return false;
	}
	w->holder->state = w->nsm_state;
	holder_set(t, w->holder, by, spare);
	ranges_drop(spare);
	return true;
}

/* A shared lock is added to the kernel's where none of ours is exclusive. */
struct addition {
	struct locks_table *t;
	struct waiter *w;
	uint64_t at; /* done before it */
	int result;
};

static void
add_before(struct addition *a, uint64_t until)
{
	if (a->at < until && a->result == 0)
		a->result =
		    file_set(a->t, a->w->file, KERNEL_READ, a->at, until - 1);
}

static bool
add_around(void *arg, struct range *r)
{
	struct addition *a = arg;

	add_before(a, r->start);
	if (r->end >= a->at)
		a->at = r->end + 1;
	return a->result == 0;
}

/*
 * The kernel's lock for a waiter, on top of what its owner has. Returns 0, or -1
 * with nothing changed.
 */
static int
add_to_kernel(struct locks_table *t, struct waiter *w)
{
	struct addition a = { .t = t, .w = w, .at = w->start };

	if (w->exclusive)
		return file_set(t, w->file, KERNEL_WRITE, w->start, w->end);
	(void)range_visit(w->file->ranges, w->start, w->end, true, add_around,
	    &a);
	add_before(&a, w->end + 1);
	if (a.result == -1 && a.at > w->start)
		file_sync(t, w->file, w->start, a.at - 1, true);
	return a.result;
}

void
waiter_try(struct locks_table *t, struct waiter *w)
{
	const struct wanted by = { w->client, w->svid, w->start, w->end,
		w->exclusive };
	struct waiter **at;
	uint64_t cookie;

	if (file_conflict(w->file, &by) != NULL) {
		w->state = WAITER_WAITS;
		w->gap = 0;
		waiter_due(t, w, 0);
		return;
	}
	if (add_to_kernel(t, w) == -1) {
		wait_foreign(t, w);
		return;
	}
	if (!hold(t, w, &by)) {
		file_sync(t, w->file, w->start, w->end, true);
		wait_foreign(t, w);
		return;
	}
	cookie = table_random(t);
	memcpy(w->cookie, &cookie, sizeof(w->cookie));
	at = waiter_cookie(t, w->cookie);
	w->next_cookie = NULL;
	*at = w;
	w->state = WAITER_GRANTED;
	w->tries = 0;
	w->until = t->now + TABLE_ANSWER_MS;
	table_count(t, LOCKS_COUNT_GRANTS, 1);
	waiter_call_back(t, w);
}

static bool
is_woken(const struct waiter *w, uint64_t start, uint64_t end)
{
	return w->holder == NULL && !w->doomed && w->start <= end &&
	    w->end >= start;
}

/* An owner's other waiters: its own locks are in the way of none of them. */
static void
wake_others_of(struct locks_table *t, const struct waiter *by, uint64_t start,
    uint64_t end)
{
	struct waiter *w = *waiters_of(t, by->client, by->svid);

	for (; w != NULL; w = w->next_owner)
		if (w->file == by->file && w->client == by->client &&
		    w->svid == by->svid && is_woken(w, start, end))
			waiter_try(t, w);
}

/* After an exclusive lock of the whole range all others need not be tried. */
void
waiters_wake(struct locks_table *t, struct locks_file *f, uint64_t start,
    uint64_t end)
{
	struct waiter *w;

	TAILQ_FOREACH (w, &f->waiters, of_file) {
		if (!is_woken(w, start, end))
			continue;
		waiter_try(t, w);
		if (w->holder != NULL && w->exclusive && w->start <= start &&
		    w->end >= end) {
			wake_others_of(t, w, start, end);
			return;
		}
	}
}

void
waiters_settle(struct locks_table *t, struct locks_file *f,
    const struct wanted *by)
{
	struct waiter *w = *waiters_of(t, by->client, by->svid), *next;

	for (; w != NULL; w = next) {
		next = w->next_owner;
		if (w->file == f && is_of(w, by) && w->holder != NULL &&
		    w->start <= by->end && w->end >= by->start)
			waiter_confirm(t, w);
	}
}

void
waiters_unlock(struct locks_table *t, struct locks_file *f,
    const struct wanted *by)
{
	struct waiter *w = *waiters_of(t, by->client, by->svid), *next;

	for (; w != NULL; w = next) {
		next = w->next_owner;
		if (w->file == f && is_of(w, by) && w->holder == NULL &&
		    w->start == by->start && w->end == by->end)
			waiter_end(t, w);
	}
}
