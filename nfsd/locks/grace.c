/* SPDX-License-Identifier: ISC */
/*
 * Grace: after a restart the clients that held locks get them back before any
 * client gets a new one. Without such clients there is no grace. It ends early
 * when all of them have been heard and are silent for some seconds.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

void
table_unlist(struct locks_table *t)
{
	struct graced *g;

	while ((g = TAILQ_FIRST(&t->graced)) != NULL) {
		TAILQ_REMOVE(&t->graced, g, entry);
		free(g);
	}
}

static void
end(struct locks_table *t)
{
	const struct graced *g;

	TAILQ_FOREACH (g, &t->graced, entry)
		if (!g->reclaimed && t->hooks.gone != NULL)
			t->hooks.gone(t->hooks.arg, &g->listed, g->name);
	table_unlist(t);
	t->grace_until = 0;
	atomic_store(&t->stats->counts[LOCKS_COUNT_GRACE], 0);
}

void
table_grace(struct locks_table *t, unsigned int seconds)
{
	if (seconds > LOCKS_GRACE_MAX)
		seconds = LOCKS_GRACE_MAX;
	if (t->grace_until < t->now + (uint64_t)seconds * 1000)
		t->grace_until = t->now + (uint64_t)seconds * 1000;
	t->last_heard = t->now;
	t->next_due[0] = sooner(t->next_due[0], t->now + 1);
}

void
table_listed(struct locks_table *t, const struct locks_listed *l,
    const char *name)
{
	struct graced *g = calloc(1, sizeof(*g) + l->client.name_len);

	if (g == NULL)
		return; /* its locks cannot be reclaimed */
	g->listed = *l;
	memcpy(g->name, name, l->client.name_len);
	TAILQ_INSERT_TAIL(&t->graced, g, entry);
}

void
grace_leave(struct locks_table *t, const struct addr *at)
{
	struct graced *g, *next;

	for (g = TAILQ_FIRST(&t->graced); g != NULL; g = next) {
		next = TAILQ_NEXT(g, entry);
		if (!addr_same_host(&g->listed.client.to, at))
			continue;
		TAILQ_REMOVE(&t->graced, g, entry);
		free(g);
	}
}

static bool
is_of(const struct graced *g, const struct locks_client *c, const void *name)
{
	return addr_same_host(&g->listed.client.from, &c->from) &&
	    g->listed.client.name_len == c->name_len &&
	    memcmp(g->name, name, c->name_len) == 0;
}

void
table_heard(struct locks_table *t, const struct locks_listed *l,
    const char *name)
{
	struct graced *g;

	TAILQ_FOREACH (g, &t->graced, entry)
		if (is_of(g, &l->client, name)) {
			g->heard = true;
			t->last_heard = t->now; /* its reclaims follow */
		}
	t->next_due[0] = sooner(t->next_due[0], t->now + 1);
}

/* Is the client on the list? Then it has been heard now. */
static bool
may_reclaim(struct locks_table *t, const struct table_ask *q)
{
	const struct locks_client *c = &q->ask->client;
	struct graced *g;
	bool found = false;

	TAILQ_FOREACH (g, &t->graced, entry) {
		if (!is_of(g, c, q->name))
			continue;
		found = g->heard = true;
		if (g->listed.client.vers == c->vers &&
		    g->listed.client.kind == c->kind &&
		    addr_same_host(&g->listed.client.to, &c->to))
			g->reclaimed = true;
	}
	if (found)
		t->last_heard = t->now;
	return found;
}

enum locks_stat
grace_judge(struct locks_table *t, const struct table_ask *q)
{
	if (t->grace_until != 0 && grace_sweep(t) == 0 && !q->ask->reclaim)
		return LOCKS_GRANTED;
	if (t->grace_until == 0)
		return q->ask->reclaim ? LOCKS_GRACE : LOCKS_GRANTED;
	return q->ask->reclaim && may_reclaim(t, q) ? LOCKS_GRANTED :
						      LOCKS_GRACE;
}

static bool
all_heard(const struct locks_table *t)
{
	const struct graced *g;

	TAILQ_FOREACH (g, &t->graced, entry)
		if (!g->heard)
			return false;
	return true;
}

uint64_t
grace_sweep(struct locks_table *t)
{
	uint64_t quiet = t->last_heard + TABLE_QUIET_MS;

	if (t->grace_until == 0)
		return 0;
	if (TAILQ_EMPTY(&t->graced) || t->now >= t->grace_until ||
	    (all_heard(t) && t->now >= quiet)) {
		end(t);
		return 0;
	}
	atomic_store(&t->stats->counts[LOCKS_COUNT_GRACE],
	    (t->grace_until - t->now + 999) / 1000);
	return sooner(t->grace_until, t->now + 1000);
}
