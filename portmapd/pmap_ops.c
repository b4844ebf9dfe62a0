/* SPDX-License-Identifier: ISC */
/*
 * The procedures of PORTMAP 2 and RPCBIND 3 and 4. This file enforces two
 * rules. Only a call through a unix socket changes the table. portmapd forwards
 * nothing, connects to nothing and sends only replies.
 * Runs in: portmapd.
 */
#include <netinet/in.h>

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "portmapd/pmap.h"

/* Returns the transport of a call. */
static enum netid
netid_of_call(const struct call_ctx *ctx)
{
	const struct rpc_peer *peer = ctx->call->peer;

	if (peer->kind == RPC_UNIX)
		return NETID_LOCAL;
	return uaddr_netid_of(peer->to.family,
	    peer->kind == RPC_UDP ? IPPROTO_UDP : IPPROTO_TCP);
}

/* Returns the address that the client used; NULL: it is local. */
static const struct addr *
asked_of_call(const struct call_ctx *ctx)
{
	const struct rpc_peer *peer = ctx->call->peer;

	return peer->kind == RPC_UNIX ? NULL : &peer->to;
}

/*
 * Stores the address of an entry as the client can use it. A wildcard becomes
 * the address that the client used, or loopback for a local client. portmapd's
 * own entry becomes that address too, since it may listen at several ports.
 */
static void
tell_address(const struct call_ctx *ctx, const struct pmap_entry *e,
    struct uaddr *out)
{
	struct addr here;
	const struct addr *asked = asked_of_call(ctx);

	*out = e->svc.at;
	if (asked == NULL) {
		(void)addr_parse(&here,
		    out->at.family == AF_INET6 ? "::1" : "127.0.0.1");
		asked = &here;
	} else if (e->by.link == PMAP_LINK_SELF && out->kind == UADDR_INET) {
		out->at = *asked;
	}
	if (!uaddr_merge(out, asked))
		out->kind = UADDR_NONE;
}

static void
pmap_refuse(struct call_ctx *ctx, const struct call_args *args)
{
	const struct rpc_peer *peer = ctx->call->peer;
	char from[ADDR_STRLEN];

	ctx->pm->counters.refused++;
	if (!log_permit("refused", addr_hash(&peer->from) ^ peer->uid))
		return;
	if (ctx->via == SOCKET_NET)
		log_info("%s: %s of program %u refused: not over the network "
			 "(local programs: see -c)",
		    addr_print(&peer->from, from), ctx->call->proc->name,
		    args->svc.prog);
	else
		log_info(
		    "uid %u: %s of program %u refused: permit it with -o register=user:program",
		    peer->uid, ctx->call->proc->name, args->svc.prog);
}

static bool
may_change(struct call_ctx *ctx, const struct call_args *args)
{
	if (ctx->via != SOCKET_NET &&
	    policy_allows(&ctx->pm->policy, ctx->call->peer->uid,
		args->svc.prog))
		return true;
	pmap_refuse(ctx, args);
	return false;
}

static struct pmap_owner
owner_of_call(const struct call_ctx *ctx)
{
	struct pmap_owner by = { .uid = ctx->call->peer->uid };

	by.link =
	    ctx->via == SOCKET_COMPAT ? PMAP_LINK_NONE : ctx->call->peer->id;
	return by;
}

/* Adds a service to the table. */
void
op_set(struct call_ctx *ctx, const struct call_args *args, struct call_res *res)
{
	const struct pmap_service *svc = &args->svc;
	struct pmap_owner by = owner_of_call(ctx);

	if (!may_change(ctx, args) || !uaddr_fits(&svc->at, svc->netid))
		return;
	if (svc->at.kind == UADDR_INET && svc->at.at.port == 0)
		return;
	res->done = pmap_map_set(ctx->pm->map, svc, &by);
	if (!res->done && pmap_map_is_full(ctx->pm->map, &by) &&
	    log_permit("table full",
		addr_hash(&ctx->call->peer->from) ^ by.uid))
		log_warnx(
		    "uid %u: program %u not registered: the table is full at "
		    "%d entries, %d of one user other than root; no flag "
		    "raises it",
		    by.uid, svc->prog, PMAP_ENTRIES_MAX, PMAP_PER_UID_MAX);
	log_debug("uid %u: set %u version %u %s: %s", by.uid, svc->prog,
	    svc->vers, netid_rows[svc->netid].name,
	    res->done ? "done" : "refused: taken, or the table is full");
}

/*
 * Removes a service from the table. On the registration socket a connection
 * removes only the entries that it has added, whatever its user.
 */
void
op_unset(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct pmap_service *svc = &args->svc;
	struct pmap_owner by = owner_of_call(ctx);
	bool any = ctx->via == SOCKET_COMPAT &&
	    policy_is_master(&ctx->pm->policy, by.uid);

	if (!may_change(ctx, args))
		return;
	res->done = pmap_map_unset(ctx->pm->map, svc->prog, svc->vers,
	    args->netids, &by, any);
	log_debug("uid %u: unset %u version %u: %s", by.uid, svc->prog,
	    svc->vers, res->done ? "done" : "nothing of this owner");
}

/*
 * Returns the port of a program, 0 if it is not registered. No server registers
 * version 0. A client that asks for it (rpcinfo -u) accepts any version, to
 * learn the range from PROG_MISMATCH. Over IPv6 it gets the port on IPv6.
 */
void
op_getport(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct pmap_want want = { .prog = args->svc.prog,
		.vers = args->svc.vers,
		.netid = args->svc.netid,
		.any_version = args->svc.vers == 0,
		.reachable = true,
		.asked = asked_of_call(ctx) };
	struct pmap_entry *e;

	if (want.netid >= NETID_COUNT)
		return;
	if (want.asked != NULL)
		want.netid = uaddr_netid_of(want.asked->family,
		    netid_rows[want.netid].ipproto);
	if ((e = pmap_map_find(ctx->pm->map, &want)) == NULL)
		return;
	e->asked[ctx->version]++;
	tell_address(ctx, e, &res->at);
	res->number = res->at.at.port;
}

static void
find_address(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res, bool any_version)
{
	struct pmap_want want = { .prog = args->svc.prog,
		.vers = args->svc.vers,
		.netid = netid_of_call(ctx),
		.any_version = any_version,
		.asked = asked_of_call(ctx) };
	struct pmap_entry *e;

	if (args->svc.netid == NETID_UNKNOWN || args->svc.at.kind == UADDR_BAD)
		return;
	/* RFC 1833, 2.2.1: the transport of the call decides. Only a local
	 * client names another. */
	if (want.netid == NETID_LOCAL && args->svc.netid < NETID_COUNT)
		want.netid = args->svc.netid;
	if ((e = pmap_map_find(ctx->pm->map, &want)) == NULL)
		return;
	e->asked[ctx->version]++;
	tell_address(ctx, e, &res->at);
}

/*
 * Returns the address of a program. If the version is absent, it returns that
 * of another, so clients can find the range of versions (clnt_create_vers).
 */
void
op_getaddr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	find_address(ctx, args, res, true);
}

/* Returns the address of exactly this version. */
void
op_getversaddr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	find_address(ctx, args, res, false);
}

/* Returns the addresses of a program and version on all transports. */
void
op_getaddrlist(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	res->map = ctx->pm->map;
	res->asked = ctx->call->peer->to;
	res->prog = args->svc.prog;
	res->vers = args->svc.vers;
}

void
op_dump(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->map = ctx->pm->map;
}

/*
 * CALLIT, BCAST and INDIRECT. portmapd answers only calls of the NULL procedure
 * of a registered program, and answers them itself: the result is empty.
 * Clients that browse for servers by broadcast (Kodi, VLC) need this.
 */
void
op_callit(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	static const uint32_t protos[] = { IPPROTO_UDP, IPPROTO_TCP };
	struct pmap_want want = { .prog = args->svc.prog,
		.vers = args->svc.vers,
		.reachable = true,
		.asked = asked_of_call(ctx) };
	struct pmap_entry *e = NULL;
	size_t i;
	int af = want.asked == NULL ? AF_INET : want.asked->family;

	for (i = 0; i < nitems(protos) && args->procnum == 0 && e == NULL;
	     i++) {
		want.netid = uaddr_netid_of(af, protos[i]);
		e = pmap_map_find(ctx->pm->map, &want);
	}
	if (e == NULL) {
		ctx->call->refuse = RPC_PROC_UNAVAIL;
		return;
	}
	e->called[ctx->version]++;
	tell_address(ctx, e, &res->at);
	res->number = res->at.at.port;
}

void
op_gettime(struct call_ctx *ctx UNUSED, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->number = (uint32_t)clock_wall().tv_sec;
}

/* UADDR2TADDR, TADDR2UADDR: the codecs translate. */
void
op_translate(struct call_ctx *ctx UNUSED, const struct call_args *args,
    struct call_res *res)
{
	res->at = args->svc.at;
}

void
op_getstat(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	res->map = ctx->pm->map;
	res->counters = &ctx->pm->counters;
}
