/* SPDX-License-Identifier: ISC */
/*
 * RPC messages (RFC 5531, section 9): the call header in, every accepted and
 * denied reply out; and for our own client the other way round. Pure.
 * Runs in: every process that speaks RPC.
 */
#ifndef RPC_MSG_H
#define RPC_MSG_H

#include "rpc/rpc.h"

struct rpc_auth {
	uint32_t flavor;
	struct slice body; /* borrowed from the message */
};

struct rpc_head {
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	struct rpc_auth cred;
	struct rpc_auth verf;
};

/* What became of a call header. */
enum rpc_head_kind {
	RPC_HEAD_CALL, /* all fields are valid */
	RPC_HEAD_NOISE, /* too short or no message type: not RPC */
	RPC_HEAD_REPLY, /* a reply: never answered, or two servers loop */
	RPC_HEAD_VERSION, /* xid is valid: answer RPC_MISMATCH */
	RPC_HEAD_BADCRED, /* xid is valid: answer AUTH_ERROR */
	RPC_HEAD_BADVERF
};

/* Reads a call header; afterwards the cursor is at the arguments. */
enum rpc_head_kind rpc_get_call(struct xdr_in *, struct rpc_head *);
/* Writes a call header with the flavor of cred (NULL: AUTH_NONE). */
void rpc_put_call(struct xdr_out *, const struct rpc_head *,
    const struct rpc_cred *cred);

/* The 24 bytes before the results; results follow when it is RPC_SUCCESS. */
void rpc_put_accepted(struct xdr_out *, uint32_t xid, enum rpc_accept_stat);
/* PROG_MISMATCH with the versions we do have. */
void rpc_put_prog_mismatch(struct xdr_out *, uint32_t xid, uint32_t low,
    uint32_t high);
/* RPC_MISMATCH: we speak version 2 only. */
void rpc_put_rpc_mismatch(struct xdr_out *, uint32_t xid);
void rpc_put_auth_error(struct xdr_out *, uint32_t xid, enum rpc_auth_stat);

/*
 * Reads a reply header. NULL when it is a success and the cursor is at the
 * results, else what is wrong in words. *xid is set whenever there is one.
 */
const char *rpc_get_reply(struct xdr_in *, uint32_t *xid);

/*
 * Reads a credential (RFC 5531, 8.2 and appendix A) into cred: AUTH_NONE or
 * AUTH_SYS. The stamp is ignored, the machine name may be empty, and the body
 * must end where its contents end. AUTH_OK, or why the call is denied (cred is
 * then zero).
 */
enum rpc_auth_stat rpc_get_cred(const struct rpc_auth *, struct rpc_cred *cred);
/* Writes flavor, length and body; stamp zero, no machine name. */
void rpc_put_cred(struct xdr_out *, const struct rpc_cred *);

#endif
