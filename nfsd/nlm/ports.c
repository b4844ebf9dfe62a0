/* SPDX-License-Identifier: ISC */
/*
 * Ports of a client's programs: see nlm/ports.h.
 * Runs in: nfsd nlm (event loop).
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include <stddef.h>

#include "nfsd/nlm/ports.h"
#include "process/uaddr.h"

#define GETPORT_VERS 2
#define GETADDR_VERS 3
#define GET_PROC     3 /* of both */

static size_t
place_of(const struct ports *p, uint32_t prog, uint32_t vers)
{
	size_t i, oldest = 0;

	for (i = 0; i < PORTS_KEPT; i++) {
		if (p->list[i].prog == prog && p->list[i].vers == vers)
			return i;
		if (p->list[i].at_ms < p->list[oldest].at_ms)
			oldest = i;
	}
	return oldest;
}

enum ports_found
ports_find(const struct ports *p, uint32_t prog, uint32_t vers, uint64_t now_ms,
    uint16_t *port)
{
	size_t i = place_of(p, prog, vers);
	uint64_t age = now_ms - p->list[i].at_ms;

	if (p->list[i].prog != prog || p->list[i].vers != vers ||
	    p->list[i].at_ms == 0 || age >= PORTS_KNOWN_MS)
		return PORTS_UNKNOWN;
	*port = p->list[i].port;
	if (*port != 0)
		return PORTS_KNOWN;
	return age < PORTS_ASK_MS ? PORTS_NONE : PORTS_UNKNOWN;
}

void
ports_add(struct ports *p, uint32_t prog, uint32_t vers, uint16_t port,
    uint64_t now_ms)
{
	size_t i = place_of(p, prog, vers);

	p->list[i].prog = prog;
	p->list[i].vers = vers;
	p->list[i].port = port;
	p->list[i].at_ms = now_ms;
}

void
ports_forget(struct ports *p, uint32_t prog, uint32_t vers, uint64_t before_ms)
{
	size_t i = place_of(p, prog, vers);

	if (p->list[i].prog == prog && p->list[i].vers == vers &&
	    p->list[i].at_ms < before_ms)
		p->list[i].at_ms = 0;
}

/* mapping and rpcb: RFC 1833, 3.1 and 2.1. */
void
ports_put_question(struct xdr_out *x, int family, uint32_t prog, uint32_t vers,
    uint32_t *call_vers, uint32_t *call_proc)
{
	*call_proc = GET_PROC;
	*call_vers = family == AF_INET ? GETPORT_VERS : GETADDR_VERS;
	xdr_put_u32(x, prog);
	xdr_put_u32(x, vers);
	if (family == AF_INET) {
		xdr_put_u32(x, IPPROTO_UDP);
		xdr_put_u32(x, 0);
		return;
	}
	xdr_put_string(x, netid_rows[NETID_UDP6].name);
	xdr_put_string(x, ""); /* address */
	xdr_put_string(x, ""); /* owner */
}

uint16_t
ports_get_answer(struct xdr_in *x, int family)
{
	struct uaddr at = { .kind = UADDR_NONE };
	uint32_t port;

	if (family == AF_INET) {
		port = xdr_get_u32(x);
		return port > UINT16_MAX ? 0 : (uint16_t)port;
	}
	uaddr_parse(&at, xdr_get_opaque(x, UADDR_STRLEN));
	return x->failed || at.kind != UADDR_INET ? 0 : at.at.port;
}
