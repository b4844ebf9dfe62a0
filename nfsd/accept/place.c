/* SPDX-License-Identifier: ISC */
/*
 * The table of connections and workers: see place.h. What is remembered of ended
 * connections is bounded. At the bound the client that has most of it loses its
 * oldest.
 * Runs in: nfsd accept.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "nfsd/accept/place.h"

#define BUCKETS 16384
#define HASTE	4 /* so many connections does one count that is not taken yet */

TAILQ_HEAD(conn_list, place_conn);
LIST_HEAD(conn_bucket, place_conn);

/* What is remembered of one client (addr_client()). */
struct place_client {
	LIST_ENTRY(place_client) entry;
	struct addr addr;
	struct rank_member ended;
	struct conn_list list; /* its ended connections */
	size_t users; /* connections in the table */
};

struct place_worker {
	struct conn_list lists[PLACE_TAKEN + 1]; /* by state */
	size_t count, sent;
	bool runs;
};

struct place {
	struct conn_bucket by_addr[BUCKETS], by_id[BUCKETS];
	LIST_HEAD(, place_client) clients[BUCKETS];
	struct rank by_ended;
	size_t ended, waiting, max;
	uint64_t last_id;
	unsigned int nworkers;
	struct place_worker workers[];
};

struct place *
place_new(unsigned int workers, size_t max, uint64_t first_id)
{
	struct place *p =
	    calloc(1, sizeof(*p) + workers * sizeof(p->workers[0]));
	unsigned int i, s;

	if (p == NULL)
		return NULL;
	rank_init(&p->by_ended);
	p->nworkers = workers;
	p->max = max;
	p->last_id = first_id;
	for (i = 0; i < workers; i++)
		for (s = 0; s <= PLACE_TAKEN; s++)
			TAILQ_INIT(&p->workers[i].lists[s]);
	return p;
}

static struct conn_bucket *
addr_bucket(struct place *p, const struct addr *a)
{
	return &p->by_addr[hash_mix(addr_hash(a) ^ a->port) % BUCKETS];
}

static struct place_client *
client_of(struct place *p, const struct addr *from)
{
	struct addr key = addr_client(from);
	size_t b = addr_hash(&key) % BUCKETS;
	struct place_client *c;

	LIST_FOREACH (c, &p->clients[b], entry)
		if (addr_same_host(&c->addr, &key))
			return c;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->addr = key;
	c->ended.owner = c;
	TAILQ_INIT(&c->list);
	LIST_INSERT_HEAD(&p->clients[b], c, entry);
	return c;
}

static struct conn_list *
list_of(struct place *p, const struct place_conn *c)
{
	return c->state == PLACE_ENDED ? &c->client->list :
					 &p->workers[c->worker].lists[c->state];
}

/* Adds c to the list of its state, or takes it out of it, and counts. */
static void
enlist(struct place *p, struct place_conn *c, bool in)
{
	struct place_client *client = c->client;

	if (in)
		TAILQ_INSERT_TAIL(list_of(p, c), c, order);
	else
		TAILQ_REMOVE(list_of(p, c), c, order);
	if (c->state == PLACE_ENDED) {
		p->ended += in ? 1 : (size_t)-1;
		rank_set(&p->by_ended, &client->ended,
		    in ? client->ended.n + 1 : client->ended.n - 1);
		return;
	}
	p->workers[c->worker].count += in ? 1 : (size_t)-1;
	if (c->state != PLACE_TAKEN)
		p->waiting += in ? 1 : (size_t)-1;
	if (c->state == PLACE_SENT)
		p->workers[c->worker].sent += in ? 1 : (size_t)-1;
}

static void
set_state(struct place *p, struct place_conn *c, enum place_state state,
    uint64_t now_ms)
{
	enlist(p, c, false);
	c->state = state;
	c->since_ms = now_ms;
	enlist(p, c, true);
}

static void
forget(struct place *p, struct place_conn *c)
{
	struct place_client *client = c->client;

	enlist(p, c, false);
	LIST_REMOVE(c, by_addr);
	LIST_REMOVE(c, by_id);
	free(c);
	if (--client->users == 0) {
		LIST_REMOVE(client, entry);
		free(client);
	}
}

/* Remembers where an ended connection was, for as long as that is of use. */
static void
end(struct place *p, struct place_conn *c, uint64_t now_ms)
{
	struct place_client *client = c->client;
	struct place_conn *oldest;

	set_state(p, c, PLACE_ENDED, now_ms);
	while ((oldest = TAILQ_FIRST(&client->list)) != c &&
	    now_ms - oldest->since_ms > PLACE_HOME_MS)
		forget(p, oldest);
	if (p->ended <= PLACE_ENDED_MAX)
		return;
	client = rank_greatest(&p->by_ended);
	if (client != NULL)
		forget(p, TAILQ_FIRST(&client->list));
}

/* The worker that this address and port had; nworkers: none. */
static unsigned int
home_of(struct place *p, const struct addr *from, uint64_t now_ms)
{
	const struct place_conn *c;

	LIST_FOREACH (c, addr_bucket(p, from), by_addr)
		if (addr_equal(&c->from, from) &&
		    (c->state != PLACE_ENDED ||
			now_ms - c->since_ms <= PLACE_HOME_MS))
			return c->worker;
	return p->nworkers;
}

/* Lower is better: it takes connections, it is slow to do so, it is not there. */
static unsigned int
slowness(const struct place_worker *w, uint64_t now_ms)
{
	const struct place_conn *sent = TAILQ_FIRST(&w->lists[PLACE_SENT]);

	if (!w->runs)
		return 2;
	return !TAILQ_EMPTY(&w->lists[PLACE_WAITS]) ||
		(sent != NULL && now_ms - sent->since_ms > PLACE_PATIENCE) ?
	    1 :
	    0;
}

/* A worker that is busy takes connections late, and gets fewer. */
static size_t
load_of(const struct place_worker *w)
{
	return w->count + HASTE * w->sent;
}

static unsigned int
choose(const struct place *p, uint64_t now_ms)
{
	unsigned int i, slow, best = p->nworkers, least_slow = 0;
	const struct place_worker *w;

	for (i = 0; i < p->nworkers; i++) {
		w = &p->workers[i];
		slow = slowness(w, now_ms);
		if (w->count >= p->max)
			continue;
		if (best == p->nworkers || slow < least_slow ||
		    (slow == least_slow &&
			load_of(w) < load_of(&p->workers[best]))) {
			best = i;
			least_slow = slow;
		}
	}
	return best;
}

struct place_conn *
place_add(struct place *p, const struct addr *from, int fd, uint64_t now_ms)
{
	unsigned int worker = home_of(p, from, now_ms);
	struct place_client *client;
	struct place_conn *c;

	if (worker == p->nworkers || p->workers[worker].count >= p->max)
		worker = choose(p, now_ms);
	if (worker == p->nworkers)
		return NULL;
	client = client_of(p, from);
	if (client == NULL)
		return NULL;
	client->users++;
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		if (--client->users == 0) {
			LIST_REMOVE(client, entry);
			free(client);
		}
		return NULL;
	}
	c->client = client;
	c->from = *from;
	c->id = ++p->last_id;
	c->worker = worker;
	c->fd = fd;
	c->state = PLACE_WAITS;
	enlist(p, c, true);
	LIST_INSERT_HEAD(addr_bucket(p, from), c, by_addr);
	LIST_INSERT_HEAD(&p->by_id[c->id % BUCKETS], c, by_id);
	return c;
}

void
place_worker(struct place *p, unsigned int worker, bool runs, uint64_t now_ms)
{
	struct place_worker *w = &p->workers[worker];
	struct place_conn *c;

	w->runs = runs;
	while ((c = TAILQ_FIRST(&w->lists[PLACE_TAKEN])) != NULL)
		end(p, c, now_ms);
	/* Those that were sent come first again. */
	TAILQ_CONCAT(&w->lists[PLACE_SENT], &w->lists[PLACE_WAITS], order);
	TAILQ_CONCAT(&w->lists[PLACE_WAITS], &w->lists[PLACE_SENT], order);
	TAILQ_FOREACH (c, &w->lists[PLACE_WAITS], order)
		c->state = PLACE_WAITS;
	w->sent = 0;
}

struct place_conn *
place_next(const struct place *p, unsigned int worker)
{
	return TAILQ_FIRST(&p->workers[worker].lists[PLACE_WAITS]);
}

void
place_sent(struct place *p, struct place_conn *c, uint64_t now_ms)
{
	set_state(p, c, PLACE_SENT, now_ms);
}

int
place_answer(struct place *p, unsigned int worker, uint64_t id, bool taken,
    uint64_t now_ms)
{
	struct place_conn *c =
	    TAILQ_FIRST(&p->workers[worker].lists[PLACE_SENT]);
	int fd;

	if (c == NULL || (taken && c->id != id))
		return -1;
	fd = c->fd;
	c->fd = -1;
	set_state(p, c, PLACE_TAKEN, now_ms);
	if (!taken)
		end(p, c, now_ms);
	return fd;
}

void
place_end(struct place *p, unsigned int worker, uint64_t id, uint64_t now_ms)
{
	struct place_conn *c;

	LIST_FOREACH (c, &p->by_id[id % BUCKETS], by_id)
		if (c->id == id)
			break;
	if (c != NULL && c->worker == worker && c->state == PLACE_TAKEN)
		end(p, c, now_ms);
}

size_t
place_count(const struct place *p, unsigned int worker)
{
	return p->workers[worker].count;
}

size_t
place_waiting(const struct place *p)
{
	return p->waiting;
}

void
place_free(struct place *p)
{
	struct place_conn *c;
	size_t i;

	for (i = 0; p != NULL && i < BUCKETS; i++)
		while ((c = LIST_FIRST(&p->by_addr[i])) != NULL)
			forget(p, c);
	free(p);
}
