/* SPDX-License-Identifier: ISC */
/*
 * The codecs of NLM and NSM.
 * Runs in: nfsd nlm, tests.
 */
#ifndef NLM_XDR_H
#define NLM_XDR_H

#include "nfsd/nlm/nlm.h"

/* nlm_xdr.c: versions 1 and 3, version 4, and what all have alike. */
void nlm1_get_test(struct xdr_in *, struct call_args *);
void nlm1_get_lock(struct xdr_in *, struct call_args *);
void nlm1_get_cancel(struct xdr_in *, struct call_args *);
void nlm1_get_unlock(struct xdr_in *, struct call_args *);
void nlm1_put_test(struct xdr_out *, const struct call_res *);
void nlm1_put_res(struct xdr_out *, const struct call_res *);
void nlm1_put_share(struct xdr_out *, const struct call_res *);
void nlm4_get_test(struct xdr_in *, struct call_args *);
void nlm4_get_lock(struct xdr_in *, struct call_args *);
void nlm4_get_cancel(struct xdr_in *, struct call_args *);
void nlm4_get_unlock(struct xdr_in *, struct call_args *);
void nlm4_put_test(struct xdr_out *, const struct call_res *);
void nlm4_put_res(struct xdr_out *, const struct call_res *);
void nlm4_put_share(struct xdr_out *, const struct call_res *);
void nlm_get_res(struct xdr_in *, struct call_args *);
void nlm_get_share(struct xdr_in *, struct call_args *);
void nlm_get_notify(struct xdr_in *, struct call_args *);
/* Writes the arguments of GRANTED and GRANTED_MSG. */
void nlm_put_granted(struct xdr_out *, uint32_t vers,
    const struct locks_grant *, struct slice name, struct slice owner);

/* nsm_xdr.c */
void nsm_get_name(struct xdr_in *, struct call_args *);
void nsm_get_mon(struct xdr_in *, struct call_args *);
void nsm_get_unmon(struct xdr_in *, struct call_args *);
void nsm_get_unmon_all(struct xdr_in *, struct call_args *);
void nsm_put_stat_res(struct xdr_out *, const struct call_res *);

#endif
