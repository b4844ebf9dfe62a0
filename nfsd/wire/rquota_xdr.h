/* SPDX-License-Identifier: ISC */
/*
 * Converts RQUOTA, versions 1 and 2, between wire and neutral form. Version 2
 * says whether a user or a group is meant. A result is one of three words: here
 * it is, there is no quota, not permitted.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#ifndef WIRE_RQUOTA_XDR_H
#define WIRE_RQUOTA_XDR_H

#include "nfsd/wire/call.h"

extern const struct rpc_proc rquota1_procs[RQUOTAPROC_COUNT];
extern const struct rpc_proc rquota2_procs[RQUOTAPROC_COUNT];

void rquota1_get_getquota(struct xdr_in *, struct call_args *);
void rquota2_get_getquota(struct xdr_in *, struct call_args *);
/* SETQUOTA: every client is refused, so nothing but the form is looked at. */
void rquota1_get_setquota(struct xdr_in *, struct call_args *);
void rquota2_get_setquota(struct xdr_in *, struct call_args *);

void rquota_put_quota(struct xdr_out *, const struct call_res *);

#endif
