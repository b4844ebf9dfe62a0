/* SPDX-License-Identifier: ISC */
/*
 * Everything of a client is freed: it was restarted, it says so (FREE_ALL), or
 * an administrator knows that it is gone. A client that locks tells its state,
 * by which a restart is known too. What is to be freed is doomed first,
 * and freed as soon as its file is not busy.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <netinet/in.h>

#include <string.h>

#include "nfsd/locks/parts.h"

/* What of a client is doomed. */
struct doom {
	int32_t state; /* what was locked under this one stays; 0: nothing */
	bool known_only; /* what was locked under no known state stays too */
	bool look_only; /* nothing is doomed, only counted */
};

static bool
is_doomed(const struct doom *d, int32_t state)
{
	if (d->state == 0)
		return true;
	return state != d->state && (state != 0 || !d->known_only);
}

static void
mark_file(struct locks_table *t, struct locks_file *f)
{
	f->doomed = true;
	t->doomed[f->opened.slow] = true;
	t->next_due[f->opened.slow] =
	    sooner(t->next_due[f->opened.slow], t->now);
}

static uint32_t
doom_client(struct locks_table *t, struct table_client *c, const struct doom *d)
{
	struct holder *h;
	struct waiter *w;
	struct share *s;
	uint32_t n = 0;

	TAILQ_FOREACH (h, &c->holders, of_client)
		if (!h->doomed && !h->tentative && is_doomed(d, h->state)) {
			n++;
			h->doomed = !d->look_only;
			if (h->doomed)
				mark_file(t, h->file);
		}
	TAILQ_FOREACH (w, &c->waiters, of_client)
		if (!w->doomed && is_doomed(d, w->nsm_state)) {
			n++;
			w->doomed = !d->look_only;
			if (w->doomed)
				mark_file(t, w->file);
		}
	TAILQ_FOREACH (s, &c->shares, of_client)
		if (!s->doomed && is_doomed(d, s->state)) {
			n++;
			s->doomed = !d->look_only;
			if (s->doomed)
				mark_file(t, s->file);
		}
	return n;
}

/* Returns a file of the bucket that can be swept now, or NULL. */
static struct locks_file *
find_file(struct locks_table *t, size_t i, bool slow)
{
	struct locks_file *f;

	for (f = t->files[i]; f != NULL; f = f->next) {
		if (!f->doomed || f->opened.slow != slow)
			continue;
		if (!f->busy)
			return f;
		t->doomed[slow] = true; /* another time */
	}
	return NULL;
}

void
doomed_sweep(struct locks_table *t, bool slow)
{
	struct locks_file *f;
	size_t i;

	t->doomed[slow] = false;
	for (i = 0; i < FILE_BUCKETS; i++)
		while ((f = find_file(t, i, slow)) != NULL) {
			file_enter(t, f);
			file_leave(t, f);
		}
}

/* Calls doom_client() for the clients of an address, and of a name if any. */
static uint32_t
doom_all(struct locks_table *t, const struct addr *from, const uint8_t *name,
    size_t len, const struct doom *d)
{
	struct table_client *c;
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < CLIENT_BUCKETS; i++)
		for (c = t->clients[i]; c != NULL; c = c->next)
			if (name == NULL ?
				addr_same_host(&c->listed.client.from, from) :
				client_has_name(c, from, name, len))
				n += doom_client(t, c, d);
	return n;
}

/*
 * A client may call itself otherwise when it comes back. If its address has but
 * one name in the table, that is the one.
 */
static const struct table_client *
only_name(const struct locks_table *t, const struct addr *from,
    const uint8_t *name, size_t len)
{
	const struct table_client *c, *only = NULL;
	size_t i;

	for (i = 0; i < CLIENT_BUCKETS; i++)
		for (c = t->clients[i]; c != NULL; c = c->next) {
			if (!addr_same_host(&c->listed.client.from, from))
				continue;
			if (client_has_name(c, from, name, len))
				return c;
			if (only != NULL &&
			    !client_has_name(only, from,
				(const uint8_t *)c->name,
				c->listed.client.name_len))
				return NULL;
			only = c;
		}
	return only;
}

enum locks_stat
table_free_client(struct locks_table *t, const struct table_ask *q)
{
	const struct locks_client *who = &q->ask->client;
	const struct table_client *c =
	    only_name(t, &who->from, q->name, who->name_len);
	struct doom d = { .state = q->ask->state,
		.look_only = !q->ask->proven };
	uint32_t n;

	if (c == NULL)
		return LOCKS_GRANTED;
	n = doom_all(t, &who->from, (const uint8_t *)c->name,
	    c->listed.client.name_len, &d);
	if (d.look_only)
		return n > 0 ? LOCKS_BLOCKED : LOCKS_GRANTED;
	if (n > 0)
		doomed_sweep(t, false);
	return LOCKS_GRANTED;
}

void
doomed_restart(struct locks_table *t, struct table_client *c, int32_t state)
{
	const struct doom d = { .state = state, .known_only = true };

	if (doom_all(t, &c->listed.client.from, (const uint8_t *)c->name,
		c->listed.client.name_len, &d) > 0)
		doomed_sweep(t, false);
}

/*
 * A stream from a reserved port proves that its sender is the machine at this
 * address, and no user there. If it tells another state than before, the client
 * was restarted, and its old locks have no owner.
 */
static void
note_state(struct locks_table *t, struct table_client *c,
    const struct locks_ask *a)
{
	int32_t known = c->listed.state;

	if (a->state == 0)
		return;
	c->listed.state = a->state;
	if (a->client.kind == RPC_TCP &&
	    a->client.from.port < IPPORT_RESERVED && known != 0 &&
	    a->state != known)
		doomed_restart(t, c, a->state);
}

/*
 * Notes the state that the client tells. LOCKS_GRANTED if it is on the disk, or
 * does not want to be told of restarts.
 */
static enum locks_stat
save(struct locks_table *t, struct table_client *c, const struct locks_ask *a)
{
	enum locks_stat stat = LOCKS_GRANTED;

	note_state(t, c, a);
	if (c->saved || !a->monitored)
		return LOCKS_GRANTED;
	if (t->hooks.save != NULL)
		stat = t->hooks.save(t->hooks.arg, &c->listed, c->name);
	c->saved = stat == LOCKS_GRANTED;
	/* A client that must wait may be on a list from before: not gone. */
	c->asked |= stat != LOCKS_GRACE;
	return stat;
}

enum locks_stat
client_take(struct locks_table *t, struct table_client *c,
    const struct table_ask *q, struct table_opened *o, struct locks_file **f)
{
	enum locks_stat stat = save(t, c, q->ask);

	*f = NULL;
	if (stat != LOCKS_GRANTED)
		return stat;
	*f = file_take(t, q, c->host, o);
	return *f != NULL ? LOCKS_GRANTED : LOCKS_NOLOCKS;
}

uint32_t
table_leave(struct locks_table *t, const struct addr *at)
{
	const struct doom d = { .state = 0 };
	struct table_client *c;
	uint32_t remain = 0;
	size_t i;

	grace_leave(t, at);
	for (i = 0; i < CLIENT_BUCKETS; i++)
		for (c = t->clients[i]; c != NULL; c = c->next) {
			if (!addr_same_host(&c->listed.client.to, at))
				continue;
			(void)doom_client(t, c, &d);
			c->saved = c->asked = false;
			/* Calls under way may lock, or still unlock. */
			remain += c->locks + c->nwaiters + c->pins;
		}
	return remain;
}

uint32_t
table_drop(struct locks_table *t, const struct addr *from)
{
	const struct doom d = { .state = 0 };

	return doom_all(t, from, NULL, 0, &d);
}
