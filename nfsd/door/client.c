/* SPDX-License-Identifier: ISC */
/*
 * Which exports a call sees, and which of them its client may use. A thread
 * holds the list of exports it worked with last and forgets every decision made
 * under it when it takes another one. All objects of one call belong to the
 * same list.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <string.h>

#include "nfsd/door/state.h"

#define IDLE_NS 2000000000u /* a thread without a call for so long is idle */

void
door_set_exports(struct door *door, struct served_exports *x)
{
	active_swap(&door->active, x);
}

const struct served_exports *
door_exports(struct door_thread *t, bool pinned)
{
	if (active_hold(&t->door->active, &t->held, pinned)) {
		t->export = NULL;
		memset(t->peers, 0, sizeof(t->peers));
	}
	return atomic_load(&t->held.list);
}

/* An idle thread must not keep the roots of an old list open. */
static void
release_exports(struct door_thread *t, uint64_t now_ns)
{
	uint64_t used_ns =
	    atomic_load_explicit(&t->used_ns, memory_order_relaxed);

	if (atomic_load(&t->open) != 0 || now_ns - used_ns <= IDLE_NS ||
	    !active_release(&t->door->active, &t->held))
		return;
	/* A file thread clears its own in door_exports(). */
	if (t->index == 0)
		t->export = NULL;
}

void
door_release_idle(struct door *door, uint64_t now_ns)
{
	unsigned int i;

	for (i = 0; i <= door->nthreads; i++)
		release_exports(&door->threads[i], now_ns);
}

/* The row for this peer, from the thread's memory if it is there. */
static const struct export_client *
find_client(struct door_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer)
{
	uint64_t identity = peer_key(peer->identity);
	struct door_peer *p;

	p = &t->peers[(addr_hash(&peer->from) + e->id + identity) % DOOR_PEERS];
	if (p->export != e || p->utf16 != utf16 || p->identity != identity ||
	    !addr_same_host(&p->from, &peer->from)) {
		p->export = e;
		p->utf16 = utf16;
		p->from = peer->from;
		p->identity = identity;
		p->client = exports_client(e->conf, &peer->from, peer->identity,
		    utf16 ? NAMES_UTF16LE : NAMES_BYTES);
	}
	return p->client;
}

const struct export_client *
door_client(struct door_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer, enum door_refusal *why)
{
	const struct export_client *c = find_client(t, e, utf16, peer);
	enum door_refusal refusal;

	if (c == NULL)
		refusal = DOOR_UNKNOWN;
	else if (peer_security(peer->identity) < c->options.xprtsec)
		refusal = DOOR_WEAK;
	else if (!exports_port_ok(c, &peer->from))
		refusal = DOOR_PORT;
	else
		return c;
	if (why != NULL)
		*why = refusal;
	return NULL;
}
