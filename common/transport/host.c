/* SPDX-License-Identifier: ISC */
/*
 * Counts the stream connections of each host and the time that they take, orders
 * them, and selects the one that must make room: see transport/host.h.
 * Runs in: the process that reads the network.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/meter.h"
#include "transport/conn.h"

#define HOST_LOOK     64 /* connections looked at for an idle one */
#define HOST_PATIENCE 1000 /* ms without progress in sending */

/* Returns the key that connections are counted by: client or local user. */
static struct addr
key_of(const struct rpc_peer *peer)
{
	struct addr key = addr_client(&peer->from);

	if (peer->kind == RPC_UNIX)
		key.scope = peer->uid;
	return key;
}

struct rpc_crowd *
rpc_crowd_of(struct rpc_tcp *t, const struct rpc_peer *peer)
{
	enum rpc_crowd_kind kind = RPC_REMOTE;

	if (t->local)
		kind = t->is_trusted == NULL ||
			t->is_trusted(t->trust_arg, peer->uid) ?
		    RPC_TRUSTED :
		    RPC_LOCAL;
	return &t->streams->crowds[kind];
}

static struct rpc_host_bucket *
bucket_of(struct rpc_streams *s, const struct addr *key)
{
	return &s->hosts[addr_hash(key) % RPC_HOSTS];
}

struct rpc_host *
rpc_host_find(struct rpc_streams *s, const struct rpc_peer *peer)
{
	struct addr key = key_of(peer);
	struct rpc_host *h;

	LIST_FOREACH (h, bucket_of(s, &key), entry)
		if (addr_same_host(&h->addr, &key))
			break;
	return h;
}

static struct rpc_host *
host_new(struct rpc_tcp *t, const struct rpc_peer *peer)
{
	struct rpc_host *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->addr = key_of(peer);
	h->crowd = rpc_crowd_of(t, peer);
	h->streams = t->streams;
	h->count.owner = h->unfinished.owner = h;
	TAILQ_INIT(&h->conns);
	TAILQ_INIT(&h->incomplete);
	LIST_INSERT_HEAD(bucket_of(t->streams, &h->addr), h, entry);
	return h;
}

/*
 * The peer has answered a segment that was sent to its address, and proved by TLS
 * what it is.
 */
static void
prove(const struct rpc_conn *c)
{
	const struct rpc_streams *s = c->tcp->streams;
	const struct rpc_peer *peer = &c->origin.peer;

	if (s->proofs != NULL && !c->tcp->local)
		proofs_add(s->proofs, &peer->from, clock_coarse_ms());
	if (peer->identity != NULL && s->tls.used != NULL)
		s->tls.used(s->tls.arg, peer);
}

static void
set_count(struct rpc_host *h, unsigned int n)
{
	h->crowd->count += n - h->count.n;
	rank_set(&h->crowd->by_count, &h->count, n);
}

bool
rpc_host_add(struct rpc_conn *c)
{
	struct rpc_tcp *t = c->tcp;
	struct rpc_host *h;

	h = rpc_host_find(t->streams, &c->origin.peer);
	if (h == NULL)
		h = host_new(t, &c->origin.peer);
	if (h == NULL)
		return false;
	c->host = h;
	set_count(h, h->count.n + 1);
	t->count++;
	TAILQ_INSERT_TAIL(&t->conns, c, age);
	TAILQ_INSERT_TAIL(&h->conns, c, own);
	prove(c);
	return true;
}

void
rpc_host_remove(struct rpc_conn *c)
{
	struct rpc_tcp *t = c->tcp;
	struct rpc_host *h = c->host;

	if (c->record_since != 0)
		rpc_host_unfinished(c, false);
	TAILQ_REMOVE(&t->conns, c, age);
	TAILQ_REMOVE(&h->conns, c, own);
	t->count--;
	set_count(h, h->count.n - 1);
	if (h->count.n == 0) {
		LIST_REMOVE(h, entry);
		free(h);
	}
	if (t->closed != NULL)
		t->closed(t->arg, c->origin.peer.id);
}

void
rpc_host_touch(struct rpc_conn *c)
{
	uint32_t now = (uint32_t)(clock_coarse_ms() / 1000);

	if (now == c->active)
		return;
	c->active = now;
	prove(c);
	TAILQ_REMOVE(&c->tcp->conns, c, age);
	TAILQ_INSERT_TAIL(&c->tcp->conns, c, age);
	TAILQ_REMOVE(&c->host->conns, c, own);
	TAILQ_INSERT_TAIL(&c->host->conns, c, own);
	rank_touch(&c->host->crowd->by_count, &c->host->count);
}

void
rpc_host_unfinished(struct rpc_conn *c, bool begins)
{
	struct rpc_host *h = c->host;
	struct rpc_crowd *crowd = h->crowd;

	if (begins) {
		TAILQ_INSERT_TAIL(&h->incomplete, c, unfinished);
		crowd->unfinished++;
		rank_set(&crowd->by_unfinished, &h->unfinished,
		    h->unfinished.n + 1);
	} else {
		TAILQ_REMOVE(&h->incomplete, c, unfinished);
		crowd->unfinished--;
		rank_set(&crowd->by_unfinished, &h->unfinished,
		    h->unfinished.n - 1);
	}
}

uint64_t
rpc_host_time(const struct rpc_host *h)
{
	if (h->turn != h->streams->turn)
		return RPC_HOST_NS;
	return h->spent_ns < RPC_HOST_NS ? RPC_HOST_NS - h->spent_ns : 0;
}

void
rpc_host_spend(struct rpc_host *h, uint64_t ns)
{
	if (h->turn != h->streams->turn) {
		h->turn = h->streams->turn;
		h->spent_ns = 0;
	}
	h->spent_ns += ns;
}

void
rpc_host_queue(struct rpc_conn *c, struct rpc_turns *list)
{
	if (c->turn != NULL) {
		TAILQ_REMOVE(&c->turn->conns, c, again);
		c->turn->n--;
	}
	c->turn = list;
	if (list != NULL) {
		TAILQ_INSERT_TAIL(&list->conns, c, again);
		list->n++;
	}
}

/* Looks at few: a host must not make every newcomer expensive. */
static struct rpc_conn *
least_active_idle(const struct rpc_host *h)
{
	struct rpc_conn *c;
	unsigned int n = 0;

	TAILQ_FOREACH (c, &h->conns, own)
		if (rpc_conn_is_idle(c) || ++n == HOST_LOOK)
			break;
	return c != NULL && rpc_conn_is_idle(c) ? c : NULL;
}

struct rpc_conn *
rpc_host_victim(const struct rpc_host *h)
{
	struct rpc_conn *waits = TAILQ_FIRST(&h->incomplete), *idle;

	if (h->unfinished.n > h->count.n / 2)
		return waits;
	idle = least_active_idle(h);
	return idle != NULL ? idle : waits;
}

struct rpc_conn *
rpc_crowd_victim(const struct rpc_streams *s, const struct rpc_crowd *crowd)
{
	const struct rpc_host *h = rank_greatest(&crowd->by_count);
	const struct rpc_host *waits = rank_greatest(&crowd->by_unfinished);
	struct rpc_conn *c = NULL;

	if (waits != NULL && crowd->unfinished > crowd->count / 2)
		return TAILQ_FIRST(&waits->incomplete);
	if (h != NULL)
		c = rpc_host_victim(h);
	if (c == NULL && waits != NULL)
		c = TAILQ_FIRST(&waits->incomplete);
	if (c != NULL)
		return c;
	c = TAILQ_FIRST(&s->stalled);
	if (c != NULL && c->host->crowd == crowd &&
	    clock_coarse_ms() - c->unsent_since > HOST_PATIENCE)
		return c;
	return NULL;
}
