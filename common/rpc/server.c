/* SPDX-License-Identifier: ISC */
/*
 * The dispatcher: see rpc/server.h. Only this file distinguishes valid from
 * invalid messages. The event loop serves calls with memory that is allocated
 * once.
 * Runs in: the process that reads the network.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/msg.h"
#include "rpc/pipeline.h"

struct rpc_server *
rpc_server_new(const struct rpc_prog *const *progs, size_t nprogs,
    const struct rpc_hooks *hooks)
{
	struct rpc_server *s;
	uint8_t *memory;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		fatal("rpc server");
	s->structs_size = attempt_lay_out(hooks, NULL, NULL);
	s->zeroed = s->structs_size - hooks->args_raw;
	memory = calloc(1, s->structs_size + 1);
	if (memory == NULL)
		fatal("rpc server");
	pthread_mutex_init(&s->lock, NULL);
	s->progs = progs;
	s->nprogs = nprogs;
	s->hooks = *hooks;
	attempt_lay_out(hooks, memory, &s->work);
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
	if (pool != NULL)
		rpc_pool_at_batch_end(pool, s->hooks.batch, s->hooks.arg);
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
	free(s->work.ctx); /* one block, see attempt_lay_out() */
	deferred_free_spares(s);
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

static enum rpc_verdict
copy_reply(struct work *w, struct slice reply, size_t *outlen)
{
	if (reply.len > w->out.cap)
		return RPC_DROP;
	memcpy(w->out.base, reply.data, reply.len);
	*outlen = reply.len;
	return RPC_ANSWERED;
}

/* May another process have had calls of this client that are repeated now? */
static bool
is_new_here(const struct work *w)
{
	const uint64_t ns = REPLY_CACHE_SECONDS * UINT64_C(1000000000);
	uint64_t since_ns = w->call.peer->since_ns;

	return w->call.peer->moved ||
	    (since_ns != 0 && w->call.started_ns - since_ns < ns);
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
	if (state == REPLY_CACHE_NEW && is_new_here(w))
		state = reply_cache_ask(s->cache, w->entry, 0);
	if (state == REPLY_CACHE_NEW || state == REPLY_CACHE_FULL)
		return false;
	if (state == REPLY_CACHE_HIT)
		*verdict = copy_reply(w, reply_cache_reply(w->entry), outlen);
	else if (state == REPLY_CACHE_BUSY)
		*verdict = deferred_repeat(reply_cache_call(w->entry), origin);
	else
		*verdict = state == REPLY_CACHE_LOST ? RPC_DROP : RPC_BUSY;
	w->entry = NULL;
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
	w->call.started_ns = attempt_started_at(s);
	w->call.may_block = s->pool == NULL;
	w->call.deferred = w->call.parked = w->call.in_batch = false;
	w->call.turn = 0;
	w->call.queue = 0;
	w->call.reply_size = 0;
	w->call.errands = s->errands;
	w->call.thread = s->pool == NULL ? 0 : rpc_pool_loop_thread(s->pool);
	w->begun = false;
	if (is_repeated(s, w, origin, outlen, &verdict)) {
		(void)attempt_ended_at(s);
		return verdict;
	}
	if (attempt_run(s, w)) {
		if (w->call.nerrands > 0) {
			run_errands(w);
			attempt_conclude(s, w);
		}
		attempt_keep_reply(w);
		attempt_finish(s, w);
		*outlen = w->out.len;
		if (w->call.dropped && !w->call.silent)
			return RPC_DROP;
		return w->call.silent ? RPC_HANGUP : RPC_ANSWERED;
	}
	verdict = deferred_add(s, origin, &args);
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
