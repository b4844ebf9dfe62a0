/* SPDX-License-Identifier: ISC */
/*
 * Call and reply headers. An accepted header must lie inside its message.
 * Runs in: fuzzers.
 */
#include <stdlib.h>

#include "rpc/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int
is_inside(const struct slice *s, const uint8_t *data, size_t len)
{
	return s->len == 0 ||
	    (s->data >= data && s->len <= len - (size_t)(s->data - data));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rpc_head head;
	struct xdr_in in;
	uint32_t xid;

	xdr_in_init(&in, data, len);
	if (rpc_get_call(&in, &head) == RPC_HEAD_CALL &&
	    (in.failed || in.left > len - RPC_HEADER_MIN ||
		!is_inside(&head.cred.body, data, len) ||
		!is_inside(&head.verf.body, data, len)))
		abort();
	xdr_in_init(&in, data, len);
	if (rpc_get_reply(&in, &xid) == NULL && in.failed)
		abort();
	return 0;
}
