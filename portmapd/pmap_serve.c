/* SPDX-License-Identifier: ISC */
/*
 * The program as the RPC pipeline sees it: its versions, and what happens
 * before and after each call, by the door the call came through.
 * Runs in: portmapd.
 */
#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"

static const struct rpc_vers versions[] = {
	{ 2, PMAP2_PROCS, pmap2_procs },
	{ 3, RPCB3_PROCS, rpcb3_procs },
	{ 4, RPCB4_PROCS, rpcb4_procs },
};

const struct rpc_prog pmap_prog = { "portmap", PMAP_PROG, nitems(versions),
	versions };

/* The one state of this process; the pipeline's hooks take no argument. */
static struct portmap *state;

void
pmap_serve_init(struct portmap *pm)
{
	state = pm;
}

static enum rpc_auth_stat
begin(struct call_ctx *ctx, struct rpc_call *call, enum pmap_door door)
{
	const struct rpc_peer *peer = call->peer;

	ctx->call = call;
	ctx->pm = state;
	ctx->door = door;
	ctx->version = (unsigned int)(call->vers - versions);
	if ((call->proc->flags & PMAP_BULK) != 0 && peer->kind == RPC_UDP &&
	    !addr_is_loopback(&peer->from)) {
		state->counters.bulk_refused++;
		return AUTH_TOOWEAK;
	}
	return AUTH_OK;
}

static enum rpc_auth_stat
begin_net(struct call_ctx *ctx, struct rpc_call *call)
{
	return begin(ctx, call, DOOR_NET);
}

static enum rpc_auth_stat
begin_register(struct call_ctx *ctx, struct rpc_call *call)
{
	return begin(ctx, call, DOOR_REGISTER);
}

static enum rpc_auth_stat
begin_compat(struct call_ctx *ctx, struct rpc_call *call)
{
	return begin(ctx, call, DOOR_COMPAT);
}

static void
end(struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	struct pmap_counters *c = &ctx->pm->counters;

	c->calls[ctx->version][call->procnum]++;
	if (res->done && call->procnum == PMAPPROC_SET)
		c->set[ctx->version]++;
	if (res->done && call->procnum == PMAPPROC_UNSET)
		c->unset[ctx->version]++;
}

/* clang-format off */
#define HOOKS(begin) { sizeof(struct call_ctx), sizeof(struct call_args), \
	sizeof(struct call_res), begin, end }
const struct rpc_hooks pmap_hooks[DOOR_COMPAT + 1] = {
	[DOOR_NET]      = HOOKS(begin_net),
	[DOOR_REGISTER] = HOOKS(begin_register),
	[DOOR_COMPAT]   = HOOKS(begin_compat),
};
/* clang-format on */

static void
set_self(struct portmap *pm, struct pmap_service *svc, size_t first)
{
	static const struct pmap_owner self = { .link = PMAP_LINK_SELF };
	size_t i;

	svc->prog = PMAP_PROG;
	for (i = nitems(versions); i-- > first;) {
		svc->vers = versions[i].vers;
		(void)pmap_map_set(pm->map, svc, &self);
	}
}

void
pmap_serve_self(struct portmap *pm, const struct addr *at, bool udp)
{
	struct pmap_service svc = { .at.kind = UADDR_INET, .at.at = *at };

	svc.at.at.scope = 0;
	svc.netid = uaddr_netid_of(at->family,
	    netid_rows[udp ? NETID_UDP : NETID_TCP].ipproto);
	/* Version 2 has no way to name an IPv6 address. */
	set_self(pm, &svc, at->family == AF_INET6 ? 1 : 0);
}

void
pmap_serve_self_local(struct portmap *pm, const char *path)
{
	struct pmap_service svc = { .netid = NETID_LOCAL };
	struct slice text = { (const uint8_t *)path, strlen(path) };

	uaddr_parse(&svc.at, text);
	if (svc.at.kind == UADDR_LOCAL)
		set_self(pm, &svc, 1);
}
