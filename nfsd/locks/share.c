/* SPDX-License-Identifier: ISC */
/*
 * SHARE and UNSHARE: what a client does with an open file, and what it denies
 * others meanwhile. Shares conflict with each other and with nothing else. An
 * owner is told apart by its bytes, since shares have no svid.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

#define SHARE_BOTH 3 /* read and write */

static bool
is_of(const struct share *s, const struct table_client *c,
    const struct table_ask *q)
{
	return s->client == c && s->owner_len == q->ask->owner_len &&
	    memcmp(s->owner, q->owner, s->owner_len) == 0;
}

static struct share *
find(const struct locks_file *f, const struct table_client *c,
    const struct table_ask *q)
{
	struct share *s;

	TAILQ_FOREACH (s, &f->shares, of_file)
		if (is_of(s, c, q))
			break;
	return s;
}

static bool
conflicts(const struct locks_file *f, const struct table_client *c,
    const struct table_ask *q)
{
	const struct locks_ask *a = q->ask;
	const struct share *s;

	TAILQ_FOREACH (s, &f->shares, of_file)
		if (!is_of(s, c, q) &&
		    ((s->mode & a->share_access) != 0 ||
			(s->access & a->share_mode) != 0))
			return true;
	return false;
}

static struct share *
make(struct locks_table *t, struct locks_file *f, struct table_client *c,
    const struct table_ask *q)
{
	struct share *s;

	if (f->nshares >= TABLE_FILE_SHARES)
		return table_limit(t, &c->listed.client.from,
		    "shares of a file");
	if (!client_may_lock(t, c, 1, q->ask->owner_len))
		return NULL;
	s = calloc(1, sizeof(*s) + q->ask->owner_len);
	if (s == NULL)
		return table_limit(t, &c->listed.client.from, "memory");
	s->file = f;
	s->client = c;
	s->since = t->now;
	s->owner_len = (uint16_t)q->ask->owner_len;
	memcpy(s->owner, q->owner, s->owner_len);
	TAILQ_INSERT_TAIL(&f->shares, s, of_file);
	TAILQ_INSERT_TAIL(&c->shares, s, of_client);
	f->nshares++;
	c->text += s->owner_len;
	client_add_locks(t, c, 1);
	table_count(t, LOCKS_COUNT_SHARES, 1);
	return s;
}

static enum locks_stat
share_file(struct locks_table *t, struct locks_file *f, struct table_client *c,
    const struct table_ask *q)
{
	struct share *s;

	if (conflicts(f, c, q))
		return LOCKS_DENIED;
	s = find(f, c, q);
	if (s == NULL)
		s = make(t, f, c, q);
	if (s == NULL)
		return LOCKS_NOLOCKS;
	s->mode = q->ask->share_mode;
	s->access = q->ask->share_access;
	s->state = c->listed.state;
	return LOCKS_GRANTED;
}

enum locks_stat
table_share(struct locks_table *t, const struct table_ask *q,
    struct table_opened *o)
{
	enum locks_stat stat = grace_judge(t, q);
	struct table_client *c;
	struct locks_file *f;

	if (q->ask->share_mode > SHARE_BOTH ||
	    q->ask->share_access > SHARE_BOTH)
		return LOCKS_FAILED;
	if (stat != LOCKS_GRANTED)
		return stat;
	c = client_make(t, &q->ask->client, q->name);
	if (c == NULL)
		return LOCKS_NOLOCKS;
	client_pin(t, c);
	stat = client_take(t, c, q, o, &f);
	if (stat == LOCKS_GRANTED) {
		file_enter(t, f);
		stat = share_file(t, f, c, q);
		file_leave(t, f);
	}
	client_unpin(t, c);
	return stat;
}

enum locks_stat
table_unshare(struct locks_table *t, const struct table_ask *q)
{
	struct locks_file *f = file_find(t, &q->ask->fh);
	struct table_client *c = client_find(t, &q->ask->client, q->name);
	struct share *s;

	if (f == NULL || c == NULL)
		return LOCKS_GRANTED;
	client_pin(t, c);
	file_enter(t, f);
	s = find(f, c, q);
	if (s != NULL)
		share_end(t, s);
	file_leave(t, f);
	client_unpin(t, c);
	return LOCKS_GRANTED;
}
