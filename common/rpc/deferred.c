/* SPDX-License-Identifier: ISC */
/*
 * Calls that cannot be ended in the event loop at once. One that must wait for a
 * disk is copied and served again from its start on a file thread. One that waits
 * for another process is copied as well. It is served again in the event loop when
 * there is an answer.
 * Runs in: the process that reads the network.
 */
#include <sys/queue.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/pipeline.h"

_Static_assert(RPC_TURN_SHORT == POOL_TURN_SHORT, "calls are jobs");

#define SHORT_MAX                                                              \
	512 /* such replies wait for the event loop in little memory */
#define REPEATS_MAX 8 /* further ones wait until their client asks again */

/* A running call has come again over this connection. */
struct repeat {
	SLIST_ENTRY(repeat) next;
	struct rpc_origin origin;
};

/* A call on a file thread, or parked, with copies of all that it needs. */
struct deferred {
	struct rpc_job job;
	struct rpc_server *server;
	struct rpc_origin origin;
	SLIST_HEAD(, repeat) repeats; /* event loop only */
	unsigned int nrepeats;
	struct work work;
	struct xdr_in args; /* its arguments, from their start */
	unsigned int nleft; /* addresses that had left when it came */
	size_t cap; /* bytes of the reply buffer */
	uint8_t *reply; /* of the file thread; NULL: in brief, or no memory */
	uint8_t brief[SHORT_MAX]; /* a call with errands has such a reply */
	struct rpc_errand errands[RPC_ERRANDS];
	_Alignas(max_align_t) uint8_t memory[]; /* call_* structs, arguments */
};

void
deferred_free_spares(struct rpc_server *s)
{
	while (s->nspares > 0)
		free(s->spares[--s->nspares]);
}

/*
 * Returns memory for a reply of a file thread. Large buffers are reused: new
 * pages are expensive.
 */
static uint8_t *
reply_take(struct rpc_server *s, size_t cap)
{
	uint8_t *reply = NULL;

	pthread_mutex_lock(&s->lock);
	if (cap > s->spare_cap) {
		deferred_free_spares(s);
		s->spare_cap = cap;
	}
	if (cap == s->spare_cap && s->nspares > 0)
		reply = s->spares[--s->nspares];
	pthread_mutex_unlock(&s->lock);
	return reply != NULL ? reply : malloc(cap);
}

static void
reply_give(struct rpc_server *s, uint8_t *reply, size_t cap)
{
	bool keep;

	pthread_mutex_lock(&s->lock);
	keep = reply != NULL && cap == s->spare_cap && s->nspares < SPARES_MAX;
	if (keep)
		s->spares[s->nspares++] = reply;
	pthread_mutex_unlock(&s->lock);
	if (!keep)
		free(reply);
}

/* What the call waited for has ended, and this thread makes its reply. */
static void
deferred_conclude(struct deferred *d, unsigned int thread)
{
	struct rpc_server *s = d->server;
	struct work *w = &d->work;

	w->call.thread = thread;
	xdr_out_init(&w->out, d->brief,
	    d->cap < sizeof(d->brief) ? d->cap : sizeof(d->brief));
	attempt_begin_reply(w);
	if (s->hooks.begin != NULL)
		(void)s->hooks.begin(s->hooks.arg, w->ctx, &w->call);
	attempt_conclude(s, w);
	attempt_keep_reply(w);
}

/*
 * Runs a call again, from its start. Returns false if it must run once more, on a
 * file thread.
 */
static bool
run_again(struct deferred *d, bool may_block, unsigned int thread)
{
	struct work *w = &d->work;
	bool ended;

	d->reply = reply_take(d->server, d->cap);
	if (d->reply == NULL)
		return true; /* the transport gets a reply of length 0 */
	xdr_out_init(&w->out, d->reply, d->cap);
	w->in = d->args;
	w->call.may_block = may_block;
	w->call.in_batch = may_block && d->server->hooks.batch != NULL;
	w->call.deferred = false;
	w->call.thread = thread;
	ended = attempt_run(d->server, w);
	d->job.nerrands = ended ? w->call.nerrands : 0;
	d->job.in_order = w->call.in_order;
	d->job.late = ended && w->call.late;
	if (!ended)
		w->out.len = 0;
	else if (d->job.nerrands == 0 && !d->job.late)
		attempt_keep_reply(w);
	if (w->out.len > sizeof(d->brief))
		return ended;
	memcpy(d->brief, w->out.base, w->out.len);
	w->out.base = d->brief;
	reply_give(d->server, d->reply, d->cap);
	d->reply = NULL;
	return ended;
}

void
rpc_server_address_left(struct rpc_server *s, const struct addr *at)
{
	pthread_mutex_lock(&s->lock);
	s->left[s->nleft % LEFT_MAX] = *at;
	s->nleft++;
	pthread_mutex_unlock(&s->lock);
}

/* Has the address left that the call was made to, since the call came? */
static bool
has_lost_address(const struct deferred *d)
{
	struct rpc_server *s = d->server;
	unsigned int i;
	bool lost = false;

	if (s->nleft == d->nleft)
		return false;
	pthread_mutex_lock(&s->lock);
	for (i = s->nleft; !lost && i != d->nleft && s->nleft - i < LEFT_MAX;
	     i--)
		lost = addr_same_host(&s->left[(i - 1) % LEFT_MAX],
		    &d->origin.peer.to);
	pthread_mutex_unlock(&s->lock);
	return lost;
}

/* Runs the call on a file thread. */
static void
deferred_run(struct rpc_job *job, unsigned int thread)
{
	struct deferred *d = (struct deferred *)(void *)job;

	if (job->held)
		deferred_conclude(d, thread);
	else if (has_lost_address(d))
		d->work.call.dropped = true;
	else
		(void)run_again(d, true, thread);
}

/* Sends the reply, in the event loop. */
static void
deferred_done(struct rpc_job *job)
{
	struct deferred *d = (struct deferred *)(void *)job;
	struct rpc_server *s = d->server;
	const struct rpc_call *call = &d->work.call;
	size_t len = call->silent || call->dropped ? 0 : d->work.out.len;
	struct repeat *r;

	attempt_finish(s, &d->work);
	s->in_flight--;
	d->origin.reply(&d->origin, d->work.out.base, len);
	while ((r = SLIST_FIRST(&d->repeats)) != NULL) {
		SLIST_REMOVE_HEAD(&d->repeats, next);
		r->origin.reply(&r->origin, d->work.out.base, len);
		free(r);
	}
	reply_give(s, d->reply, d->cap);
	peer_release(d->origin.peer.identity);
	free(d);
}

bool
rpc_server_resume(struct rpc_job *job)
{
	struct deferred *d = (struct deferred *)(void *)job;
	struct rpc_server *s = d->server;
	struct work *w = &d->work;

	if (run_again(d, false, rpc_pool_loop_thread(s->pool))) {
		deferred_done(job);
		return true;
	}
	job->queue = w->call.queue;
	job->turn = w->call.turn;
	if (s->hooks.deferred != NULL)
		s->hooks.deferred(s->hooks.arg, w->ctx, &w->call);
	return false;
}

bool
rpc_server_queue(struct rpc_job *job)
{
	struct deferred *d = (struct deferred *)(void *)job;

	return rpc_pool_submit(d->server->pool, job);
}

/* Copies a call of this size that cannot be ended now. NULL: no memory. */
static struct deferred *
copy_call(struct rpc_server *s, const struct rpc_origin *origin,
    const struct xdr_in *args, size_t size)
{
	struct work *w = &s->work;
	struct deferred *d = malloc(size);
	uint8_t *copy;

	if (d == NULL)
		return NULL;
	memset(&d->job, 0, sizeof(d->job));
	d->job.run = deferred_run;
	d->job.done = deferred_done;
	d->job.queue = w->call.queue;
	d->job.turn = w->call.turn;
	d->job.sender = origin->ticket;
	d->job.size = size + w->call.reply_size;
	d->server = s;
	d->origin = *origin;
	d->origin.awaited = w->call.reply_size;
	SLIST_INIT(&d->repeats);
	d->nrepeats = 0;
	d->work = *w;
	d->work.begun = false;
	d->work.call.peer = &d->origin.peer;
	d->work.call.errands = d->job.errands = d->errands;
	d->work.out.len = 0;
	d->nleft = s->nleft;
	d->cap = w->out.cap;
	d->reply = NULL;
	copy = d->memory + attempt_lay_out(&s->hooks, d->memory, &d->work);
	memcpy(copy, args->pos, args->left);
	xdr_in_init(&d->args, copy, args->left);
	return d;
}

/* Gives a copy to the file threads, or has it parked. False: there is no room. */
static bool
hand_over(struct rpc_server *s, struct deferred *d)
{
	const struct work *w = &s->work;

	if (w->call.parked)
		return s->hooks.parked(s->hooks.arg, w->ctx, &w->call, &d->job);
	return rpc_pool_submit(s->pool, &d->job);
}

enum rpc_verdict
deferred_add(struct rpc_server *s, const struct rpc_origin *origin,
    const struct xdr_in *args)
{
	struct work *w = &s->work;
	struct deferred *d;
	size_t size;

	size = sizeof(*d) + s->structs_size + args->left;
	if (!w->call.parked &&
	    !rpc_pool_has_room(s->pool, w->call.queue, w->call.turn,
		size + w->call.reply_size))
		return RPC_BUSY;
	d = copy_call(s, origin, args, size);
	if (d == NULL)
		return RPC_BUSY;
	if (!hand_over(s, d)) {
		free(d);
		return RPC_BUSY;
	}
	if (d->work.entry != NULL)
		reply_cache_set_call(d->work.entry, d);
	(void)peer_hold(d->origin.peer.identity);
	(void)attempt_ended_at(s);
	s->in_flight++;
	if (!w->call.parked && s->hooks.deferred != NULL)
		s->hooks.deferred(s->hooks.arg, w->ctx, &w->call);
	return RPC_DEFERRED;
}

/*
 * The call is still running. If it came again over another connection, its client
 * has lost the first one: the reply goes there too. Else the client would wait for
 * it until it gives up that connection as well, for a minute.
 */
enum rpc_verdict
deferred_repeat(struct deferred *d, const struct rpc_origin *origin)
{
	struct repeat *r;

	if (d == NULL || origin->peer.kind != RPC_TCP ||
	    origin->ticket == d->origin.ticket || d->nrepeats == REPEATS_MAX)
		return RPC_DROP;
	SLIST_FOREACH (r, &d->repeats, next)
		if (r->origin.ticket == origin->ticket)
			return RPC_DROP;
	r = malloc(sizeof(*r));
	if (r == NULL)
		return RPC_DROP;
	r->origin = *origin;
	r->origin.peer.identity = NULL; /* of the connection, which may end */
	SLIST_INSERT_HEAD(&d->repeats, r, next);
	d->nrepeats++;
	return RPC_DEFERRED;
}
