/* SPDX-License-Identifier: ISC */
/*
 * RPC message headers: see rpc/msg.h.
 * Runs in: every process that speaks RPC.
 */
#include "base/util.h"
#include "rpc/msg.h"

/* opaque_auth: RFC 5531, 8.2. */
static void
get_auth(struct xdr_in *x, struct rpc_auth *auth)
{
	auth->flavor = xdr_get_u32(x);
	auth->body = xdr_get_opaque(x, RPC_AUTH_BODY_MAX);
}

/* call_body: RFC 5531, section 9. */
enum rpc_head_kind
rpc_get_call(struct xdr_in *x, struct rpc_head *head)
{
	uint32_t type, version;

	/*
	 * No error reply is longer than the shortest complete header. A shorter
	 * message gets no reply. A datagram with a forged source therefore
	 * never causes a longer one.
	 */
	if (x->left < RPC_HEADER_MIN)
		return RPC_HEAD_NOISE;
	head->xid = xdr_get_u32(x);
	type = xdr_get_u32(x);
	if (type == RPC_REPLY)
		return RPC_HEAD_REPLY;
	if (type != RPC_CALL)
		return RPC_HEAD_NOISE;
	version = xdr_get_u32(x);
	if (version != RPC_VERSION)
		return RPC_HEAD_VERSION;
	head->prog = xdr_get_u32(x);
	head->vers = xdr_get_u32(x);
	head->proc = xdr_get_u32(x);
	get_auth(x, &head->cred);
	if (x->failed)
		return RPC_HEAD_BADCRED;
	/*
	 * The verifier of AUTH_NONE and AUTH_SYS has no meaning. Its length is
	 * checked, its flavor is not.
	 */
	get_auth(x, &head->verf);
	return x->failed ? RPC_HEAD_BADVERF : RPC_HEAD_CALL;
}

void
rpc_put_call(struct xdr_out *x, const struct rpc_head *head,
    const struct rpc_cred *cred)
{
	static const struct rpc_cred none = { .flavor = AUTH_NONE };

	xdr_put_u32(x, head->xid);
	xdr_put_u32(x, RPC_CALL);
	xdr_put_u32(x, RPC_VERSION);
	xdr_put_u32(x, head->prog);
	xdr_put_u32(x, head->vers);
	xdr_put_u32(x, head->proc);
	rpc_put_cred(x, cred != NULL ? cred : &none);
	rpc_put_cred(x, &none); /* the verifier */
}

/* accepted_reply: RFC 5531, section 9. The verifier is always empty. */
void
rpc_put_accepted(struct xdr_out *x, uint32_t xid, enum rpc_accept_stat stat)
{
	xdr_put_u32(x, xid);
	xdr_put_u32(x, RPC_REPLY);
	xdr_put_u32(x, RPC_MSG_ACCEPTED);
	xdr_put_u32(x, AUTH_NONE);
	xdr_put_u32(x, 0);
	xdr_put_u32(x, stat);
}

void
rpc_put_prog_mismatch(struct xdr_out *x, uint32_t xid, uint32_t low,
    uint32_t high)
{
	rpc_put_accepted(x, xid, RPC_PROG_MISMATCH);
	xdr_put_u32(x, low);
	xdr_put_u32(x, high);
}

/* rejected_reply: RFC 5531, section 9. */
void
rpc_put_rpc_mismatch(struct xdr_out *x, uint32_t xid)
{
	xdr_put_u32(x, xid);
	xdr_put_u32(x, RPC_REPLY);
	xdr_put_u32(x, RPC_MSG_DENIED);
	xdr_put_u32(x, RPC_MISMATCH);
	xdr_put_u32(x, RPC_VERSION);
	xdr_put_u32(x, RPC_VERSION);
}

void
rpc_put_auth_error(struct xdr_out *x, uint32_t xid, enum rpc_auth_stat why)
{
	xdr_put_u32(x, xid);
	xdr_put_u32(x, RPC_REPLY);
	xdr_put_u32(x, RPC_MSG_DENIED);
	xdr_put_u32(x, RPC_AUTH_ERROR);
	xdr_put_u32(x, why);
}

static const char *
get_denied(struct xdr_in *x)
{
	if (xdr_get_enum(x, 2) == RPC_AUTH_ERROR)
		return "credential refused";
	return x->failed ? "malformed reply" : "RPC version refused";
}

/* reply_body: RFC 5531, section 9. */
const char *
rpc_get_reply(struct xdr_in *x, uint32_t *xid)
{
	static const char *const words[] = {
		[RPC_PROG_UNAVAIL] = "program unavailable",
		[RPC_PROG_MISMATCH] = "program version unavailable",
		[RPC_PROC_UNAVAIL] = "procedure unavailable",
		[RPC_GARBAGE_ARGS] = "arguments refused",
		[RPC_SYSTEM_ERR] = "system error",
	};
	struct rpc_auth verf;
	uint32_t type, stat;

	*xid = xdr_get_u32(x);
	type = xdr_get_u32(x);
	if (type != RPC_REPLY)
		return "malformed reply";
	if (xdr_get_enum(x, 2) == RPC_MSG_DENIED)
		return get_denied(x);
	get_auth(x, &verf);
	stat = xdr_get_enum(x, nitems(words));
	return x->failed ? "malformed reply" : words[stat];
}
