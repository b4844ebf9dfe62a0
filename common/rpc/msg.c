/* SPDX-License-Identifier: ISC */
/*
 * RPC message headers and credentials: see rpc/msg.h. AUTH_SYS proves nothing;
 * the export list decides how far it is trusted. No allocation, no system call.
 * Runs in: every process that speaks RPC.
 */
#include <string.h>

#include "base/util.h"
#include "rpc/msg.h"

#define AUTH_SHORT 2

/*
 * The ids of AUTH_NONE. They are not used; this value makes sure that they are
 * not root.
 */
#define RPC_NOBODY 65534

/* opaque_auth: RFC 5531, 8.2. */
static inline void
get_auth(struct xdr_in *x, struct rpc_auth *auth)
{
	auth->flavor = xdr_get_u32(x);
	auth->body = xdr_get_opaque(x, RPC_AUTH_BODY_MAX);
}

/* call_body: RFC 5531, section 9. */
static inline enum rpc_head_kind
get_call(struct xdr_in *x, struct rpc_head *head)
{
	struct xdr_in fixed;
	uint32_t type, version;

	/*
	 * No error reply is longer than the shortest complete header. A shorter
	 * message gets no reply. A datagram with a forged source therefore
	 * never causes a longer one.
	 */
	if (x->left < RPC_HEADER_MIN)
		return RPC_HEAD_NOISE;
	fixed = xdr_get_part(x, 6 * sizeof(uint32_t));
	head->xid = xdr_get_u32(&fixed);
	type = xdr_get_u32(&fixed);
	if (type == RPC_REPLY)
		return RPC_HEAD_REPLY;
	if (type != RPC_CALL)
		return RPC_HEAD_NOISE;
	version = xdr_get_u32(&fixed);
	if (version != RPC_VERSION)
		return RPC_HEAD_VERSION;
	head->prog = xdr_get_u32(&fixed);
	head->vers = xdr_get_u32(&fixed);
	head->proc = xdr_get_u32(&fixed);
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

/* A cursor of its own stays in registers. */
enum rpc_head_kind
rpc_get_call(struct xdr_in *in, struct rpc_head *head)
{
	struct xdr_in x = *in;
	enum rpc_head_kind kind = get_call(&x, head);

	*in = x;
	return kind;
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
rpc_put_accepted(struct xdr_out *out, uint32_t xid, enum rpc_accept_stat stat)
{
	struct xdr_out x = xdr_put_part(out, RPC_REPLY_HEADER);

	if (x.failed)
		return;
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, RPC_REPLY);
	xdr_put_u32(&x, RPC_MSG_ACCEPTED);
	xdr_put_u32(&x, AUTH_NONE);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, stat);
}

/* RFC 9289, 4.1: the token in the verifier of AUTH_NONE. */
void
rpc_put_starttls(struct xdr_out *x, uint32_t xid, enum rpc_accept_stat stat)
{
	static const char token[8] = { 'S', 'T', 'A', 'R', 'T', 'T', 'L', 'S' };

	xdr_put_u32(x, xid);
	xdr_put_u32(x, RPC_REPLY);
	xdr_put_u32(x, RPC_MSG_ACCEPTED);
	xdr_put_u32(x, AUTH_NONE);
	xdr_put_opaque(x, token, sizeof(token));
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

/* authsys_parms: RFC 5531, appendix A. */
static enum rpc_auth_stat
get_sys(const struct slice *body, struct rpc_cred *cred)
{
	struct xdr_in x, ids;
	uint32_t i;

	xdr_in_init(&x, body->data, body->len);
	(void)xdr_get_u32(&x); /* stamp: players send a fixed sequence */
	(void)xdr_get_opaque(&x, RPC_MACHINE_MAX); /* players send "" */
	ids = xdr_get_part(&x, 2 * sizeof(uint32_t));
	cred->uid = xdr_get_u32(&ids);
	cred->gid = xdr_get_u32(&ids);
	cred->ngids = xdr_get_count(&x, RPC_GROUPS_MAX, sizeof(uint32_t));
	for (i = 0; i < cred->ngids; i++)
		cred->gids[i] = xdr_get_u32(&x);
	if (!x.failed && x.left == 0)
		return AUTH_OK;
	memset(cred, 0, sizeof(*cred));
	return AUTH_BADCRED;
}

enum rpc_auth_stat
rpc_get_cred(const struct rpc_auth *auth, struct rpc_cred *cred)
{
	memset(cred, 0, sizeof(*cred));
	cred->flavor = auth->flavor;
	switch (auth->flavor) {
	case AUTH_NONE:
		cred->uid = RPC_NOBODY;
		cred->gid = RPC_NOBODY;
		return AUTH_OK;
	case AUTH_SYS:
		return get_sys(&auth->body, cred);
	case AUTH_SHORT:
		/* Appendix A: the client then sends the full credential. */
		cred->flavor = AUTH_NONE;
		return AUTH_REJECTEDCRED;
	default:
		/* The client must not repeat the same call. */
		cred->flavor = AUTH_NONE;
		return AUTH_TOOWEAK;
	}
}

enum rpc_auth_stat
rpc_get_probe(const struct rpc_head *head, bool inside_tls,
    struct rpc_cred *cred)
{
	static const struct rpc_auth none = { .flavor = AUTH_NONE };

	(void)rpc_get_cred(&none, cred);
	if (inside_tls || head->proc != 0 || head->cred.body.len != 0)
		return AUTH_BADCRED;
	if (head->verf.flavor != AUTH_NONE || head->verf.body.len != 0)
		return AUTH_BADVERF;
	return AUTH_OK;
}

void
rpc_put_cred(struct xdr_out *x, const struct rpc_cred *cred)
{
	uint32_t i;

	xdr_put_u32(x, cred->flavor);
	if (cred->flavor != AUTH_SYS) {
		xdr_put_u32(x, 0);
		return;
	}
	xdr_put_u32(x, 20 + 4 * cred->ngids);
	xdr_put_u32(x, 0); /* stamp */
	xdr_put_u32(x, 0); /* machine name */
	xdr_put_u32(x, cred->uid);
	xdr_put_u32(x, cred->gid);
	xdr_put_u32(x, cred->ngids);
	for (i = 0; i < cred->ngids; i++)
		xdr_put_u32(x, cred->gids[i]);
}
