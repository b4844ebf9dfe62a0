/* SPDX-License-Identifier: ISC */
/*
 * The pipeline: see rpc/server.h. Only this file distinguishes valid from
 * invalid messages. The event loop serves calls with memory that is allocated
 * once. A call that must wait for a disk is copied and served again from its
 * start on a file thread. One that waits for another process is copied as well.
 * It is served again in the event loop when there is an answer.
 * Runs in: the process that reads the network.
 */
#include <sys/queue.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/msg.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"

_Static_assert(RPC_TURN_SHORT == POOL_TURN_SHORT, "calls are jobs");

/* One attempt to serve a call. */
struct work {
	struct rpc_call call;
	struct call_ctx *ctx;
	struct call_args *args;
	struct call_res *res;
	struct xdr_in in; /* at the arguments */
	struct xdr_out out;
	struct reply_cache_entry *entry; /* NULL: not cached */
	bool begun; /* hooks.end must be called */
};

#define SPARES_MAX 8 /* reply buffers kept for file threads */
#define SHORT_MAX                                                              \
	512 /* such replies wait for the event loop in little memory */

struct rpc_server {
	const struct rpc_prog *const *progs;
	size_t nprogs;
	struct rpc_hooks hooks;
	struct reply_cache *cache;
	struct rpc_pool *pool;
	bool offers_tls;
	size_t in_flight;
	uint64_t now_ns; /* while a batch is served; else 0 */
	struct work work; /* of the event loop */
	struct rpc_errand errands[RPC_ERRANDS]; /* the same */
	pthread_mutex_t lock; /* protects the spare buffers */
	uint8_t *spares[SPARES_MAX];
	unsigned int nspares;
	size_t spare_cap; /* size of a spare buffer */
};

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
	struct work work;
	struct xdr_in args; /* its arguments, from their start */
	size_t cap; /* bytes of the reply buffer */
	uint8_t *reply; /* of the file thread; NULL: in brief, or no memory */
	uint8_t brief[SHORT_MAX]; /* a call with errands has such a reply */
	struct rpc_errand errands[RPC_ERRANDS];
	_Alignas(max_align_t) uint8_t memory[]; /* call_* structs, arguments */
};

/* Places the call_* structs in one block of memory. Returns its size. */
static size_t
lay_out(const struct rpc_hooks *h, uint8_t *memory, struct work *w)
{
	size_t align = _Alignof(max_align_t), args, res, size;

	args = (h->ctx_size + align - 1) / align * align;
	res = args + (h->args_size + align - 1) / align * align;
	size = res + (h->res_size + align - 1) / align * align;
	if (memory != NULL) {
		w->ctx = (struct call_ctx *)(void *)memory;
		w->args = (struct call_args *)(void *)(memory + args);
		w->res = (struct call_res *)(void *)(memory + res);
	}
	return size;
}

struct rpc_server *
rpc_server_new(const struct rpc_prog *const *progs, size_t nprogs,
    const struct rpc_hooks *hooks)
{
	struct rpc_server *s;
	uint8_t *memory;

	s = calloc(1, sizeof(*s));
	memory = calloc(1, lay_out(hooks, NULL, NULL) + 1);
	if (s == NULL || memory == NULL)
		fatal("rpc server");
	pthread_mutex_init(&s->lock, NULL);
	s->progs = progs;
	s->nprogs = nprogs;
	s->hooks = *hooks;
	lay_out(hooks, memory, &s->work);
	return s;
}

void
rpc_server_set_cache(struct rpc_server *s, struct reply_cache *cache)
{
	s->cache = cache;
}

void
rpc_server_set_pool(struct rpc_server *s, struct rpc_pool *pool)
{
	s->pool = pool;
}

void
rpc_server_offer_tls(struct rpc_server *s, bool offer)
{
	s->offers_tls = offer;
}

void
rpc_server_free(struct rpc_server *s)
{
	if (s == NULL)
		return;
	free(s->work.ctx); /* one block, see lay_out() */
	while (s->nspares > 0)
		free(s->spares[--s->nspares]);
	free(s);
}

size_t
rpc_server_in_flight(const struct rpc_server *s)
{
	return s->in_flight;
}

uint64_t
rpc_server_last_ns(const struct rpc_server *s)
{
	return s->work.call.started_ns;
}

void
rpc_server_begin(struct rpc_server *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
}

uint64_t
rpc_server_end(struct rpc_server *s)
{
	s->now_ns = 0;
	return clock_ns();
}

/* A call of a batch begins when the one before it has ended. */
static uint64_t
started_at(const struct rpc_server *s)
{
	return s->now_ns != 0 ? s->now_ns : clock_ns();
}

static uint64_t
ended_at(struct rpc_server *s)
{
	uint64_t now_ns = clock_ns();

	if (s->now_ns != 0)
		s->now_ns = now_ns;
	return now_ns;
}

static const struct rpc_prog *
find_prog(const struct rpc_server *s, uint32_t prog)
{
	size_t i;

	for (i = 0; i < s->nprogs; i++)
		if (s->progs[i]->prog == prog)
			return s->progs[i];
	return NULL;
}

static const struct rpc_vers *
find_vers(const struct rpc_prog *prog, uint32_t vers)
{
	uint32_t i;

	for (i = 0; i < prog->nvers; i++)
		if (prog->vers[i].vers == vers)
			return &prog->vers[i];
	return NULL;
}

/* Sets call->prog, vers and proc. Returns RPC_SUCCESS or the error. */
static enum rpc_accept_stat
find_row(const struct rpc_server *s, struct rpc_call *call,
    const struct rpc_head *head)
{
	call->procnum = head->proc;
	call->vers = NULL;
	call->proc = NULL;
	call->prog = find_prog(s, head->prog);
	if (call->prog == NULL)
		return RPC_PROG_UNAVAIL;
	call->vers = find_vers(call->prog, head->vers);
	if (call->vers == NULL)
		return RPC_PROG_MISMATCH;
	if (head->proc >= call->vers->nprocs ||
	    call->vers->procs[head->proc].name == NULL)
		return RPC_PROC_UNAVAIL;
	call->proc = &call->vers->procs[head->proc];
	return RPC_SUCCESS;
}

static void
log_call(const struct rpc_server *s, const struct work *w)
{
	const struct rpc_call *call = &w->call;
	char from[ADDR_STRLEN], more[RPC_SHOWN] = "";

	if (s->hooks.show != NULL && call->outcome == RPC_SUCCESS)
		s->hooks.show(call, w->res, more);
	log_debug("%s: %s %u %s: xid %08x uid %u: outcome %u%s",
	    addr_print(&call->peer->from, from), call->prog->name,
	    call->vers->vers, call->proc->name, call->xid, call->cred.uid,
	    (unsigned int)call->outcome, more);
}

/*
 * Keeps the reply for repeats, on the thread that ran the call: the worker may be
 * killed before its event loop goes on.
 */
static void
keep_reply(struct work *w)
{
	if (w->entry != NULL && w->call.outcome == RPC_SUCCESS &&
	    !w->call.refused && !w->call.dropped)
		reply_cache_keep(w->entry, w->out.base, w->out.len);
}

/* Calls hooks.end. Event loop only. */
static void
finish(struct rpc_server *s, struct work *w)
{
	w->call.ended_ns = ended_at(s);
	if (w->begun && s->hooks.end != NULL)
		s->hooks.end(s->hooks.arg, w->ctx, &w->call, w->res);
	w->begun = false;
	if (w->entry != NULL) {
		reply_cache_finish(s->cache, w->entry);
		w->entry = NULL;
	}
	if (log_verbose() > 1)
		log_call(s, w);
}

/* The attempt ends with a denial, which the reply cache does not keep. */
static bool
attempt_denied(struct work *w)
{
	xdr_out_init(&w->out, w->out.base, w->out.cap);
	rpc_put_auth_error(&w->out, w->call.xid, w->call.deny);
	return true;
}

/* The header of a reply to a call that succeeds. */
static void
begin_reply(struct work *w)
{
	rpc_put_accepted(&w->out, w->call.xid, RPC_SUCCESS);
	w->call.room = w->out.base + w->out.len;
	w->call.room_len = xdr_out_left(&w->out);
}

/* The operation has run, and what it left has been done. Encodes the result. */
static void
conclude(struct rpc_server *s, struct work *w)
{
	struct rpc_call *call = &w->call;

	if (call->nerrands > 0)
		s->hooks.settle(w->ctx, w->res);
	if (s->hooks.ran != NULL)
		s->hooks.ran(w->ctx, w->res);
	if (s->hooks.drops != NULL && s->hooks.drops(w->ctx, w->res))
		call->dropped = true;
	if (call->refuse == RPC_SUCCESS)
		call->proc->put(&w->out, w->res);
	call->outcome = w->out.failed ? RPC_SYSTEM_ERR : call->refuse;
	if (call->outcome != RPC_SUCCESS) {
		xdr_out_init(&w->out, w->out.base, w->out.cap);
		rpc_put_accepted(&w->out, call->xid, call->outcome);
	}
}

/*
 * Decodes, runs, encodes. Returns false if the operation must run again on a file
 * thread. If it leaves errands, the caller sees to them and concludes the call.
 */
static bool
attempt(struct rpc_server *s, struct work *w)
{
	struct rpc_call *call = &w->call;

	memset(w->ctx, 0, s->hooks.ctx_size);
	memset(w->args, 0, s->hooks.args_size);
	memset(w->res, 0, s->hooks.res_size);
	begin_reply(w);
	call->nerrands = 0;
	call->in_order = false;
	call->outcome = RPC_SYSTEM_ERR;
	call->refuse = RPC_SUCCESS;
	call->deny = AUTH_OK;
	call->refused = call->silent = call->dropped = false;
	call->args = w->args;
	if (s->hooks.begin != NULL)
		call->deny = s->hooks.begin(s->hooks.arg, w->ctx, call);
	if (call->deny != AUTH_OK)
		return attempt_denied(w);
	w->begun = true;
	call->proc->get(&w->in, w->args);
	if (w->in.failed) {
		call->outcome = RPC_GARBAGE_ARGS;
		xdr_out_init(&w->out, w->out.base, w->out.cap);
		rpc_put_accepted(&w->out, call->xid, call->outcome);
		return true;
	}
	call->proc->run(w->ctx, w->args, w->res);
	if (call->deferred && !call->may_block)
		return false;
	if (call->deny != AUTH_OK)
		return attempt_denied(w);
	if (call->nerrands == 0)
		conclude(s, w);
	return true;
}

/* Without file threads the errands are run where the operation ran. */
static void
run_errands(struct work *w)
{
	struct rpc_errand *e = w->call.errands, *end = e + w->call.nerrands;

	for (; e < end; e++)
		e->result = e->run(e, w->call.thread);
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
		while (s->nspares > 0)
			free(s->spares[--s->nspares]);
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

/* All errands of the call have ended, and this thread makes its reply. */
static void
deferred_conclude(struct deferred *d, unsigned int thread)
{
	struct rpc_server *s = d->server;
	struct work *w = &d->work;

	w->call.thread = thread;
	xdr_out_init(&w->out, d->brief,
	    d->cap < sizeof(d->brief) ? d->cap : sizeof(d->brief));
	begin_reply(w);
	if (s->hooks.begin != NULL)
		(void)s->hooks.begin(s->hooks.arg, w->ctx, &w->call);
	conclude(s, w);
	keep_reply(w);
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
	w->call.deferred = false;
	w->call.thread = thread;
	ended = attempt(d->server, w);
	d->job.nerrands = ended ? w->call.nerrands : 0;
	d->job.in_order = w->call.in_order;
	if (!ended)
		w->out.len = 0;
	else if (d->job.nerrands == 0)
		keep_reply(w);
	if (w->out.len > sizeof(d->brief))
		return ended;
	memcpy(d->brief, w->out.base, w->out.len);
	w->out.base = d->brief;
	reply_give(d->server, d->reply, d->cap);
	d->reply = NULL;
	return ended;
}

/* Runs the call on a file thread. */
static void
deferred_run(struct rpc_job *job, unsigned int thread)
{
	struct deferred *d = (struct deferred *)(void *)job;

	if (job->held)
		deferred_conclude(d, thread);
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

	finish(s, &d->work);
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
	d->work = *w;
	d->work.begun = false;
	d->work.call.peer = &d->origin.peer;
	d->work.call.errands = d->job.errands = d->errands;
	d->work.out.len = 0;
	d->cap = w->out.cap;
	d->reply = NULL;
	copy = d->memory + lay_out(&s->hooks, d->memory, &d->work);
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

/* Keeps a copy of the call for the file threads, or until it is resumed. */
static enum rpc_verdict
defer(struct rpc_server *s, const struct rpc_origin *origin,
    const struct xdr_in *args)
{
	struct work *w = &s->work;
	struct deferred *d;
	size_t size;

	size = sizeof(*d) + lay_out(&s->hooks, NULL, NULL) + args->left;
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
	(void)ended_at(s);
	s->in_flight++;
	if (!w->call.parked && s->hooks.deferred != NULL)
		s->hooks.deferred(s->hooks.arg, w->ctx, &w->call);
	return RPC_DEFERRED;
}

static enum rpc_verdict
copy_reply(struct work *w, struct slice reply, size_t *outlen)
{
	if (reply.len > w->out.cap)
		return RPC_DROP;
	memcpy(w->out.base, reply.data, reply.len);
	*outlen = reply.len;
	return RPC_ANSWERED;
}

/*
 * The call is still running. If it came again over another connection, its client
 * has lost the first one: the reply goes there too. Else the client would wait for
 * it until it gives up that connection as well, for a minute.
 */
static enum rpc_verdict
wait_too(struct deferred *d, const struct rpc_origin *origin)
{
	struct repeat *r;

	if (d == NULL || origin->peer.kind != RPC_TCP ||
	    origin->ticket == d->origin.ticket)
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
	return RPC_DEFERRED;
}

/*
 * Is the call in the reply cache? If so, *verdict says what to do: send the
 * cached reply, or wait for that of the first call, which is in progress.
 */
static bool
is_repeated(struct rpc_server *s, struct work *w,
    const struct rpc_origin *origin, size_t *outlen, enum rpc_verdict *verdict)
{
	struct reply_cache_key key;
	enum reply_cache_found state;

	w->entry = NULL;
	if (s->cache == NULL || (w->call.proc->flags & RPC_CACHED) == 0)
		return false;
	reply_cache_key(s->cache, &key, &w->call, w->in.pos, w->in.left);
	state = reply_cache_find(s->cache, &key, w->call.started_ns, &w->entry);
	if (state != REPLY_CACHE_BUSY && state != REPLY_CACHE_HIT)
		return false;
	*verdict = state == REPLY_CACHE_BUSY ?
	    wait_too(reply_cache_call(w->entry), origin) :
	    copy_reply(w, reply_cache_reply(w->entry), outlen);
	w->entry = NULL;
	return true;
}

/* Serves a call whose row is known, in the event loop. */
static enum rpc_verdict
serve_call(struct rpc_server *s, const struct rpc_origin *origin,
    size_t *outlen)
{
	struct work *w = &s->work;
	struct xdr_in args = w->in;
	enum rpc_verdict verdict;

	*outlen = 0;
	w->call.peer = &origin->peer;
	w->call.started_ns = started_at(s);
	w->call.may_block = s->pool == NULL;
	w->call.deferred = w->call.parked = false;
	w->call.turn = 0;
	w->call.queue = 0;
	w->call.reply_size = 0;
	w->call.errands = s->errands;
	w->call.thread = s->pool == NULL ? 0 : rpc_pool_loop_thread(s->pool);
	w->begun = false;
	if (is_repeated(s, w, origin, outlen, &verdict)) {
		(void)ended_at(s);
		return verdict;
	}
	if (attempt(s, w)) {
		if (w->call.nerrands > 0) {
			run_errands(w);
			conclude(s, w);
		}
		keep_reply(w);
		finish(s, w);
		*outlen = w->out.len;
		if (w->call.dropped && !w->call.silent)
			return RPC_DROP;
		return w->call.silent ? RPC_HANGUP : RPC_ANSWERED;
	}
	verdict = defer(s, origin, &args);
	*outlen = w->call.reply_size;
	if (verdict == RPC_BUSY && w->entry != NULL)
		reply_cache_finish(s->cache, w->entry);
	w->entry = NULL;
	return verdict;
}

/* Answers a call that has no row. */
static enum rpc_verdict
server_refuse(struct work *w, uint32_t xid, enum rpc_accept_stat stat,
    size_t *outlen)
{
	const struct rpc_prog *prog = w->call.prog;

	if (stat == RPC_PROG_MISMATCH)
		rpc_put_prog_mismatch(&w->out, xid, prog->vers[0].vers,
		    prog->vers[prog->nvers - 1].vers);
	else
		rpc_put_accepted(&w->out, xid, stat);
	*outlen = w->out.len;
	return w->out.failed ? RPC_DROP : RPC_ANSWERED;
}

static enum rpc_verdict
deny(struct work *w, uint32_t xid, enum rpc_auth_stat why, size_t *outlen)
{
	rpc_put_auth_error(&w->out, xid, why);
	*outlen = w->out.len;
	return w->out.failed ? RPC_DROP : RPC_ANSWERED;
}

static enum rpc_auth_stat
get_caller(const struct rpc_head *head, const struct rpc_peer *peer,
    struct rpc_cred *cred)
{
	if (head->cred.flavor == AUTH_TLS)
		return rpc_get_probe(head, peer->identity != NULL, cred);
	return rpc_get_cred(&head->cred, cred);
}

/*
 * Answers a client that asks for TLS. It goes on with TLS whatever the status
 * says.
 */
static enum rpc_verdict
start_tls(struct work *w, enum rpc_accept_stat stat, size_t *outlen)
{
	const struct rpc_prog *prog = w->call.prog;

	rpc_put_starttls(&w->out, w->call.xid, stat);
	if (stat == RPC_PROG_MISMATCH) {
		xdr_put_u32(&w->out, prog->vers[0].vers);
		xdr_put_u32(&w->out, prog->vers[prog->nvers - 1].vers);
	}
	*outlen = w->out.len;
	return w->out.failed ? RPC_HANGUP : RPC_STARTTLS;
}

enum rpc_verdict
rpc_serve(struct rpc_server *s, const struct rpc_origin *origin,
    const uint8_t *msg, size_t len, uint8_t *out, size_t cap, size_t *outlen)
{
	struct work *w = &s->work;
	struct rpc_head head;
	enum rpc_accept_stat stat;
	enum rpc_auth_stat auth;

	xdr_in_init(&w->in, msg, len);
	xdr_out_init(&w->out, out,
	    cap < origin->peer.max_reply ? cap : origin->peer.max_reply);
	switch (rpc_get_call(&w->in, &head)) {
	case RPC_HEAD_NOISE:
		return RPC_HANGUP;
	case RPC_HEAD_REPLY:
		return RPC_DROP;
	case RPC_HEAD_VERSION:
		rpc_put_rpc_mismatch(&w->out, head.xid);
		*outlen = w->out.len;
		return w->out.failed ? RPC_DROP : RPC_ANSWERED;
	case RPC_HEAD_BADCRED:
		return deny(w, head.xid, AUTH_BADCRED, outlen);
	case RPC_HEAD_BADVERF:
		return deny(w, head.xid, AUTH_BADVERF, outlen);
	case RPC_HEAD_CALL:
		break;
	}
	auth = get_caller(&head, &origin->peer, &w->call.cred);
	if (auth != AUTH_OK)
		return deny(w, head.xid, auth, outlen);
	w->call.xid = head.xid;
	stat = find_row(s, &w->call, &head);
	if (head.cred.flavor == AUTH_TLS && s->offers_tls &&
	    origin->peer.kind == RPC_TCP)
		return start_tls(w, stat, outlen);
	if (stat != RPC_SUCCESS)
		return server_refuse(w, head.xid, stat, outlen);
	if (w->out.cap < RPC_REPLY_HEADER)
		return RPC_DROP;
	return serve_call(s, origin, outlen);
}

void
rpc_get_void(struct xdr_in *x UNUSED, struct call_args *args UNUSED)
{
}

void
rpc_run_void(struct call_ctx *ctx UNUSED, const struct call_args *args UNUSED,
    struct call_res *res UNUSED)
{
}

void
rpc_put_void(struct xdr_out *x UNUSED, const struct call_res *res UNUSED)
{
}
