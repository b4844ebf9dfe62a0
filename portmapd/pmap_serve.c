/* SPDX-License-Identifier: ISC */
/*
 * The program for the RPC server: its versions, and the hooks before and after
 * each call. A hook knows the kind of socket that the call came through.
 * Runs in: portmapd.
 */
#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "rpc/server.h"

static const struct rpc_vers versions[] = {
	{ 2, PMAP2_PROCS, pmap2_procs },
	{ 3, RPCB3_PROCS, rpcb3_procs },
	{ 4, RPCB4_PROCS, rpcb4_procs },
};

static const struct rpc_prog prog = { "portmap", PMAP_PROG, nitems(versions),
	versions };

static enum rpc_auth_stat
pmap_begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	const struct pmap_listener *listener = arg;
	const struct rpc_peer *peer = call->peer;

	ctx->call = call;
	ctx->pm = listener->pm;
	ctx->via = listener->via;
	ctx->version = (unsigned int)(call->vers - versions);
	if ((call->proc->flags & PMAP_BULK) != 0 && peer->kind == RPC_UDP &&
	    !addr_is_loopback(&peer->from)) {
		ctx->pm->counters.bulk_refused++;
		return AUTH_TOOWEAK;
	}
	return AUTH_OK;
}

static void
pmap_end(void *arg UNUSED, struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	struct pmap_counters *c = &ctx->pm->counters;

	c->calls[ctx->version][call->procnum]++;
	if (res->done && call->procnum == PMAPPROC_SET)
		c->set[ctx->version]++;
	if (res->done && call->procnum == PMAPPROC_UNSET)
		c->unset[ctx->version]++;
}

struct rpc_server *
pmap_server_new(struct portmap *pm, enum pmap_socket via)
{
	static const struct rpc_prog *const progs[] = { &prog };
	struct pmap_listener *listener = &pm->listeners[via];
	const struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.begin = pmap_begin,
		.end = pmap_end,
		.arg = listener };

	listener->pm = pm;
	listener->via = via;
	return rpc_server_new(progs, nitems(progs), &hooks);
}

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
	/* Version 2 cannot express an IPv6 address. */
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
