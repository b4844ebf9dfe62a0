/* SPDX-License-Identifier: ISC */
/*
 * Counting calls: see worker_usage.h.
 * Runs in: nfsd worker (event loop).
 */
#include <string.h>

#include "nfsd/ops/ops.h"
#include "nfsd/ops/subject.h"
#include "nfsd/worker/worker_usage.h"

/* The bytes of file data that a call moved. */
static void
count_bytes(const struct rpc_call *call, const struct call_res *res,
    struct usage_call *c)
{
	if (res->status != NFS_OK)
		return;
	if (call->proc->run == op_read)
		c->read = res->data.data.len;
	else if (call->proc->run == op_write)
		c->written = res->written.count;
}

static uint32_t
kinds_of(const struct rpc_call *call)
{
	return (call->vers->vers == 3 ? USAGE_V3 : USAGE_V2) |
	    (call->peer->kind == RPC_UDP ? USAGE_UDP : USAGE_TCP) |
	    (call->peer->identity != NULL ? USAGE_TLS : 0);
}

/* Keeps the call with its name. */
static void
keep(struct usage *u, const struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res, uint64_t now_ns)
{
	struct usage_recent r = { .at_ns = now_ns,
		.times = 1,
		.from = call->peer->from,
		.export = ctx->export_id,
		.version = call->vers->vers,
		.procedure = call->procnum,
		.status = (uint32_t)res->status,
		.uid = call->cred.flavor == AUTH_SYS ? call->cred.uid :
						       UINT32_MAX };
	const struct nfs_name *name = NULL;
	struct op_subject s;

	if (res->post.has)
		r.fileid = res->post.attr.fileid;
	else if (res->wcc.after.has)
		r.fileid = res->wcc.after.attr.fileid;
	if (ops_subject(call->proc, call->args, &s))
		name = s.name != NULL ? s.name : s.to;
	if (name != NULL) {
		r.len = (uint32_t)strlen(name->str);
		if (r.len > USAGE_NAME)
			r.len = USAGE_NAME;
		memcpy(r.name, name->str, r.len);
	}
	usage_note(u, &r);
}

void
worker_usage_count(struct worker_usage *w, const struct call_ctx *ctx,
    const struct rpc_call *call, const struct call_res *res)
{
	uint64_t now_ns = call->ended_ns;
	struct usage_call c = { .now_ns = now_ns,
		.ns = now_ns - call->started_ns,
		.failed = call->outcome != RPC_SUCCESS || res->status != NFS_OK,
		.refused = call->refused || call->deny != AUTH_OK,
		.kinds = kinds_of(call) };

	c.bucket = stats_bucket(c.ns);
	count_bytes(call, res, &c);
	if (call->prog == &nfs_program)
		stats_count(w->stats, call->vers->vers, call->procnum, &c);
	usage_count(&w->stats->usage, &w->memo, &call->peer->from,
	    ctx->export_id, &c);
	if (call->prog == &nfs_program &&
	    now_ns < atomic_load_explicit(w->watch_until, memory_order_relaxed))
		keep(&w->stats->usage, ctx, call, res, now_ns);
}
