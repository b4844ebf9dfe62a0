/* SPDX-License-Identifier: ISC */
/*
 * Counts handshakes: see handshakes.h. A set of counters that is full counts a
 * new client on top of the smallest count in it. So no client gets more by its
 * choice of addresses, and no client can aim at the set of another.
 * Runs in: nfsd worker, event loop only.
 */
#include <stdlib.h>

#include "nfsd/worker/handshakes.h"

void
handshakes_init(struct handshakes *h)
{
	TAILQ_INIT(&h->waiting);
	hash_key_random(&h->key);
}

/* Returns the counter of a client in this second. */
static struct handshake_rate *
rate_of(struct handshakes *h, uint64_t client, uint64_t second)
{
	uint64_t sum = hash_bytes(&h->key, &client, sizeof(client));
	struct handshake_rate *set = h->rates[sum % HANDSHAKES_SETS];
	struct handshake_rate *least = &set[0];
	size_t i;

	for (i = 0; i < HANDSHAKES_SET; i++) {
		if (set[i].second != second)
			set[i] = (struct handshake_rate){ .second = second };
		if (set[i].client == client)
			return &set[i];
		if (set[i].count < least->count)
			least = &set[i];
	}
	least->client = client;
	return least;
}

const char *
handshakes_refuse(struct handshakes *h, const struct nfsd_tls_limits *limits,
    const struct addr *from, uint64_t now_ms)
{
	struct addr client = addr_client(from), other;
	const struct handshake *w;
	unsigned int n = 0;

	if (++rate_of(h, addr_hash(&client), now_ms / 1000)->count >
	    limits->per_second)
		return "too many of one host (-o tls-handshakes-per-second)";
	TAILQ_FOREACH (w, &h->waiting, entry) {
		other = addr_client(&w->peer.from);
		n += addr_same_host(&other, &client);
	}
	if (n >= limits->per_host)
		return "too many of one host (-o tls-handshakes-per-host)";
	return NULL;
}

bool
handshakes_add(struct handshakes *h, const struct rpc_peer *peer,
    uint64_t now_ms)
{
	struct handshake *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	w->peer = *peer;
	w->since_ms = now_ms;
	TAILQ_INSERT_TAIL(&h->waiting, w, entry);
	h->count++;
	return true;
}

struct handshake *
handshakes_find(struct handshakes *h, uint64_t id)
{
	struct handshake *w;

	TAILQ_FOREACH (w, &h->waiting, entry)
		if (w->peer.id == id)
			break;
	return w;
}

void
handshakes_remove(struct handshakes *h, struct handshake *w)
{
	TAILQ_REMOVE(&h->waiting, w, entry);
	h->count--;
	free(w);
}
