/* SPDX-License-Identifier: ISC */
/*
 * PORTMAP version 2 and RPCBIND versions 3 and 4 (RFC 1833): numbers, and the
 * call structs that all three versions share.
 * Runs in: portmapd.
 */
#ifndef PMAP_H
#define PMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portmapd/pmap_map.h"
#include "portmapd/policy.h"
#include "process/uaddr.h"
#include "rpc/rpc.h"

#define PMAP_PROG	  100000
#define PMAP_STRING_MAX	  1024 /* netid, universal address, owner */
#define PMAP_RECORD_MAX	  2048 /* longest call */
#define PMAP_REPLY_MAX	  262144 /* DUMP of a full table */
#define PMAP_DATAGRAM_MAX 8192 /* longest reply in a datagram */

enum pmap_proc {
	PMAPPROC_NULL = 0,
	PMAPPROC_SET = 1,
	PMAPPROC_UNSET = 2,
	PMAPPROC_GETPORT = 3,
	PMAPPROC_DUMP = 4,
	PMAPPROC_CALLIT = 5
};

enum rpcb_proc {
	RPCBPROC_NULL = 0,
	RPCBPROC_SET = 1,
	RPCBPROC_UNSET = 2,
	RPCBPROC_GETADDR = 3,
	RPCBPROC_DUMP = 4,
	RPCBPROC_CALLIT = 5, /* BCAST in version 4 */
	RPCBPROC_GETTIME = 6,
	RPCBPROC_UADDR2TADDR = 7,
	RPCBPROC_TADDR2UADDR = 8,
	RPCBPROC_GETVERSADDR = 9,
	RPCBPROC_INDIRECT = 10,
	RPCBPROC_GETADDRLIST = 11,
	RPCBPROC_GETSTAT = 12
};

#define PMAP2_PROCS    (PMAPPROC_CALLIT + 1)
#define RPCB3_PROCS    (RPCBPROC_TADDR2UADDR + 1)
#define RPCB4_PROCS    (RPCBPROC_GETSTAT + 1)
#define PMAP_PROCS_MAX RPCB4_PROCS /* RPCBSTAT_HIGHPROC of rpcb_prot.x */

/* The reply is much longer than the call. Over UDP, where a source address can
 * be forged, only this machine gets it. */
#define PMAP_BULK 0x100u

/* The kind of socket that a call came through. */
enum pmap_socket {
	SOCKET_NET, /* UDP, TCP: may not change the table */
	SOCKET_REGISTER, /* entries last as long as the connection */
	SOCKET_COMPAT, /* rpcbind's socket: entries last until UNSET */
	PMAP_SOCKETS
};

/* One kind of socket; the argument of its server's hooks. */
struct pmap_listener {
	struct portmap *pm;
	enum pmap_socket via;
};

struct pmap_counters {
	uint32_t calls[PMAP_VERSIONS][PMAP_PROCS_MAX];
	uint32_t set[PMAP_VERSIONS];
	uint32_t unset[PMAP_VERSIONS];
	uint64_t refused; /* SET and UNSET without permission */
	uint64_t bulk_refused; /* PMAP_BULK over UDP */
};

/* The state of the service; one per process. */
struct portmap {
	struct pmap_map *map;
	struct policy policy;
	struct pmap_counters counters;
	struct pmap_listener listeners[PMAP_SOCKETS];
};

struct call_ctx {
	struct rpc_call *call;
	struct portmap *pm;
	enum pmap_socket via;
	unsigned int version; /* index into the counters */
};

struct call_args {
	struct pmap_service svc; /* netid may be ANY or UNKNOWN, at NONE */
	unsigned int netids; /* UNSET: bit set of transports */
	uint32_t procnum; /* CALLIT: the procedure */
};

struct call_res {
	bool done; /* SET, UNSET */
	uint32_t number; /* port, time */
	struct uaddr at; /* GETADDR, CALLIT, translations */
	const struct pmap_map *map; /* lists; valid until it is encoded */
	const struct pmap_counters *counters;
	struct addr asked; /* GETADDRLIST: the address the client used */
	uint32_t prog, vers; /* GETADDRLIST */
};

/* pmap_ops.c: the procedures of all versions. */
void op_set(struct call_ctx *, const struct call_args *, struct call_res *);
void op_unset(struct call_ctx *, const struct call_args *, struct call_res *);
void op_getport(struct call_ctx *, const struct call_args *, struct call_res *);
void op_getaddr(struct call_ctx *, const struct call_args *, struct call_res *);
void op_getversaddr(struct call_ctx *, const struct call_args *,
    struct call_res *);
void op_getaddrlist(struct call_ctx *, const struct call_args *,
    struct call_res *);
void op_dump(struct call_ctx *, const struct call_args *, struct call_res *);
void op_callit(struct call_ctx *, const struct call_args *, struct call_res *);
void op_gettime(struct call_ctx *, const struct call_args *, struct call_res *);
void op_translate(struct call_ctx *, const struct call_args *,
    struct call_res *);
void op_getstat(struct call_ctx *, const struct call_args *, struct call_res *);

/* pmap_proc.c and rpcb_proc.c: the tables. */
void pmap_put_done(struct xdr_out *, const struct call_res *);
/* Decodes prog, vers, proc and opaque arguments, as in all versions. */
void pmap_get_callit(struct xdr_in *, struct call_args *);
extern const struct rpc_proc pmap2_procs[PMAP2_PROCS];
extern const struct rpc_proc rpcb3_procs[RPCB3_PROCS];
extern const struct rpc_proc rpcb4_procs[RPCB4_PROCS];

/* pmap_serve.c: makes a server of the program for one kind of socket. */
struct rpc_server *pmap_server_new(struct portmap *, enum pmap_socket);
/* Adds portmapd itself to the table: versions 2, 3 and 4 at this socket. */
void pmap_serve_self(struct portmap *, const struct addr *, bool udp);
/* The same for a unix socket: versions 3 and 4. */
void pmap_serve_self_local(struct portmap *, const char *path);

#endif
