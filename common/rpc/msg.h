/* SPDX-License-Identifier: ISC */
/*
 * RPC messages (RFC 5531, section 9). Reads call headers and writes every
 * accepted and denied reply. For a client, the reverse. No allocation, no
 * system call.
 * Runs in: every process that speaks RPC.
 */
#ifndef RPC_MSG_H
#define RPC_MSG_H

#include "rpc/rpc.h"

struct rpc_auth {
	uint32_t flavor;
	struct slice body; /* points into the message */
};

struct rpc_head {
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	struct rpc_auth cred;
	struct rpc_auth verf;
};

/* The result of reading a call header. */
enum rpc_head_kind {
	RPC_HEAD_CALL, /* all fields are valid */
	RPC_HEAD_NOISE, /* too short or no message type: not RPC */
	RPC_HEAD_REPLY, /* a reply: an answer could loop between two servers */
	RPC_HEAD_VERSION, /* xid is valid: answer RPC_MISMATCH */
	RPC_HEAD_BADCRED, /* xid is valid: answer AUTH_ERROR */
	RPC_HEAD_BADVERF
};

/* Reads a call header. The cursor then stands at the arguments. */
enum rpc_head_kind rpc_get_call(struct xdr_in *, struct rpc_head *);
/* Writes a call header with the flavor of cred (NULL: AUTH_NONE). */
void rpc_put_call(struct xdr_out *, const struct rpc_head *,
    const struct rpc_cred *cred);

/*
 * Writes the 24 bytes before the results. If the status is RPC_SUCCESS, results
 * follow.
 */
void rpc_put_accepted(struct xdr_out *, uint32_t xid, enum rpc_accept_stat);
/* The same with "STARTTLS" in the verifier: the server goes on with TLS. */
void rpc_put_starttls(struct xdr_out *, uint32_t xid, enum rpc_accept_stat);
/* PROG_MISMATCH with the versions that are served. */
void rpc_put_prog_mismatch(struct xdr_out *, uint32_t xid, uint32_t low,
    uint32_t high);
/* RPC_MISMATCH: only version 2 is served. */
void rpc_put_rpc_mismatch(struct xdr_out *, uint32_t xid);
void rpc_put_auth_error(struct xdr_out *, uint32_t xid, enum rpc_auth_stat);

/*
 * Reads a reply header. Returns NULL on success, with the cursor at the
 * results, else the error as text. *xid is set if there is one.
 */
const char *rpc_get_reply(struct xdr_in *, uint32_t *xid);

/*
 * Reads a credential (RFC 5531, 8.2 and appendix A) into cred: AUTH_NONE or
 * AUTH_SYS. The stamp is ignored, and the machine name may be empty. The body
 * must end where its contents end. Returns AUTH_OK, or the reason of a denial;
 * cred is then zero.
 */
enum rpc_auth_stat rpc_get_cred(const struct rpc_auth *, struct rpc_cred *cred);
/*
 * Checks a call with AUTH_TLS, which asks for TLS (RFC 9289, 4.1): a NULL call
 * without credential and verifier, outside of TLS. It counts as AUTH_NONE.
 */
enum rpc_auth_stat rpc_get_probe(const struct rpc_head *, bool inside_tls,
    struct rpc_cred *cred);
/* Writes flavor, length and body, with stamp 0 and no machine name. */
void rpc_put_cred(struct xdr_out *, const struct rpc_cred *);

#endif
