/* SPDX-License-Identifier: ISC */
/*
 * The procedures of NLM and NSM. This process has no table of locks: it asks the
 * locks role. A call in the event loop is parked until its answer comes. If that
 * is not to be had at once, a file thread asks again. What a call says about its
 * sender is a claim, which the locks role judges.
 * Runs in: nfsd nlm (event loop and file threads), tests.
 */
#include <sched.h>
#include <string.h>

#include "base/util.h"
#include "nfsd/nlm/nlm.h"
#include "rpc/server.h"

#define PRIVILEGED 1024 /* only root may send from the ports below */

/* The call must run again on a file thread, with those of its export. */
static bool
is_deferred(struct call_ctx *ctx, unsigned int queue)
{
	struct rpc_call *call = ctx->call;

	if (call->may_block)
		return false;
	call->queue = queue;
	call->deferred = true;
	return true;
}

static void
set_client(const struct rpc_call *call, const struct slice *name,
    struct locks_client *client)
{
	client->from = call->peer->from;
	client->to = call->peer->to;
	client->vers = call->vers->vers;
	client->kind = (uint32_t)call->peer->kind;
	client->name_len = (uint32_t)name->len;
}

/* The owner of a lock, with the file: see order.h. */
static uint64_t
owner_of(const struct nlm *nlm, const struct nlm_question *q)
{
	const struct hash_key *key = &nlm->order.key;
	const struct locks_client *c = &q->ask.client;
	const uint64_t parts[] = { hash_bytes(key, c->from.bytes,
				       sizeof(c->from.bytes)),
		(uint64_t)c->vers << 32 | c->kind,
		hash_bytes(key, q->name.data, q->name.len),
		hash_bytes(key, &q->ask.fh, sizeof(q->ask.fh)),
		(uint32_t)q->ask.svid };

	return hash_bytes(key, parts, sizeof(parts)) | 1;
}

/* Asks with the others of this turn. False: the call is not parked. */
static bool
is_parked(struct call_ctx *ctx, const struct nlm_question *q)
{
	struct rpc_call *call = ctx->call;

	call->queue = fh_export_id(&q->ask.fh);
	if (!ctx->nlm->may_park(ctx->nlm->arg, ctx->owner, call->queue))
		return false;
	ctx->question = *q;
	ctx->question.ask.brief = true;
	ctx->question.ask.cpu = (uint32_t)sched_getcpu();
	call->parked = call->deferred = true;
	return true;
}

/* The answer of a call that was parked. False: a file thread asks again. */
static bool
recall(const struct nlm *nlm, struct call_res *res)
{
	if (nlm->answer.stat == LOCKS_LATER)
		return false;
	res->answer = nlm->answer;
	if (res->answer.owner_len > 0)
		memcpy(res->oh, nlm->answer_owner, res->answer.owner_len);
	return true;
}

/* In the event loop: is the call answered, or parked for an answer? */
static bool
is_brief(struct call_ctx *ctx, const struct nlm_question *q,
    struct call_res *res)
{
	if (ctx->call->may_block)
		return false;
	return ctx->call->parked ? recall(ctx->nlm, res) : is_parked(ctx, q);
}

/*
 * Without a locks role there is grace: it is restarting, and its clients will be
 * told to claim their locks again.
 */
static void
ask(struct call_ctx *ctx, const struct nlm_question *q, struct call_res *res)
{
	if (ctx->nlm->ask(ctx->nlm->arg, ctx->call->thread, q, &res->answer,
		res->oh))
		return;
	memset(&res->answer, 0, sizeof(res->answer));
	res->answer.stat = LOCKS_GRACE;
}

/* Asks about a lock. Fields that the call does not have are zero. */
static void
ask_lock(struct call_ctx *ctx, enum locks_question type,
    const struct call_args *args, bool monitored, struct call_res *res)
{
	struct nlm_question q = { .name = args->name, .owner = args->oh };
	struct locks_ask *a = &q.ask;

	ctx->args = args;
	res->cookie = args->cookie;
	res->answer.stat = LOCKS_STALE;
	if (args->fh.len != sizeof(a->fh.bytes))
		return;
	res->answer.stat = LOCKS_NOLOCKS;
	if (ctx->nlm->nolocks)
		return;
	a->type = type;
	memcpy(a->fh.bytes, args->fh.data, sizeof(a->fh.bytes));
	set_client(ctx->call, &args->name, &a->client);
	a->cred = ctx->call->cred;
	a->owner_len = (uint32_t)args->oh.len;
	a->svid = args->svid;
	a->offset = args->offset;
	a->length = args->length;
	a->state = args->state;
	a->share_mode = args->mode;
	a->share_access = args->access;
	a->exclusive = args->exclusive;
	a->block = args->block;
	a->reclaim = args->reclaim;
	a->monitored = monitored;
	ctx->owner = owner_of(ctx->nlm, &q);
	if (is_brief(ctx, &q, res) || is_deferred(ctx, fh_export_id(&a->fh)))
		return;
	order_wait(&ctx->nlm->order, ctx->owner, ctx->call->started_ns);
	ask(ctx, &q, res);
}

void
nlm_test(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_lock(ctx, LOCKS_TEST, args, false, res);
}

void
nlm_lock(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_lock(ctx, LOCKS_LOCK, args, true, res);
}

void
nlm_nm_lock(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_lock(ctx, LOCKS_LOCK, args, false, res);
}

/* Without locks there is nothing to give back: that has succeeded. */
static void
ask_release(struct call_ctx *ctx, enum locks_question type,
    const struct call_args *args, struct call_res *res)
{
	ask_lock(ctx, type, args, true, res);
	if (ctx->nlm->nolocks)
		res->answer.stat = LOCKS_GRANTED;
}

void
nlm_cancel(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_release(ctx, LOCKS_CANCEL, args, res);
}

void
nlm_unlock(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_release(ctx, LOCKS_UNLOCK, args, res);
}

void
nlm_share(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_lock(ctx, LOCKS_SHARE, args, true, res);
}

void
nlm_unshare(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	ask_release(ctx, LOCKS_UNSHARE, args, res);
}

/* This machine waits for no lock of another server. */
void
nlm_granted(struct call_ctx *ctx UNUSED, const struct call_args *args,
    struct call_res *res)
{
	res->cookie = args->cookie;
	res->answer.stat = LOCKS_DENIED;
}

void
nlm_granted_res(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res UNUSED)
{
	ctx->nlm->answered(ctx->nlm->arg, args->cookie, args->stat);
}

/*
 * The sender of a datagram can be forged, and any user of a machine can send
 * from ports above 1023. What such a call says must be proved.
 */
static bool
is_proven(const struct rpc_peer *peer)
{
	return peer->kind == RPC_TCP && peer->from.port < PRIVILEGED;
}

void
nlm_free(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct nlm_question q = { .ask.type = LOCKS_FREE, .name = args->name };

	ctx->args = args;
	if (ctx->nlm->nolocks || is_deferred(ctx, NLM_FREE_QUEUE))
		return;
	set_client(ctx->call, &args->name, &q.ask.client);
	q.ask.cred = ctx->call->cred;
	/* FREE_ALL has no state that means something: all is freed. */
	if (ctx->call->prog->prog == NSM_PROGRAM)
		q.ask.state = args->state;
	q.ask.proven = is_proven(ctx->call->peer);
	ask(ctx, &q, res);
	ctx->must_prove = res->answer.stat == LOCKS_BLOCKED;
}

/* Every client with locks is monitored here. */
void
nsm_stat(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->state = nlm_state(&ctx->nlm->states, &ctx->call->peer->to);
}

/* Tern monitors for no other server. */
void
nsm_mon(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->answer.stat = LOCKS_FAILED;
	res->state = nlm_state(&ctx->nlm->states, &ctx->call->peer->to);
}

void
nsm_refuse(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res UNUSED)
{
	ctx->call->refuse = RPC_PROC_UNAVAIL;
}

static enum rpc_auth_stat
begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	ctx->nlm = arg;
	ctx->call = call;
	return AUTH_OK;
}

static void
deferred(void *arg, const struct call_ctx *ctx, const struct rpc_call *call)
{
	struct nlm *nlm = arg;

	if (ctx->owner != 0)
		order_add(&nlm->order, ctx->owner, call->started_ns);
}

static bool
parked(void *arg, const struct call_ctx *ctx,
    const struct rpc_call *call UNUSED, struct rpc_job *job)
{
	const struct nlm *nlm = arg;

	return nlm->park(nlm->arg, ctx, job);
}

/*
 * Only what an export admits is called. Without locks the exports are not
 * known: respond() then decides.
 */
static void
end(void *arg, struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	struct nlm *nlm = arg;

	if (ctx->owner != 0 && call->may_block)
		order_remove(&nlm->order, ctx->owner, call->started_ns);
	if (call->outcome != RPC_SUCCESS || ctx->args == NULL)
		return;
	if ((call->proc->flags & NLM_MSG) != 0 &&
	    (res->answer.admitted || nlm->nolocks))
		nlm->respond(nlm->arg, ctx, res);
	if (ctx->must_prove && res->answer.admitted)
		nlm->prove(nlm->arg, ctx);
}

struct rpc_hooks
nlm_hooks(struct nlm *nlm)
{
	order_init(&nlm->order);
	return (struct rpc_hooks){ .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.begin = begin,
		.deferred = deferred,
		.parked = parked,
		.end = end,
		.arg = nlm };
}
