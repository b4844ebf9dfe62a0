/* SPDX-License-Identifier: ISC */
/*
 * The files of the table. A file is found by each of its handles, and by device
 * and inode number, which cannot be used again while its descriptor is open.
 * Where the inode number does not identify a file, the handle does; two handles
 * of one file then meet in the kernel. So it is with a parked file, which has no
 * descriptor.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

static struct fh
normal(const struct fh *fh)
{
	struct fh n = *fh;

	fh_normalize(&n);
	return n;
}

static struct table_handle **
handle_place(struct locks_table *t, const struct fh *fh)
{
	uint64_t h = hash_bytes(&t->key, fh->bytes, sizeof(fh->bytes));
	struct table_handle **at = &t->handles[h % FILE_BUCKETS];

	while (*at != NULL && memcmp(&(*at)->fh, fh, sizeof(*fh)) != 0)
		at = &(*at)->next;
	return at;
}

struct locks_file *
file_find(struct locks_table *t, const struct fh *fh)
{
	struct fh n = normal(fh);
	const struct table_handle *h = *handle_place(t, &n);

	return h == NULL ? NULL : h->file;
}

static struct locks_file **
bucket(struct locks_table *t, const struct table_opened *o)
{
	return &t->files[hash_mix((uint64_t)o->ino ^
			     hash_mix((uint64_t)o->dev)) %
	    FILE_BUCKETS];
}

/* The file that was opened, if the table has it by another handle. */
static struct locks_file *
find_opened(struct locks_table *t, const struct table_opened *o)
{
	struct locks_file *f = *bucket(t, o);

	while (f != NULL &&
	    (f->parked || o->ambiguous || f->opened.ambiguous ||
		f->opened.dev != o->dev || f->opened.ino != o->ino))
		f = f->next;
	return f;
}

/* A parked file may come back under another device number. */
static bool
is_same(const struct locks_file *f, const struct table_opened *o)
{
	return f->parked ||
	    (f->opened.dev == o->dev && f->opened.ino == o->ino);
}

struct locks_file *
file_known(struct locks_table *t, const struct fh *fh,
    const struct table_opened *o)
{
	struct locks_file *f = file_find(t, fh);

	if (f == NULL)
		return find_opened(t, o);
	return is_same(f, o) ? f : NULL;
}

static void
insert(struct locks_table *t, struct locks_file *f)
{
	struct locks_file **at = bucket(t, &f->opened);

	f->next = *at;
	*at = f;
}

static void
take_out(struct locks_table *t, struct locks_file *f)
{
	struct locks_file **at = bucket(t, &f->opened);

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

static void
close_file(struct locks_table *t, struct locks_file *f)
{
	if (!f->parked && t->hooks.close != NULL)
		t->hooks.close(t->hooks.arg, f->opened.fd);
}

static struct locks_file *
make(struct locks_table *t, struct table_host *host, struct table_opened *o)
{
	struct locks_file *f;

	if (t->nfiles >= t->files_max || host->files >= t->files_max / 2)
		return table_limit(t, &host->addr, "locked files");
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return table_limit(t, &host->addr, "memory");
	f->opened = *o;
	o->fd = -1;
	f->host = host;
	host->files++;
	t->nfiles++;
	TAILQ_INIT(&f->waiters);
	TAILQ_INIT(&f->shares);
	insert(t, f);
	return f;
}

static bool
is_empty(const struct locks_file *f)
{
	return f->ranges == NULL && f->nwaiters == 0 && f->nshares == 0 &&
	    f->pins == 0;
}

static void
drop_handles(struct locks_table *t, struct locks_file *f)
{
	struct table_handle *h, **at;

	while ((h = f->handles) != NULL) {
		f->handles = h->other;
		at = handle_place(t, &h->fh);
		*at = h->next;
		free(h);
	}
}

static void
end(struct locks_table *t, struct locks_file *f)
{
	take_out(t, f);
	drop_handles(t, f);
	f->host->files--;
	t->nfiles--;
	close_file(t, f);
	free(f);
}

static bool
add_handle(struct locks_table *t, struct locks_file *f, const struct fh *fh)
{
	struct table_handle **at = handle_place(t, fh), *h;

	if (*at != NULL)
		return (*at)->file == f;
	if (f->nhandles >= TABLE_FILE_HANDLES ||
	    (h = calloc(1, sizeof(*h))) == NULL) {
		table_limit(t, &f->host->addr, "handles of a file");
		return false;
	}
	h->fh = *fh;
	h->file = f;
	h->other = f->handles;
	f->handles = h;
	f->nhandles++;
	*at = h;
	return true;
}

/*
 * A handle may lead to another file than before, where it encodes a path. Then
 * the old file keeps it as long as it has locks.
 */
struct locks_file *
file_take(struct locks_table *t, const struct table_ask *q,
    struct table_host *host, struct table_opened *o)
{
	struct fh fh = normal(&q->ask->fh);
	struct locks_file *f = file_find(t, &fh);

	if (f != NULL && !is_same(f, o))
		return table_limit(t, &host->addr, "files by one handle");
	if (f == NULL)
		f = find_opened(t, o);
	if (f == NULL)
		f = make(t, host, o);
	if (f == NULL)
		return NULL;
	if (add_handle(t, f, &fh))
		return f;
	if (is_empty(f))
		end(t, f);
	return NULL;
}

static void
park(struct locks_table *t, struct locks_file *f)
{
	close_file(t, f);
	f->parking = false;
	f->parked = true;
	f->opened.fd = -1;
}

void
table_park(struct locks_table *t,
    bool (*is_gone)(void *arg, const struct table_opened *), void *arg)
{
	struct locks_file *f;
	size_t i;

	for (i = 0; i < FILE_BUCKETS; i++)
		for (f = t->files[i]; f != NULL; f = f->next) {
			if (f->parked || !is_gone(arg, &f->opened))
				continue;
			if (f->busy) /* a thread may use the descriptor */
				f->parking = true;
			else
				park(t, f);
		}
}

void
file_leave(struct locks_table *t, struct locks_file *f)
{
	f->busy = false;
	if (f->parking)
		park(t, f);
	if (f->pins > 0)
		t->hooks.wake(t->hooks.arg);
	else if (is_empty(f))
		end(t, f);
}

struct locks_file *
table_pin(struct locks_table *t, const struct fh *fh, struct table_opened *o)
{
	struct locks_file *f = file_find(t, fh);

	if (f == NULL)
		return NULL;
	*o = f->opened;
	f->pins++;
	return f;
}

void
table_unpin(struct locks_table *t, struct locks_file *f)
{
	f->pins--;
	if (!f->busy && is_empty(f))
		end(t, f);
}

int
file_set(struct locks_table *t, const struct locks_file *f,
    enum kernel_lock kind, uint64_t start, uint64_t end)
{
	if (f->parked)
		return 0;
	return t->hooks.set(t->hooks.arg, f, kind, start, end);
}

/* State of file_sync(): what the kernel must have from `at` on. */
struct sync {
	struct locks_table *t;
	struct locks_file *f;
	uint64_t at, end;
	uint64_t read_until, write_until; /* not included */
	bool all;
};

/* Sets what is known of the bytes before `until`. */
static void
advance(struct sync *s, uint64_t until)
{
	enum kernel_lock kind;
	uint64_t to;

	while (s->at < until) {
		to = until;
		kind = KERNEL_NONE;
		if (s->at < s->write_until) {
			kind = KERNEL_WRITE;
			to = s->write_until < to ? s->write_until : to;
		} else if (s->at < s->read_until) {
			kind = KERNEL_READ;
			to = s->read_until < to ? s->read_until : to;
		}
		if (s->all || kind == KERNEL_NONE)
			(void)file_set(s->t, s->f, kind, s->at, to - 1);
		s->at = to;
	}
}

static bool
sync_range(void *arg, struct range *r)
{
	struct sync *s = arg;

	if (r->start > s->at)
		advance(s, r->start);
	if (r->exclusive && r->end + 1 > s->write_until)
		s->write_until = r->end + 1;
	if (r->end + 1 > s->read_until)
		s->read_until = r->end + 1;
	return s->all || s->read_until <= s->end;
}

void
file_sync(struct locks_table *t, struct locks_file *f, uint64_t start,
    uint64_t end_at, bool all)
{
	struct sync s = {
		.t = t, .f = f, .at = start, .end = end_at, .all = all
	};

	(void)range_visit(f->ranges, start, end_at, false, sync_range, &s);
	advance(&s, end_at + 1);
}

struct search {
	const struct wanted *w;
	const struct range *found;
};

static bool
look_at(void *arg, struct range *r)
{
	struct search *s = arg;

	if (is_owner(r->holder, s->w->client, s->w->svid))
		return true;
	s->found = r;
	return false;
}

const struct range *
file_conflict(const struct locks_file *f, const struct wanted *w)
{
	struct search s = { .w = w };

	(void)range_visit(f->ranges, w->start, w->end, !w->exclusive, look_at,
	    &s);
	return s.found;
}

/* The kernel gets the locks that the table kept. */
static void
unpark(struct locks_table *t, struct locks_file *f, struct table_opened *o)
{
	bool slow = f->opened.slow; /* waiters are in lists by it */

	take_out(t, f);
	f->opened = *o;
	f->opened.slow = slow;
	f->parked = false;
	insert(t, f);
	o->fd = -1;
	file_sync(t, f, 0, RANGE_LAST, true);
}

/* There are only shared locks yet, which both descriptors can have at once. */
void
file_better(struct locks_table *t, struct locks_file *f, struct table_opened *o)
{
	int old = f->opened.fd;

	if (f->parked && o->fd != -1)
		unpark(t, f, o);
	if (f->opened.writable || !o->writable || o->fd == -1)
		return;
	f->opened.fd = o->fd;
	f->opened.writable = true;
	o->fd = -1;
	if (f->ranges != NULL)
		file_sync(t, f, 0, RANGE_LAST, true);
	if (t->hooks.close != NULL)
		t->hooks.close(t->hooks.arg, old);
}
