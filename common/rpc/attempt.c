/* SPDX-License-Identifier: ISC */
/*
 * One attempt to serve a call whose row is known: decode, run, encode. Only this
 * file distinguishes valid from invalid arguments.
 * Runs in: the process that reads the network.
 */
#include <string.h>

#include "base/log.h"
#include "rpc/msg.h"
#include "rpc/pipeline.h"

size_t
attempt_lay_out(const struct rpc_hooks *h, uint8_t *memory, struct work *w)
{
	size_t align = _Alignof(max_align_t), res, args;

	res = (h->ctx_size + align - 1) / align * align;
	args = res + (h->res_size + align - 1) / align * align;
	if (memory != NULL) {
		w->ctx = (struct call_ctx *)(void *)memory;
		w->res = (struct call_res *)(void *)(memory + res);
		w->args = (struct call_args *)(void *)(memory + args);
	}
	return args + (h->args_size + align - 1) / align * align;
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

void
attempt_keep_reply(struct work *w)
{
	if (w->entry != NULL && w->call.outcome == RPC_SUCCESS &&
	    !w->call.refused && !w->call.dropped)
		reply_cache_keep(w->entry, w->out.base, w->out.len);
}

void
attempt_finish(struct rpc_server *s, struct work *w)
{
	w->call.ended_ns = attempt_ended_at(s);
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

void
attempt_begin_reply(struct work *w)
{
	rpc_put_accepted(&w->out, w->call.xid, RPC_SUCCESS);
	w->call.room = w->out.base + w->out.len;
	w->call.room_len = xdr_out_left(&w->out);
}

void
attempt_conclude(struct rpc_server *s, struct work *w)
{
	struct rpc_call *call = &w->call;

	if (call->nerrands > 0 || call->late)
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

bool
attempt_run(struct rpc_server *s, struct work *w)
{
	struct rpc_call *call = &w->call;

	memset(w->ctx, 0, s->zeroed); /* and the others, which follow it */
	attempt_begin_reply(w);
	call->nerrands = 0;
	call->in_order = call->late = false;
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
	if (call->nerrands == 0 && !call->late)
		attempt_conclude(s, w);
	return true;
}
