/* SPDX-License-Identifier: ISC */
/*
 * Counts the stream connections of each host and orders them by activity: see
 * rpc/conn.h. Local peers are counted by user.
 * Runs in: the process that reads the network.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "rpc/conn.h"

/* Returns the key that connections are counted by: address or local user. */
static struct addr
key_of(const struct rpc_peer *peer)
{
	struct addr key = peer->from;

	key.port = 0;
	if (peer->kind == RPC_UNIX)
		key.scope = peer->uid;
	return key;
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
host_new(struct rpc_streams *s, const struct rpc_peer *peer)
{
	struct rpc_host *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->addr = key_of(peer);
	TAILQ_INIT(&h->conns);
	LIST_INSERT_HEAD(bucket_of(s, &h->addr), h, entry);
	return h;
}

bool
rpc_host_add(struct rpc_conn *c)
{
	struct rpc_tcp *t = c->tcp;
	struct rpc_host *h;

	h = rpc_host_find(t->streams, &c->origin.peer);
	if (h == NULL)
		h = host_new(t->streams, &c->origin.peer);
	if (h == NULL)
		return false;
	c->host = h;
	h->count++;
	t->count++;
	if (!t->local)
		t->streams->remote++;
	TAILQ_INSERT_TAIL(&t->conns, c, age);
	TAILQ_INSERT_TAIL(&h->conns, c, own);
	return true;
}

void
rpc_host_remove(struct rpc_conn *c)
{
	struct rpc_tcp *t = c->tcp;
	struct rpc_host *h = c->host;

	TAILQ_REMOVE(&t->conns, c, age);
	TAILQ_REMOVE(&h->conns, c, own);
	t->count--;
	if (!t->local)
		t->streams->remote--;
	if (--h->count == 0) {
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
	TAILQ_REMOVE(&c->tcp->conns, c, age);
	TAILQ_INSERT_TAIL(&c->tcp->conns, c, age);
	TAILQ_REMOVE(&c->host->conns, c, own);
	TAILQ_INSERT_TAIL(&c->host->conns, c, own);
}

struct rpc_host *
rpc_host_greatest(struct rpc_streams *s)
{
	struct rpc_host *h, *best;
	size_t i;

	best = NULL;
	for (i = 0; i < RPC_HOSTS; i++)
		LIST_FOREACH (h, &s->hosts[i], entry) {
			if (h->addr.family == AF_UNIX)
				continue;
			if (best == NULL || h->count > best->count ||
			    (h->count == best->count &&
				TAILQ_FIRST(&h->conns)->active <
				    TAILQ_FIRST(&best->conns)->active))
				best = h;
		}
	return best;
}
