/* SPDX-License-Identifier: ISC */
/*
 * Credentials: AUTH_NONE and AUTH_SYS (RFC 5531, 8.1 and appendix A). AUTH_SYS
 * proves nothing; the export list decides how far it is trusted. No allocation,
 * no system call.
 * Runs in: every process that speaks RPC.
 */
#include <string.h>

#include "rpc/msg.h"

#define AUTH_SHORT 2

/*
 * The ids of AUTH_NONE. They are not used; this value makes sure that they are
 * not root.
 */
#define RPC_NOBODY 65534

/* authsys_parms: RFC 5531, appendix A. */
static enum rpc_auth_stat
get_sys(const struct slice *body, struct rpc_cred *cred)
{
	struct xdr_in x;
	uint32_t i;

	xdr_in_init(&x, body->data, body->len);
	(void)xdr_get_u32(&x); /* stamp: players send a fixed sequence */
	(void)xdr_get_opaque(&x, RPC_MACHINE_MAX); /* players send "" */
	cred->uid = xdr_get_u32(&x);
	cred->gid = xdr_get_u32(&x);
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
