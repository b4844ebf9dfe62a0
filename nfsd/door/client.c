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
	struct served_exports *old;

	pthread_mutex_lock(&door->lock);
	old = door->exports;
	door->exports = x;
	atomic_store(&door->generation, x->generation);
	pthread_mutex_unlock(&door->lock);
	served_done(old);
}

struct served_exports *
door_renew_exports(struct door_thread *t)
{
	struct door *door = t->door;
	struct served_exports *x;

	pthread_mutex_lock(&door->lock);
	x = door->exports == NULL ? NULL : served_use(door->exports);
	pthread_mutex_unlock(&door->lock);
	served_done(atomic_exchange(&t->exports, x));
	t->generation = x == NULL ? 0 : x->generation;
	t->export = NULL;
	t->raw_options = NULL;
	memset(t->peers, 0, sizeof(t->peers));
	return x;
}

/*
 * Releases the replaced exports of a thread that is idle. The thread may begin
 * a call at this moment: then the exchange leaves it without exports, and the
 * call takes the current ones.
 */
static void
release_exports(struct door_thread *t, uint32_t generation, uint64_t now_ns)
{
	struct served_exports *old = atomic_load(&t->exports);
	uint64_t used_ns =
	    atomic_load_explicit(&t->used_ns, memory_order_relaxed);

	if (door_count(t) != 0 || atomic_load(&t->generation) == generation ||
	    now_ns - used_ns <= IDLE_NS ||
	    !atomic_compare_exchange_strong(&t->exports, &old, NULL))
		return;
	served_done(old);
	if (t->index == 0) /* the event loop's own; others set theirs anew */
		t->export = NULL;
}

void
door_release_idle(struct door *door, uint64_t now_ns)
{
	uint32_t generation = atomic_load(&door->generation);
	unsigned int i;

	for (i = 0; i <= door->nthreads; i++)
		release_exports(&door->threads[i], generation, now_ns);
}

const struct export_client *
door_client(struct door_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer)
{
	struct door_peer *p;

	p = &t->peers[(addr_hash(&peer->from) + e->id) % DOOR_PEERS];
	if (p->export != e || p->utf16 != utf16 ||
	    !addr_same_host(&p->from, &peer->from)) {
		p->export = e;
		p->utf16 = utf16;
		p->from = peer->from;
		p->client = exports_client(e->conf, &peer->from,
		    utf16 ? NAMES_UTF16LE : NAMES_BYTES);
	}
	if (p->client == NULL || !exports_port_ok(p->client, &peer->from))
		return NULL;
	return p->client;
}
