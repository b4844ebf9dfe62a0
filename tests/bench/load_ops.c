/* SPDX-License-Identifier: ISC */
/*
 * The operations of the load generator: one row each, with the encoder of its
 * arguments and the judge of its reply, for both versions.
 * Runs in: the load generator.
 */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "rpc/rpc.h"

#define NFSPROG	   100003
#define NLMPROG	   100021
#define NLM_VERS   4
#define LIST_BYTES 32768
#define UNCHANGED  0xffffffffu

/* The data to write: only its length matters. */
static const uint8_t payload[1u << 20] = "tern";

static void
put_fh(struct xdr_out *x, const struct load *l, const struct load_fh *fh)
{
	if (l->vers == 2)
		xdr_put_fixed(x, fh->bytes, 32);
	else
		xdr_put_opaque(x, fh->bytes, fh->len);
}

static void
put_nothing(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	(void)x;
	(void)l;
	(void)s;
}

static void
put_handle(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
}

/* sattr that sets the mode only. */
static void
put_mode(struct xdr_out *x, const struct load *l, uint32_t mode)
{
	int i;

	if (l->vers == 2) {
		xdr_put_u32(x, mode);
		for (i = 0; i < 7; i++)
			xdr_put_u32(x, UNCHANGED);
		return;
	}
	xdr_put_bool(x, true);
	xdr_put_u32(x, mode);
	for (i = 0; i < 5; i++)
		xdr_put_u32(x, 0);
}

static void
put_setattr(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	put_mode(x, l, s->turn % 2 ? 0644 : 0666);
	if (l->vers == 3)
		xdr_put_bool(x, false); /* no guard */
}

static void
put_place(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	xdr_put_string(x, s->name);
}

static void
put_access(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	xdr_put_u32(x, 0x3f);
}

static void
put_read(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	if (l->vers == 2) {
		xdr_put_u32(x, (uint32_t)s->offset);
		xdr_put_u32(x, s->count);
		xdr_put_u32(x, 0);
		return;
	}
	xdr_put_u64(x, s->offset);
	xdr_put_u32(x, s->count);
}

static void
put_write(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	if (l->vers == 2) {
		xdr_put_u32(x, 0);
		xdr_put_u32(x, (uint32_t)s->offset);
		xdr_put_u32(x, 0);
	} else {
		xdr_put_u64(x, s->offset);
		xdr_put_u32(x, s->count);
		xdr_put_u32(x, s->stable);
	}
	xdr_put_opaque(x, payload, s->count);
}

static void
put_create(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_place(x, l, s);
	if (l->vers == 3)
		xdr_put_u32(x, 0); /* unchecked */
	put_mode(x, l, 0644);
}

static void
put_rename(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_place(x, l, s);
	put_fh(x, l, s->fh);
	xdr_put_string(x, s->to);
}

static void
put_list(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	if (l->vers == 2) {
		xdr_put_u32(x, (uint32_t)s->cookie);
		xdr_put_u32(x, 8192);
		return;
	}
	xdr_put_u64(x, s->cookie);
	xdr_put_fixed(x, s->cookieverf, 8);
	xdr_put_u32(x, LIST_BYTES);
	xdr_put_u32(x, LIST_BYTES);
}

static void
put_commit(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	put_fh(x, l, s->fh);
	xdr_put_u64(x, 0);
	xdr_put_u32(x, 0);
}

/* LOCK and UNLOCK of NLM 4: the cookie is the xid. */
static void
put_lock(struct xdr_out *x, const struct load *l, const struct load_slot *s)
{
	(void)l;
	xdr_put_opaque(x, &s->xid, sizeof(s->xid));
	if (s->op == LOAD_LOCK) {
		xdr_put_bool(x, false); /* do not wait */
		xdr_put_bool(x, true); /* exclusive */
	}
	xdr_put_string(x, "load");
	xdr_put_opaque(x, s->fh->bytes, s->fh->len);
	xdr_put_opaque(x, &s->owner, sizeof(s->owner));
	xdr_put_u32(x, s->owner);
	xdr_put_u64(x, s->offset);
	xdr_put_u64(x, 1);
	if (s->op == LOAD_LOCK) {
		xdr_put_bool(x, false); /* no reclaim */
		xdr_put_u32(x, 1); /* state */
	}
}

/* ---- judges of what follows the status ---- */

static int64_t
judge_ok(struct load *l, struct load_slot *s, struct xdr_in *x, size_t whole)
{
	(void)l;
	(void)s;
	(void)x;
	(void)whole;
	return 1;
}

static void
skip(struct xdr_in *x, size_t n)
{
	if (n > x->left) {
		xdr_get_fail(x);
		return;
	}
	x->pos += n;
	x->left -= n;
}

static void
skip_post_op(struct xdr_in *x)
{
	if (xdr_get_bool(x))
		skip(x, 84);
}

static void
skip_wcc(struct xdr_in *x)
{
	if (xdr_get_bool(x))
		skip(x, 24);
	skip_post_op(x);
}

/* The attributes must be those of a file or directory. */
static int64_t
judge_attr(struct load *l, struct load_slot *s, struct xdr_in *x, size_t whole)
{
	uint32_t type = xdr_get_u32(x);

	(void)l;
	(void)s;
	(void)whole;
	return type == 1 || type == 2 ? 1 : -1;
}

static int64_t
judge_lookup(struct load *l, struct load_slot *s, struct xdr_in *x,
    size_t whole)
{
	(void)s;
	(void)whole;
	if (l->vers == 3)
		return xdr_get_opaque(x, LOAD_FH_MAX).len > 0 ? 1 : -1;
	skip(x, 32);
	return 1;
}

static int64_t
judge_access(struct load *l, struct load_slot *s, struct xdr_in *x,
    size_t whole)
{
	(void)l;
	(void)s;
	(void)whole;
	skip_post_op(x);
	return xdr_get_u32(x) & 1 ? 1 : -1;
}

static bool
same_bytes(const struct load_slot *s, const uint8_t *got, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (got[i] != load_tree_byte(s->offset + i))
			return false;
	return true;
}

/* All bytes must come: the offsets never reach the end of the file. */
static int64_t
judge_read(struct load *l, struct load_slot *s, struct xdr_in *x, size_t whole)
{
	uint32_t count = s->count, len;

	if (l->vers == 3) {
		skip_post_op(x);
		count = xdr_get_u32(x);
		xdr_get_bool(x);
	} else {
		skip(x, 68);
	}
	len = xdr_get_u32(x);
	if (x->failed || count != s->count || len != s->count || whole < len)
		return -1;
	if (l->verify && (x->left < len || !same_bytes(s, x->pos, len)))
		return -1;
	l->bytes += len;
	return 1;
}

static int64_t
judge_write(struct load *l, struct load_slot *s, struct xdr_in *x, size_t whole)
{
	(void)whole;
	if (l->vers == 3) {
		skip_wcc(x);
		if (xdr_get_u32(x) != s->count || xdr_get_u32(x) < s->stable)
			return -1;
	}
	l->bytes += s->count;
	return 1;
}

static int64_t
judge_create(struct load *l, struct load_slot *s, struct xdr_in *x,
    size_t whole)
{
	struct slice h;

	(void)whole;
	if (l->vers == 2) {
		s->made.len = 32;
		xdr_get_fixed(x, s->made.bytes, 32);
		return 1;
	}
	if (!xdr_get_bool(x))
		return -1;
	h = xdr_get_opaque(x, LOAD_FH_MAX);
	if (x->failed)
		return -1;
	s->made.len = (uint32_t)h.len;
	memcpy(s->made.bytes, h.data, h.len);
	return 1;
}

/* Name and cookie of one entry of READDIRPLUS, or of version 2's READDIR. */
static void
take_entry(struct load *l, struct load_slot *s, struct xdr_in *x)
{
	if (l->vers == 2) {
		xdr_get_u32(x);
		xdr_get_opaque(x, 255);
		s->cookie = xdr_get_u32(x);
		return;
	}
	xdr_get_u64(x);
	xdr_get_opaque(x, 255);
	s->cookie = xdr_get_u64(x);
	skip_post_op(x);
	if (xdr_get_bool(x))
		xdr_get_opaque(x, LOAD_FH_MAX);
}

/* Units are entries. At the end of the directory the scan starts again. */
static int64_t
judge_list(struct load *l, struct load_slot *s, struct xdr_in *x, size_t whole)
{
	int64_t entries = 0;

	(void)whole;
	if (l->vers == 3) {
		skip_post_op(x);
		xdr_get_fixed(x, s->cookieverf, 8);
	}
	while (xdr_get_bool(x)) {
		take_entry(l, s, x);
		entries++;
	}
	if (xdr_get_bool(x)) {
		s->cookie = 0;
		memset(s->cookieverf, 0, 8);
	} else if (entries == 0) {
		return -1; /* no entries, but not the end: an endless loop */
	}
	return entries;
}

/* COMMIT belongs to the writes before it and counts as no work. */
static int64_t
judge_commit(struct load *l, struct load_slot *s, struct xdr_in *x,
    size_t whole)
{
	(void)l;
	(void)s;
	(void)x;
	(void)whole;
	return 0;
}

/* clang-format off */
const struct load_op_row load_ops[LOAD_OPS] = {
	[LOAD_NULL]    = { "NULL",     0,  0, put_nothing, judge_ok },
	[LOAD_GETATTR] = { "GETATTR",  1,  1, put_handle,  judge_attr },
	[LOAD_SETATTR] = { "SETATTR",  2,  2, put_setattr, judge_ok },
	[LOAD_LOOKUP]  = { "LOOKUP",   3,  4, put_place,   judge_lookup },
	[LOAD_ACCESS]  = { "ACCESS",   4, -1, put_access,  judge_access },
	[LOAD_READ]    = { "READ",     6,  6, put_read,    judge_read },
	[LOAD_WRITE]   = { "WRITE",    7,  8, put_write,   judge_write },
	[LOAD_CREATE]  = { "CREATE",   8,  9, put_create,  judge_create },
	[LOAD_REMOVE]  = { "REMOVE",  12, 10, put_place,   judge_ok },
	[LOAD_RENAME]  = { "RENAME",  14, 11, put_rename,  judge_ok },
	[LOAD_LIST]    = { "LIST",    17, 16, put_list,    judge_list },
	[LOAD_FSSTAT]  = { "FSSTAT",  18, 17, put_handle,  judge_ok },
	[LOAD_COMMIT]  = { "COMMIT",  21, -1, put_commit,  judge_commit },
	[LOAD_LOCK]    = { "LOCK",     2,  2, put_lock,    judge_ok },
	[LOAD_UNLOCK]  = { "UNLOCK",   4,  4, put_lock,    judge_ok },
};
/* clang-format on */

bool
load_is_lock(enum load_op op)
{
	return op >= LOAD_LOCK;
}

size_t
load_encode(const struct load *l, const struct load_slot *s, uint8_t *buf,
    size_t cap)
{
	const struct load_op_row *row = &load_ops[s->op];
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	xdr_put_u32(&x, s->xid);
	xdr_put_u32(&x, RPC_CALL);
	xdr_put_u32(&x, RPC_VERSION);
	xdr_put_u32(&x, load_is_lock(s->op) ? NLMPROG : NFSPROG);
	xdr_put_u32(&x, load_is_lock(s->op) ? NLM_VERS : l->vers);
	xdr_put_u32(&x, (uint32_t)(l->vers == 2 ? row->proc2 : row->proc3));
	xdr_put_u32(&x, AUTH_SYS);
	xdr_put_u32(&x, 28); /* length of the credential */
	xdr_put_u32(&x, 0);
	xdr_put_string(&x, "load");
	xdr_put_u32(&x, 1000);
	xdr_put_u32(&x, 1000);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 100);
	xdr_put_u32(&x, AUTH_NONE);
	xdr_put_u32(&x, 0);
	row->put(&x, l, s);
	return x.failed ? 0 : x.len;
}

void
load_failed(struct load *l, const struct load_slot *s, const char *why)
{
	if (l->errors++ == 0)
		snprintf(l->first_error, sizeof(l->first_error), "%s: %s",
		    load_ops[s->op].name, why);
}

void
load_judge(struct load *l, struct load_slot *s, const uint8_t *buf, size_t len,
    size_t whole)
{
	uint32_t status = 0;
	struct xdr_in x;
	char why[64];
	int64_t units;

	xdr_in_init(&x, buf, len);
	xdr_get_u32(&x); /* xid: the caller found the slot by it */
	if (xdr_get_u32(&x) != RPC_REPLY ||
	    xdr_get_u32(&x) != RPC_MSG_ACCEPTED) {
		load_failed(l, s, "denied");
		return;
	}
	xdr_get_u32(&x);
	xdr_get_opaque(&x, RPC_AUTH_BODY_MAX);
	if ((status = xdr_get_u32(&x)) != RPC_SUCCESS) {
		snprintf(why, sizeof(why), "accept status %u", status);
		load_failed(l, s, why);
		return;
	}
	if (load_is_lock(s->op))
		xdr_get_opaque(&x, sizeof(s->xid)); /* the cookie */
	if (s->op != LOAD_NULL && (status = xdr_get_u32(&x)) != 0) {
		snprintf(why, sizeof(why), "status %u", status);
		load_failed(l, s, why);
		return;
	}
	units = load_ops[s->op].judge(l, s, &x, whole);
	if (x.failed || units < 0) {
		load_failed(l, s, "malformed or wrong reply");
		return;
	}
	l->ops += s->op != LOAD_COMMIT;
	l->units += (uint64_t)units;
}
