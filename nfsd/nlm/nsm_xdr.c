/* SPDX-License-Identifier: ISC */
/*
 * The codec of NSM version 1. Tern monitors no host for others, so most
 * arguments are only checked.
 * X/Open XNFS, chapter 11.
 * Runs in: nfsd nlm, tests.
 */
#include "base/util.h"
#include "nfsd/nlm/nlm_xdr.h"

#define PRIV_SIZE 16 /* bytes that SM_MON keeps for its caller */

/* my_id: where the caller wants to be told. */
static void
get_my_id(struct xdr_in *x)
{
	(void)xdr_get_opaque(x, LOCKS_TEXT_MAX); /* my_name */
	(void)xdr_get_i32(x); /* my_prog */
	(void)xdr_get_i32(x); /* my_vers */
	(void)xdr_get_i32(x); /* my_proc */
}

/* sm_name. */
void
nsm_get_name(struct xdr_in *x, struct call_args *args)
{
	args->name = xdr_get_opaque(x, LOCKS_TEXT_MAX);
}

/* mon_id. */
void
nsm_get_unmon(struct xdr_in *x, struct call_args *args)
{
	nsm_get_name(x, args);
	get_my_id(x);
}

/* mon. */
void
nsm_get_mon(struct xdr_in *x, struct call_args *args)
{
	uint8_t priv[PRIV_SIZE];

	nsm_get_unmon(x, args);
	xdr_get_fixed(x, priv, sizeof(priv));
}

/* my_id. */
void
nsm_get_unmon_all(struct xdr_in *x, struct call_args *args UNUSED)
{
	get_my_id(x);
}

/* sm_stat_res: 0 is stat_succ, 1 is stat_fail. */
void
nsm_put_stat_res(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, res->answer.stat == LOCKS_GRANTED ? 0 : 1);
	xdr_put_i32(x, res->state);
}
