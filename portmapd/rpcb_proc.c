/* SPDX-License-Identifier: ISC */
/*
 * RPCBIND versions 3 and 4: tables and codec (RFC 1833, section 2).
 * Runs in: portmapd.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <string.h>

#include "portmapd/pmap.h"
#include "rpc/server.h"

#define NETBUF_MAX sizeof(struct sockaddr_storage)

/* rpcb: RFC 1833, 2.1. The owner in it is ignored; the kernel tells it. */
static void
rpcb_get_map(struct xdr_in *x, struct call_args *args)
{
	struct pmap_service *svc = &args->svc;

	svc->prog = xdr_get_u32(x);
	svc->vers = xdr_get_u32(x);
	svc->netid = uaddr_netid(xdr_get_opaque(x, PMAP_STRING_MAX));
	uaddr_parse(&svc->at, xdr_get_opaque(x, PMAP_STRING_MAX));
	(void)xdr_get_opaque(x, PMAP_STRING_MAX);
	/* UNSET without a netid means all transports. */
	if (svc->netid == NETID_ANY)
		args->netids = ~0u;
	else if (svc->netid < NETID_COUNT)
		args->netids = 1u << svc->netid;
}

static void
rpcb_get_uaddr(struct xdr_in *x, struct call_args *args)
{
	uaddr_parse(&args->svc.at, xdr_get_opaque(x, PMAP_STRING_MAX));
}

/* struct netbuf: RFC 1833, 2.2.1: a transport's address. On Linux it is a
 * struct sockaddr with this machine's layout. */
static void
rpcb_get_netbuf(struct xdr_in *x, struct call_args *args)
{
	struct sockaddr_storage ss;
	struct slice buf, path;
	const uint8_t *end;

	(void)xdr_get_u32(x); /* maxlen */
	buf = xdr_get_opaque(x, PMAP_STRING_MAX);
	args->svc.at.kind = UADDR_BAD;
	if (buf.len > NETBUF_MAX || buf.len < sizeof(sa_family_t))
		return;
	memset(&ss, 0, sizeof(ss));
	memcpy(&ss, buf.data, buf.len);
	if (ss.ss_family == AF_UNIX) {
		path.data = buf.data + offsetof(struct sockaddr_un, sun_path);
		path.len = buf.len - offsetof(struct sockaddr_un, sun_path);
		end = memchr(path.data, '\0', path.len);
		path.len = end == NULL ? path.len : (size_t)(end - path.data);
		uaddr_parse(&args->svc.at, path);
	} else if (addr_from_sockaddr(&args->svc.at.at, (struct sockaddr *)&ss,
		       (socklen_t)buf.len)) {
		args->svc.at.kind = UADDR_INET;
	}
}

static void
put_uaddr(struct xdr_out *x, const struct uaddr *u)
{
	char text[UADDR_STRLEN];

	xdr_put_string(x, uaddr_print(u, text));
}

static void
rpcb_put_uaddr(struct xdr_out *x, const struct call_res *res)
{
	put_uaddr(x, &res->at);
}

static void
rpcb_put_netbuf(struct xdr_out *x, const struct call_res *res)
{
	struct sockaddr_storage ss;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const void *buf = &ss;
	socklen_t len = 0;

	if (res->at.kind == UADDR_INET) {
		len = addr_to_sockaddr(&res->at.at, res->at.at.family, &ss);
	} else if (res->at.kind == UADDR_LOCAL) {
		memcpy(un.sun_path, res->at.path, sizeof(un.sun_path));
		buf = &un;
		len = sizeof(un);
	}
	xdr_put_u32(x, len);
	xdr_put_opaque(x, buf, len);
}

static void
rpcb_put_time(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, res->number);
}

static void
put_owner(struct xdr_out *x, uint32_t uid)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", uid);
	xdr_put_string(x, uid == 0 ? "superuser" : text);
}

/* rpcblist: RFC 1833, 2.1. */
static void
rpcb_put_list(struct xdr_out *x, const struct call_res *res)
{
	const struct pmap_entry *e = NULL;

	while ((e = pmap_map_next(res->map, e)) != NULL) {
		xdr_put_bool(x, true);
		xdr_put_u32(x, e->svc.prog);
		xdr_put_u32(x, e->svc.vers);
		xdr_put_string(x, netid_rows[e->svc.netid].name);
		put_uaddr(x, &e->svc.at);
		put_owner(x, e->by.uid);
	}
	xdr_put_bool(x, false);
}

/* rpcb_rmtcallres: RFC 1833, 2.1. The result of a NULL procedure is empty. */
static void
rpcb_put_callit(struct xdr_out *x, const struct call_res *res)
{
	put_uaddr(x, &res->at);
	xdr_put_opaque(x, NULL, 0);
}

/* rpcb_entry_list: RFC 1833, 2.1, without entries that this client cannot
 * reach. */
static void
rpcb_put_addrlist(struct xdr_out *x, const struct call_res *res)
{
	const struct pmap_entry *e = NULL;
	const struct netid_row *row;
	struct uaddr at;

	while ((e = pmap_map_next(res->map, e)) != NULL) {
		at = e->svc.at;
		if (e->svc.prog != res->prog || e->svc.vers != res->vers ||
		    !uaddr_merge(&at, &res->asked))
			continue;
		row = &netid_rows[e->svc.netid];
		xdr_put_bool(x, true);
		put_uaddr(x, &at);
		xdr_put_string(x, row->name);
		xdr_put_u32(x, row->semantics);
		xdr_put_string(x, row->family);
		xdr_put_string(x, row->proto);
	}
	xdr_put_bool(x, false);
}

/* rpcbs_addrlist, rpcbs_rmtcalllist: RFC 1833, 2.1. Only registered programs
 * are counted, so a client cannot make the counters grow. */
static void
put_stat_lists(struct xdr_out *x, const struct pmap_map *map, unsigned int v)
{
	const struct pmap_entry *e = NULL;

	while ((e = pmap_map_next(map, e)) != NULL) {
		if (e->asked[v] == 0)
			continue;
		xdr_put_bool(x, true);
		xdr_put_u32(x, e->svc.prog);
		xdr_put_u32(x, e->svc.vers);
		xdr_put_u32(x, e->asked[v]);
		xdr_put_u32(x, 0); /* failures */
		xdr_put_string(x, netid_rows[e->svc.netid].name);
	}
	xdr_put_bool(x, false);
	while ((e = pmap_map_next(map, e)) != NULL) {
		if (e->called[v] == 0)
			continue;
		xdr_put_bool(x, true);
		xdr_put_u32(x, e->svc.prog);
		xdr_put_u32(x, e->svc.vers);
		xdr_put_u32(x, 0); /* procedure: NULL */
		xdr_put_u32(x, e->called[v]);
		xdr_put_u32(x, 0); /* failures */
		xdr_put_u32(x, 0); /* indirect */
		xdr_put_string(x, netid_rows[e->svc.netid].name);
	}
	xdr_put_bool(x, false);
}

/* rpcb_stat_byvers: RFC 1833, 2.1. */
static void
rpcb_put_stat(struct xdr_out *x, const struct call_res *res)
{
	unsigned int v, p;

	for (v = 0; v < PMAP_VERSIONS; v++) {
		for (p = 0; p < PMAP_PROCS_MAX; p++)
			xdr_put_u32(x, res->counters->calls[v][p]);
		xdr_put_u32(x, res->counters->set[v]);
		xdr_put_u32(x, res->counters->unset[v]);
		put_stat_lists(x, res->map, v);
	}
}

/* clang-format off */
const struct rpc_proc rpcb3_procs[RPCB3_PROCS] = {
	[RPCBPROC_NULL]        = { "NULL",        rpc_get_void,    rpc_run_void, rpc_put_void,    0 },
	[RPCBPROC_SET]         = { "SET",         rpcb_get_map,    op_set,       pmap_put_done,   0 },
	[RPCBPROC_UNSET]       = { "UNSET",       rpcb_get_map,    op_unset,     pmap_put_done,   0 },
	[RPCBPROC_GETADDR]     = { "GETADDR",     rpcb_get_map,    op_getaddr,   rpcb_put_uaddr,  0 },
	[RPCBPROC_DUMP]        = { "DUMP",        rpc_get_void,    op_dump,      rpcb_put_list,   PMAP_BULK },
	[RPCBPROC_CALLIT]      = { "CALLIT",      pmap_get_callit, op_callit,    rpcb_put_callit, 0 },
	[RPCBPROC_GETTIME]     = { "GETTIME",     rpc_get_void,    op_gettime,   rpcb_put_time,   0 },
	[RPCBPROC_UADDR2TADDR] = { "UADDR2TADDR", rpcb_get_uaddr,  op_translate, rpcb_put_netbuf, 0 },
	[RPCBPROC_TADDR2UADDR] = { "TADDR2UADDR", rpcb_get_netbuf, op_translate, rpcb_put_uaddr,  0 },
};

const struct rpc_proc rpcb4_procs[RPCB4_PROCS] = {
	[RPCBPROC_NULL]        = { "NULL",        rpc_get_void,    rpc_run_void, rpc_put_void,    0 },
	[RPCBPROC_SET]         = { "SET",         rpcb_get_map,    op_set,       pmap_put_done,   0 },
	[RPCBPROC_UNSET]       = { "UNSET",       rpcb_get_map,    op_unset,     pmap_put_done,   0 },
	[RPCBPROC_GETADDR]     = { "GETADDR",     rpcb_get_map,    op_getaddr,   rpcb_put_uaddr,  0 },
	[RPCBPROC_DUMP]        = { "DUMP",        rpc_get_void,    op_dump,      rpcb_put_list,   PMAP_BULK },
	[RPCBPROC_CALLIT]      = { "BCAST",       pmap_get_callit, op_callit,    rpcb_put_callit, 0 },
	[RPCBPROC_GETTIME]     = { "GETTIME",     rpc_get_void,    op_gettime,   rpcb_put_time,   0 },
	[RPCBPROC_UADDR2TADDR] = { "UADDR2TADDR", rpcb_get_uaddr,  op_translate, rpcb_put_netbuf, 0 },
	[RPCBPROC_TADDR2UADDR] = { "TADDR2UADDR", rpcb_get_netbuf, op_translate, rpcb_put_uaddr,  0 },
	[RPCBPROC_GETVERSADDR] = { "GETVERSADDR", rpcb_get_map,    op_getversaddr, rpcb_put_uaddr,    0 },
	[RPCBPROC_INDIRECT]    = { "INDIRECT",    pmap_get_callit, op_callit,      rpcb_put_callit,   0 },
	[RPCBPROC_GETADDRLIST] = { "GETADDRLIST", rpcb_get_map,    op_getaddrlist, rpcb_put_addrlist, 0 },
	[RPCBPROC_GETSTAT]     = { "GETSTAT",     rpc_get_void,    op_getstat,     rpcb_put_stat,     PMAP_BULK },
};
/* clang-format on */
