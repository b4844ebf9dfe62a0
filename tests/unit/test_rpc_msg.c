/* SPDX-License-Identifier: ISC */
/*
 * RPC headers and credentials. The refusals on the wire are vectors
 * (tests/wire/stub2). This test covers the rest.
 * Runs in: tests.
 */
#include <string.h>

#include "rpc/msg.h"
#include "tap.h"

static uint8_t buf[1024];

static void
test_call(void)
{
	struct rpc_head head = { .xid = 1, .prog = 2, .vers = 3, .proc = 4 };
	struct rpc_cred cred = { .flavor = AUTH_SYS,
		.uid = 65536,
		.gid = 7,
		.ngids = 2,
		.gids = { 8, 9 } };
	struct rpc_head got;
	struct rpc_cred back;
	struct xdr_out out;
	struct xdr_in in;

	xdr_out_init(&out, buf, sizeof(buf));
	rpc_put_call(&out, &head, &cred);
	xdr_put_u32(&out, 77);
	xdr_in_init(&in, buf, out.len);
	cmp_ok(rpc_get_call(&in, &got), "==", RPC_HEAD_CALL,
	    "a call is decoded");
	ok(got.xid == 1 && got.prog == 2 && got.vers == 3 && got.proc == 4,
	    "with its numbers");
	ok(xdr_get_u32(&in) == 77, "the cursor is at the arguments");
	cmp_ok(rpc_get_cred(&got.cred, &back), "==", AUTH_OK, "credential");
	ok(memcmp(&cred, &back, sizeof(cred)) == 0,
	    "a credential survives: uid of more than 16 bits, groups in order");
}

static void
test_anonymous(void)
{
	struct rpc_auth auth = { .flavor = AUTH_NONE };
	struct rpc_cred cred;

	memset(&cred, 0, sizeof(cred));
	cmp_ok(rpc_get_cred(&auth, &cred), "==", AUTH_OK, "AUTH_NONE");
	ok(cred.flavor == AUTH_NONE && cred.uid != 0 && cred.gid != 0,
	    "AUTH_NONE is the anonymous user, not root");
	auth.flavor = 3;
	cmp_ok(rpc_get_cred(&auth, &cred), "==", AUTH_TOOWEAK, "AUTH_DES");
	ok(cred.flavor == AUTH_NONE, "a refused credential has no flavor");
}

static const char *
reply(size_t len)
{
	struct xdr_in in;
	uint32_t xid;

	xdr_in_init(&in, buf, len);
	return rpc_get_reply(&in, &xid);
}

static void
test_replies(void)
{
	static const char *const words[] = { NULL, "program unavailable",
		"program version unavailable", "procedure unavailable",
		"arguments refused", "system error" };
	struct xdr_out out;
	unsigned int i;
	size_t n, bad;

	for (i = 0; i < 6; i++) {
		xdr_out_init(&out, buf, sizeof(buf));
		rpc_put_accepted(&out, 5, (enum rpc_accept_stat)i);
		is(reply(out.len), words[i], "accept status %u", i);
	}
	buf[23] = 6;
	is(reply(24), "malformed reply", "an unknown accept status");
	xdr_out_init(&out, buf, sizeof(buf));
	rpc_put_rpc_mismatch(&out, 5);
	is(reply(out.len), "RPC version refused", "RPC_MISMATCH");
	xdr_out_init(&out, buf, sizeof(buf));
	rpc_put_auth_error(&out, 5, AUTH_BADCRED);
	is(reply(out.len), "credential refused", "AUTH_ERROR");
	buf[15] = 2;
	is(reply(out.len), "malformed reply", "an unknown reject status");
	xdr_out_init(&out, buf, sizeof(buf));
	rpc_put_accepted(&out, 5, RPC_SUCCESS);
	for (n = bad = 0; n < out.len; n++)
		if (reply(n) == NULL)
			bad++;
	cmp_ok(bad, "==", 0, "a truncated reply is never a success");
	buf[7] = RPC_CALL;
	is(reply(24), "malformed reply", "a call is no reply");
}

static void
test_small_buffer(void)
{
	struct xdr_out out;

	xdr_out_init(&out, buf, 16);
	rpc_put_accepted(&out, 5, RPC_SUCCESS);
	ok(out.failed, "a header that does not fit fails");
}

int
main(void)
{
	plan(NO_PLAN);
	test_call();
	test_anonymous();
	test_replies();
	test_small_buffer();
	done_testing();
}
