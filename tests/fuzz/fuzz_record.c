/* SPDX-License-Identifier: ISC */
/*
 * Record marking. The first byte divides the rest into pieces. Records must
 * stay below the maximum, and memory below the bytes that have arrived.
 * Runs in: fuzzers.
 */
#include <stdlib.h>

#include "transport/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rpc_record r = { .buf = NULL };
	enum rpc_record_state state = RPC_RECORD_MORE;
	const uint8_t *at, *msg;
	size_t piece, left, msglen;

	for (piece = len > 0 ? 1u + data[0] : 1; len > 1; len -= piece) {
		if (piece > len - 1)
			piece = len - 1;
		at = ++data;
		left = piece;
		while ((state = rpc_record_next(&r, 8192, 32, &at, &left, &msg,
			    &msglen)) == RPC_RECORD_DONE)
			if (msglen > 8192)
				abort();
		if (r.cap > 16384 || r.len > r.cap)
			abort();
		if (state != RPC_RECORD_MORE)
			break;
		data += piece - 1;
	}
	rpc_record_clear(&r);
	return 0;
}
