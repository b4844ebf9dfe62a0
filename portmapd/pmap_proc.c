/* SPDX-License-Identifier: ISC */
/*
 * PORTMAP version 2: table and codec (RFC 1833, section 3). It knows only IPv4
 * port numbers. Players, U-Boot and old clients speak it.
 * Runs in: portmapd.
 */
#include <netinet/in.h>

#include "portmapd/pmap.h"
#include "rpc/server.h"

void
pmap_put_done(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_bool(x, res->done);
}

/* mapping: RFC 1833, 3.1. An unknown protocol or port is not a decoding error:
 * the answer is false or 0. */
static void
pmap2_get_mapping(struct xdr_in *x, struct call_args *args)
{
	struct pmap_service *svc = &args->svc;
	uint32_t port;

	svc->prog = xdr_get_u32(x);
	svc->vers = xdr_get_u32(x);
	svc->netid = uaddr_netid_of(AF_INET, xdr_get_u32(x));
	port = xdr_get_u32(x);
	svc->at.kind = port > UINT16_MAX ? UADDR_BAD : UADDR_INET;
	svc->at.at.family = AF_INET;
	svc->at.at.port = (uint16_t)port;
	/* UNSET ignores protocol and port: RFC 1833, 3.2. */
	args->netids = 1u << NETID_UDP | 1u << NETID_TCP;
}

/* call_args: RFC 1833, 3.1; rpcb_rmtcallargs: 2.1. */
void
pmap_get_callit(struct xdr_in *x, struct call_args *args)
{
	args->svc.prog = xdr_get_u32(x);
	args->svc.vers = xdr_get_u32(x);
	args->procnum = xdr_get_u32(x);
	(void)xdr_get_opaque(x, PMAP_RECORD_MAX);
}

static void
pmap2_put_port(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, res->number);
}

/* pmaplist: RFC 1833, 3.1. Version 2 can express only IPv4. */
static void
pmap2_put_list(struct xdr_out *x, const struct call_res *res)
{
	const struct pmap_entry *e = NULL;

	while ((e = pmap_map_next(res->map, e)) != NULL) {
		if (netid_rows[e->svc.netid].af != AF_INET)
			continue;
		xdr_put_bool(x, true);
		xdr_put_u32(x, e->svc.prog);
		xdr_put_u32(x, e->svc.vers);
		xdr_put_u32(x, netid_rows[e->svc.netid].ipproto);
		xdr_put_u32(x, e->svc.at.at.port);
	}
	xdr_put_bool(x, false);
}

/* call_result: RFC 1833, 3.1. The result of a NULL procedure is empty. */
static void
pmap2_put_callit(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, res->number);
	xdr_put_opaque(x, NULL, 0);
}

/* clang-format off */
const struct rpc_proc pmap2_procs[PMAP2_PROCS] = {
	[PMAPPROC_NULL]    = { "NULL",    rpc_get_void,      rpc_run_void, rpc_put_void,     0 },
	[PMAPPROC_SET]     = { "SET",     pmap2_get_mapping, op_set,       pmap_put_done,    0 },
	[PMAPPROC_UNSET]   = { "UNSET",   pmap2_get_mapping, op_unset,     pmap_put_done,    0 },
	[PMAPPROC_GETPORT] = { "GETPORT", pmap2_get_mapping, op_getport,   pmap2_put_port,   0 },
	[PMAPPROC_DUMP]    = { "DUMP",    rpc_get_void,      op_dump,      pmap2_put_list,   PMAP_BULK },
	[PMAPPROC_CALLIT]  = { "CALLIT",  pmap_get_callit,   op_callit,    pmap2_put_callit, 0 },
};
/* clang-format on */
