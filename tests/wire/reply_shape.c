/* SPDX-License-Identifier: ISC */
/*
 * See reply_shape.h.
 * Runs in: tests, fuzzers.
 */
#include "reply_shape.h"

#include <string.h>

#include "base/util.h"
#include "rpc/rpc.h"
#include "rpc/xdr.h"

#define BYTES_MAX 84

/* The bracket that closes the next one. */
static const char *
closing(const char *at)
{
	int depth = 0;

	for (;; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at;
	}
}

static void
take_bytes(struct xdr_in *x, size_t n)
{
	uint8_t bytes[BYTES_MAX];

	xdr_get_fixed(x, bytes, n);
}

static void
take_opaque(struct xdr_in *x)
{
	struct slice s = xdr_get_opaque(x, SIZE_MAX);
	size_t i;

	for (i = 0; !x->failed && i < xdr_pad(s.len); i++)
		if (s.data[s.len + i] != 0)
			xdr_get_fail(x);
}

static void
take_one(struct xdr_in *x, char letter)
{
	static const struct {
		char letter;
		size_t size;
	} fixed[] = { { 'u', 4 }, { 'U', 8 }, { 'v', 32 }, { 'f', 68 },
		{ 'p', 24 }, { 'a', 84 } };
	size_t i;

	if (letter == 'b')
		(void)xdr_get_bool(x);
	if (letter == 'o')
		take_opaque(x);
	for (i = 0; i < nitems(fixed); i++)
		if (fixed[i].letter == letter)
			take_bytes(x, fixed[i].size);
}

static void
take(struct xdr_in *x, const char *shape)
{
	uint32_t n;

	for (; *shape != '\0' && *shape != ')' && !x->failed; shape++) {
		if (*shape == '?' && xdr_get_bool(x))
			take(x, shape + 2);
		if (*shape == '*')
			while (xdr_get_bool(x))
				take(x, shape + 2);
		if (*shape == '#')
			for (n = xdr_get_u32(x); n > 0 && !x->failed; n--)
				take(x, shape + 2);
		if (*shape == '1' && xdr_get_u32(x) == 1)
			take(x, shape + 2);
		if (strchr("?*#1", *shape) != NULL)
			shape = closing(shape);
		else
			take_one(x, *shape);
	}
}

/* Behind "accepted": verifier, status, results. */
static void
take_accepted(struct xdr_in *x, const struct reply_shape *shape)
{
	const char *rest = "";
	uint32_t status;

	take(x, "uo");
	status = xdr_get_enum(x, RPC_SYSTEM_ERR + 1);
	if (status == RPC_PROG_MISMATCH)
		rest = "uu";
	if (status == RPC_SUCCESS && shape == NULL)
		xdr_get_fail(x);
	else if (status == RPC_SUCCESS)
		rest = shape->bad != NULL && xdr_get_u32(x) != 0 ? shape->bad :
								   shape->good;
	take(x, rest);
}

bool
reply_is_whole(const void *reply, size_t len, const struct reply_shape *shape)
{
	struct xdr_in x;

	xdr_in_init(&x, reply, len);
	(void)xdr_get_u32(&x);
	if (xdr_get_u32(&x) != RPC_REPLY)
		return false;
	if (xdr_get_enum(&x, 2) == RPC_MSG_ACCEPTED)
		take_accepted(&x, shape);
	else if (xdr_get_enum(&x, 2) == RPC_MISMATCH)
		take(&x, "uu");
	else
		take(&x, "u");
	return !x.failed && x.left == 0;
}
