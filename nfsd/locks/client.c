/* SPDX-License-Identifier: ISC */
/*
 * Clients and hosts, and what they may have. A client is an address with a name
 * that it claims. So that one machine cannot get a share for each of many names,
 * the clients of a host are counted together as well.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

void *
table_limit(struct locks_table *t, const struct addr *from, const char *what)
{
	table_count(t, LOCKS_COUNT_LIMITS, 1);
	if (t->hooks.limit != NULL)
		t->hooks.limit(t->hooks.arg, from, what);
	return NULL;
}

static struct addr
without_port(const struct addr *from)
{
	struct addr a = *from;

	a.port = 0;
	return a;
}

static uint64_t
hash_client(const struct locks_table *t, const struct locks_client *c,
    const uint8_t *name)
{
	struct addr from = without_port(&c->from);
	uint64_t to = hash_bytes(&t->key, c->to.bytes, sizeof(c->to.bytes));

	return hash_mix(hash_bytes(&t->key, name, c->name_len) ^
		   hash_bytes(&t->key, from.bytes, sizeof(from.bytes)) ^
		   hash_mix(to) ^ ((uint64_t)c->vers << 8 | c->kind)) %
	    CLIENT_BUCKETS;
}

bool
client_has_name(const struct table_client *c, const struct addr *from,
    const uint8_t *name, size_t len)
{
	return addr_same_host(&c->listed.client.from, from) &&
	    c->listed.client.name_len == len && memcmp(c->name, name, len) == 0;
}

struct table_client *
client_find(struct locks_table *t, const struct locks_client *who,
    const uint8_t *name)
{
	struct table_client *c = t->clients[hash_client(t, who, name)];

	while (c != NULL &&
	    (c->listed.client.vers != who->vers ||
		c->listed.client.kind != who->kind ||
		!addr_same_host(&c->listed.client.to, &who->to) ||
		!client_has_name(c, &who->from, name, who->name_len)))
		c = c->next;
	return c;
}

static struct table_host **
host_place(struct locks_table *t, const struct addr *host)
{
	struct table_host **at;

	at = &t->hosts[hash_bytes(&t->key, host->bytes, sizeof(host->bytes)) %
	    CLIENT_BUCKETS];
	while (*at != NULL && !addr_same_host(&(*at)->addr, host))
		at = &(*at)->next;
	return at;
}

bool
table_knows(struct locks_table *t, const struct addr *from)
{
	struct addr host = addr_client(from);

	return *host_place(t, &host) != NULL;
}

static struct table_host *
host_make(struct locks_table *t, const struct addr *from)
{
	struct addr host = addr_client(from);
	struct table_host **at = host_place(t, &host);

	if (*at == NULL && (*at = calloc(1, sizeof(**at))) != NULL)
		(*at)->addr = host;
	return *at;
}

static void
host_end(struct locks_table *t, struct table_host *h)
{
	struct table_host **at = host_place(t, &h->addr);

	if (h->clients > 0 || h->items > 0 || h->files > 0)
		return;
	*at = h->next;
	free(h);
}

struct table_client *
client_make(struct locks_table *t, const struct locks_client *who,
    const uint8_t *name)
{
	struct table_client *c = client_find(t, who, name), **at;
	struct table_host *host;

	if (c != NULL)
		return c;
	host = host_make(t, &who->from);
	if (host == NULL)
		return table_limit(t, &who->from, "memory");
	if (t->nclients >= TABLE_CLIENTS ||
	    host->clients >= TABLE_HOST_CLIENTS ||
	    (c = calloc(1, sizeof(*c) + who->name_len)) == NULL) {
		host_end(t, host);
		return table_limit(t, &who->from, "names of clients");
	}
	c->host = host;
	c->listed.client = *who;
	c->listed.client.from.port = 0;
	memcpy(c->name, name, who->name_len);
	TAILQ_INIT(&c->holders);
	TAILQ_INIT(&c->waiters);
	TAILQ_INIT(&c->shares);
	at = &t->clients[hash_client(t, who, name)];
	c->next = *at;
	*at = c;
	host->clients++;
	t->nclients++;
	table_count(t, LOCKS_COUNT_CLIENTS, 1);
	return c;
}

void
client_pin(struct locks_table *t, struct table_client *c)
{
	c->pins++;
	if (c->idle_since == 0)
		return;
	TAILQ_REMOVE(&t->idle, c, idle);
	c->idle_since = 0;
}

void
client_unpin(struct locks_table *t, struct table_client *c)
{
	c->pins--;
	if (c->pins > 0 || c->locks > 0 || c->nwaiters > 0)
		return;
	c->idle_since = t->now;
	TAILQ_INSERT_TAIL(&t->idle, c, idle);
	t->next_due[0] = sooner(t->next_due[0], t->now + TABLE_IDLE_MS);
}

/* May its host have one more of something? */
static bool
has_room(struct locks_table *t, const struct table_client *c, uint32_t n)
{
	return t->items + n <= TABLE_ALL &&
	    c->host->items + n <= TABLE_HOST_ALL;
}

bool
client_may_lock(struct locks_table *t, struct table_client *c, uint32_t n,
    size_t text)
{
	if (c->locks + n <= TABLE_CLIENT_LOCKS &&
	    c->text + text <= TABLE_CLIENT_TEXT && has_room(t, c, n))
		return true;
	table_limit(t, &c->listed.client.from, "locks");
	return false;
}

bool
client_may_wait(struct locks_table *t, struct table_client *c, size_t text)
{
	if (c->nwaiters < TABLE_CLIENT_WAITERS &&
	    c->text + text <= TABLE_CLIENT_TEXT && has_room(t, c, 1))
		return true;
	table_limit(t, &c->listed.client.from, "waiting locks");
	return false;
}

/* What keeps a client alive is counted as a use of it. */
static void
add_items(struct locks_table *t, struct table_client *c, uint32_t *what, int n)
{
	client_pin(t, c);
	*what += (uint32_t)n;
	t->items += (uint32_t)n;
	c->host->items += (uint32_t)n;
	client_unpin(t, c);
}

void
client_add_locks(struct locks_table *t, struct table_client *c, int n)
{
	add_items(t, c, &c->locks, n);
}

void
client_add_waiters(struct locks_table *t, struct table_client *c, int n)
{
	table_count(t, LOCKS_COUNT_WAITERS, n);
	add_items(t, c, &c->nwaiters, n);
}

static void
client_end(struct locks_table *t, struct table_client *c)
{
	struct table_client **at = &t->clients[hash_client(t, &c->listed.client,
	    (const uint8_t *)c->name)];

	if (c->asked && t->hooks.gone != NULL)
		t->hooks.gone(t->hooks.arg, &c->listed, c->name);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	TAILQ_REMOVE(&t->idle, c, idle);
	c->host->clients--;
	host_end(t, c->host);
	t->nclients--;
	table_count(t, LOCKS_COUNT_CLIENTS, -1);
	free(c);
}

/* The list is in the order of idle_since. */
uint64_t
client_sweep(struct locks_table *t)
{
	struct table_client *c;

	while ((c = TAILQ_FIRST(&t->idle)) != NULL) {
		if (t->now < c->idle_since + TABLE_IDLE_MS)
			return c->idle_since + TABLE_IDLE_MS;
		client_end(t, c);
	}
	return 0;
}
