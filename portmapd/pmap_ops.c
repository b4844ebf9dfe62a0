/* SPDX-License-Identifier: ISC */
/*
 * What each procedure does, the same for PORTMAP 2 and RPCBIND 3 and 4. Two
 * rules are kept here and nowhere else: only a unix socket changes the table,
 * and nothing is ever forwarded, connected to or sent to anybody but the
 * caller.
 * Runs in: portmapd.
 */
#include <netinet/in.h>

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "portmapd/pmap.h"

/* The transport a call came by. */
static enum netid
netid_of_call(const struct call_ctx *ctx)
{
	const struct rpc_peer *peer = ctx->call->peer;

	if (peer->kind == RPC_UNIX)
		return NETID_LOCAL;
	return uaddr_netid_of(peer->to.family,
	    peer->kind == RPC_UDP ? IPPROTO_UDP : IPPROTO_TCP);
}

/* Where the client reached us; a local one reaches everything. */
static const struct addr *
asked_of_call(const struct call_ctx *ctx)
{
	const struct rpc_peer *peer = ctx->call->peer;

	return peer->kind == RPC_UNIX ? NULL : &peer->to;
}

/*
 * The address to tell: a wildcard becomes the address that was asked, for a
 * local client loopback. portmapd itself is where it was asked, since it may
 * listen at several ports.
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
		log_info("%s: %s of program %u refused: not by the network",
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

/* Enter a service in the table. */
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
		    "uid %u: program %u not registered: the table holds "
		    "%d entries, %d of one user but root; no flag raises it",
		    by.uid, svc->prog, PMAP_ENTRIES_MAX, PMAP_PER_UID_MAX);
	log_debug("uid %u: set %u version %u %s: %s", by.uid, svc->prog,
	    svc->vers, netid_rows[svc->netid].name,
	    res->done ? "done" : "refused: taken, or the table is full");
}

/* Take a service out of the table. On the registration socket only what the
 * same connection entered, whoever asks. */
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
 * The port of a program, 0 if it is not served here. Version 0 is nobody's: a
 * client that asks for it (rpcinfo -u) wants the program in any version, to
 * learn the range from PROG_MISMATCH. Asked over IPv6, the port on IPv6.
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
	/* RFC 1833, 2.2.1: the transport that was used is the one that is
	 * meant. A local client has no other way to ask than by name. */
	if (want.netid == NETID_LOCAL && args->svc.netid < NETID_COUNT)
		want.netid = args->svc.netid;
	if ((e = pmap_map_find(ctx->pm->map, &want)) == NULL)
		return;
	e->asked[ctx->version]++;
	tell_address(ctx, e, &res->at);
}

/* The address of a program; of another version if this one is not there, so
 * that clients can find the range of versions (clnt_create_vers). */
void
op_getaddr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	find_address(ctx, args, res, true);
}

/* The address of exactly this version. */
void
op_getversaddr(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	find_address(ctx, args, res, false);
}

/* The addresses of a program and version on all transports. */
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
 * CALLIT, BCAST and INDIRECT of the NULL procedure of a program that is
 * registered: we know it would be answered, so we answer. This is how clients
 * that browse for servers (Kodi, VLC) find us by broadcast. Anything else is
 * refused.
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

/* UADDR2TADDR, TADDR2UADDR: the codecs do it, both ways. */
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
