/* SPDX-License-Identifier: ISC */
/*
 * Everything in the table, one row each, for an administrator.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <string.h>

#include "nfsd/locks/parts.h"

struct sink {
	const struct locks_table *t;
	const struct locks_file *f;
	void (*row)(void *arg, const struct locks_row *, size_t len);
	void *arg;
};

static void
emit(const struct sink *s, const struct table_client *c, struct locks_row *row,
    uint64_t since)
{
	union {
		struct locks_row row;
		uint8_t bytes[LOCKS_ROW_MAX];
	} out;

	row->client = c->listed.client;
	row->export_id = s->f->opened.export_id;
	row->inode = s->f->opened.ino;
	row->seconds = (uint32_t)((s->t->now - since) / 1000);
	out.row = *row;
	memcpy(out.bytes + sizeof(*row), c->name, row->client.name_len);
	s->row(s->arg, &out.row, sizeof(*row) + row->client.name_len);
}

static bool
emit_range(void *arg, struct range *r)
{
	const struct sink *s = arg;
	struct locks_row row = { .what = LOCKS_ROW_LOCK,
		.svid = r->holder->svid,
		.offset = r->start,
		.length = range_length(r->start, r->end),
		.exclusive = r->exclusive };

	emit(s, r->holder->client, &row, (uint64_t)r->holder->since * 1000);
	return true;
}

static void
emit_file(const struct sink *s)
{
	const struct waiter *w;
	const struct share *h;
	struct locks_row row;

	(void)range_visit(s->f->ranges, 0, RANGE_LAST, false, emit_range,
	    (void *)(uintptr_t)s);
	TAILQ_FOREACH (w, &s->f->waiters, of_file) {
		if (w->holder != NULL) /* among the locks already */
			continue;
		row = (struct locks_row){ .what = LOCKS_ROW_WAITS,
			.svid = w->svid,
			.offset = w->start,
			.length = range_length(w->start, w->end),
			.exclusive = w->exclusive };
		emit(s, w->client, &row, w->since);
	}
	TAILQ_FOREACH (h, &s->f->shares, of_file) {
		row = (struct locks_row){ .what = LOCKS_ROW_SHARE,
			.share_mode = h->mode,
			.share_access = h->access };
		emit(s, h->client, &row, h->since);
	}
}

bool
table_rows(const struct locks_table *t, size_t part,
    void (*row)(void *arg, const struct locks_row *, size_t len), void *arg)
{
	struct sink s = { .t = t, .row = row, .arg = arg };

	if (part >= FILE_BUCKETS)
		return false;
	for (s.f = t->files[part]; s.f != NULL; s.f = s.f->next)
		emit_file(&s);
	return true;
}
