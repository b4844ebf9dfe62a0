/* SPDX-License-Identifier: ISC */
/*
 * Credentials: four bytes of flavor, the rest is the body. An accepted AUTH_SYS
 * credential must be the same after encoding and decoding.
 * Runs in: fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "rpc/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t buf[8 + RPC_AUTH_BODY_MAX];
	struct rpc_auth auth;
	struct rpc_cred cred, again;
	struct xdr_out out;
	struct xdr_in in;

	xdr_in_init(&in, data, len);
	auth.flavor = xdr_get_u32(&in);
	auth.body = (struct slice){ in.pos, in.left };
	if (rpc_get_cred(&auth, &cred) != AUTH_OK || cred.flavor != AUTH_SYS)
		return 0;
	xdr_out_init(&out, buf, sizeof(buf));
	rpc_put_cred(&out, &cred);
	auth.body = (struct slice){ buf + 8, out.len - 8 };
	if (out.failed || rpc_get_cred(&auth, &again) != AUTH_OK ||
	    memcmp(&cred, &again, sizeof(cred)) != 0)
		abort();
	return 0;
}
