/* SPDX-License-Identifier: ISC */
/*
 * The table as a whole: see table.h.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>

#include "base/log.h"
#include "nfsd/locks/parts.h"

struct locks_table *
table_new(const struct table_hooks *hooks, struct locks_stats *stats,
    size_t files)
{
	struct locks_table *t = calloc(1, sizeof(*t));
	size_t i;

	if (t == NULL)
		fatal("locks: table");
	t->hooks = *hooks;
	t->stats = stats != NULL ? stats : &t->own_stats;
	t->files_max = files < UINT32_MAX ? (uint32_t)files : UINT32_MAX;
	hash_key_random(&t->key);
	for (i = 0; i < 4; i++)
		TAILQ_INIT(&t->timed[i / 2][i % 2]);
	TAILQ_INIT(&t->idle);
	TAILQ_INIT(&t->graced);
	t->now = 1;
	return t;
}

void
table_set_now(struct locks_table *t, uint64_t now)
{
	t->now = now;
}

static void
free_file(struct locks_file *f, struct table_hooks *hooks)
{
	struct table_handle *h;

	while ((h = f->handles) != NULL) {
		f->handles = h->other;
		free(h);
	}
	if (!f->parked && hooks->close != NULL)
		hooks->close(hooks->arg, f->opened.fd);
	free(f);
}

/* Frees everything of a client; its files go afterwards. */
static void
free_client(struct table_client *c)
{
	struct holder *h;
	struct waiter *w;
	struct share *s;
	struct range *r;

	while ((w = TAILQ_FIRST(&c->waiters)) != NULL) {
		TAILQ_REMOVE(&c->waiters, w, of_client);
		ranges_drop(w->spare);
		free(w);
	}
	while ((h = TAILQ_FIRST(&c->holders)) != NULL) {
		TAILQ_REMOVE(&c->holders, h, of_client);
		while ((r = h->own) != NULL) {
			range_remove(&h->file->ranges, &h->own, r);
			free(r);
		}
		free(h);
	}
	while ((s = TAILQ_FIRST(&c->shares)) != NULL) {
		TAILQ_REMOVE(&c->shares, s, of_client);
		free(s);
	}
	free(c);
}

void
table_free(struct locks_table *t)
{
	struct table_client *c;
	struct table_host *h;
	struct locks_file *f;
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < CLIENT_BUCKETS; i++) {
		while ((c = t->clients[i]) != NULL) {
			t->clients[i] = c->next;
			free_client(c);
		}
		while ((h = t->hosts[i]) != NULL) {
			t->hosts[i] = h->next;
			free(h);
		}
	}
	for (i = 0; i < FILE_BUCKETS; i++)
		while ((f = t->files[i]) != NULL) {
			t->files[i] = f->next;
			free_file(f, &t->hooks);
		}
	table_unlist(t);
	free(t);
}
