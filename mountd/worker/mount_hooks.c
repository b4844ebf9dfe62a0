/* SPDX-License-Identifier: ISC */
/*
 * Before each call: its context. After it: counters and the log. Text from clients is
 * escaped, and log_permit() bounds the lines that a client can cause.
 * Runs in: mountd worker (event loop).
 */
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/worker/mount_list.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"
#include "tally/tally.h"

#define TEXT_SHOWN 256 /* of a path, escaped */

static enum rpc_auth_stat
begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	ctx->call = call;
	ctx->state = arg;
	return AUTH_OK; /* any flavour: access depends on the address */
}

/* Formats the path of a call for the log; a player's path as UTF-8. */
static const char *
shown(char out[TEXT_SHOWN], const struct mount_path *p)
{
	if (p->status == MNT_OK)
		return log_text(out, TEXT_SHOWN, p->clean, strlen(p->clean));
	return log_text(out, TEXT_SHOWN, p->raw.data, p->raw.len);
}

static void
log_refusal(const struct call_ctx *ctx, const struct rpc_call *call)
{
	char path[TEXT_SHOWN], from[ADDR_STRLEN];
	const struct addr *host = &call->peer->from;

	if (log_permit("refused", addr_hash(host) ^ ctx->why_key))
		log_info("refused MNT %s from %s: %s", shown(path, ctx->mnt),
		    addr_print(host, from), ctx->why);
}

static void
log_mount(const struct call_ctx *ctx, const struct rpc_call *call)
{
	char path[TEXT_SHOWN], from[ADDR_STRLEN];
	const struct addr *host = &call->peer->from;

	if (ctx->evicted && log_permit("list full", 0))
		log_info("mount list: full at %d entries, %d of one host; no "
			 "flag raises it: the oldest is evicted, which only "
			 "showmount -a shows",
		    MOUNT_LIST_MAX, MOUNT_LIST_HOST_MAX);
	if (ctx->is_new &&
	    log_permit("mounted", addr_hash(host) ^ ctx->why_key))
		log_info("mounted %s by %s: %s", shown(path, ctx->mnt),
		    addr_print(host, from), ctx->why);
}

static void
count(struct mount_state *state, const struct rpc_call *call,
    const struct call_res *res)
{
	struct tally *t = state->tally;
	uint32_t v = call->vers->vers - 1;

	if (v >= TALLY_VERSIONS || call->procnum >= TALLY_PROCS)
		return;
	tally_count(&t->calls[v][call->procnum]);
	if (call->outcome != RPC_SUCCESS || res->status != MNT_OK)
		tally_count(&t->errors[v][call->procnum]);
	atomic_store_explicit(&t->listed, mount_list_count(state->list),
	    memory_order_relaxed);
}

static void
end(void *arg, struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	count(arg, call, res);
	if (ctx->mnt == NULL || call->outcome != RPC_SUCCESS)
		return;
	if (res->status == MNT_OK) {
		tally_count(&ctx->state->tally->granted);
		log_mount(ctx, call);
	} else {
		tally_count(&ctx->state->tally->refused);
		log_refusal(ctx, call);
	}
}

struct rpc_hooks
mount_hooks(struct mount_state *state)
{
	return (struct rpc_hooks){
		.ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.begin = begin,
		.end = end,
		.arg = state,
	};
}
