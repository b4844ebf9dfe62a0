/* SPDX-License-Identifier: ISC */
/*
 * The codec of NLM. In versions 1 and 3 offsets and lengths have 32 bits, and
 * there are fewer statuses. Texts of a call stay where they are; the cookie goes
 * back to the byte.
 * X/Open XNFS, chapter 10; RFC 1813, 6.1.
 * Runs in: nfsd nlm, tests.
 */
#include "nfsd/nlm/nlm_xdr.h"

#define SHARE_MODES  4 /* none, read, write, both */
#define NARROW_STATS (LOCKS_GRACE + 1) /* statuses of versions 1 and 3 */

/* nlm_lock up to the range: alike in all versions. */
static void
get_owner(struct xdr_in *x, struct call_args *args)
{
	args->name = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->fh = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->oh = xdr_get_opaque(x, LOCKS_TEXT_MAX);
}

/* nlm_lock. */
static void
nlm1_get_range(struct xdr_in *x, struct call_args *args)
{
	get_owner(x, args);
	args->svid = xdr_get_i32(x);
	args->offset = xdr_get_u32(x);
	args->length = xdr_get_u32(x);
}

/* nlm4_lock. */
static void
nlm4_get_range(struct xdr_in *x, struct call_args *args)
{
	get_owner(x, args);
	args->svid = xdr_get_i32(x);
	args->offset = xdr_get_u64(x);
	args->length = xdr_get_u64(x);
}

/* nlm_testargs. */
void
nlm1_get_test(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->exclusive = xdr_get_bool(x);
	nlm1_get_range(x, args);
}

/* nlm4_testargs. */
void
nlm4_get_test(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->exclusive = xdr_get_bool(x);
	nlm4_get_range(x, args);
}

/* nlm_cancargs. */
void
nlm1_get_cancel(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->block = xdr_get_bool(x);
	args->exclusive = xdr_get_bool(x);
	nlm1_get_range(x, args);
}

/* nlm4_cancargs. */
void
nlm4_get_cancel(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->block = xdr_get_bool(x);
	args->exclusive = xdr_get_bool(x);
	nlm4_get_range(x, args);
}

/* nlm_lockargs. */
void
nlm1_get_lock(struct xdr_in *x, struct call_args *args)
{
	nlm1_get_cancel(x, args);
	args->reclaim = xdr_get_bool(x);
	args->state = xdr_get_i32(x);
}

/* nlm4_lockargs. */
void
nlm4_get_lock(struct xdr_in *x, struct call_args *args)
{
	nlm4_get_cancel(x, args);
	args->reclaim = xdr_get_bool(x);
	args->state = xdr_get_i32(x);
}

/* nlm_unlockargs. */
void
nlm1_get_unlock(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	nlm1_get_range(x, args);
}

/* nlm4_unlockargs. */
void
nlm4_get_unlock(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	nlm4_get_range(x, args);
}

/* nlm_res, nlm4_res; and nlm_testres up to its holder, which is not needed. */
void
nlm_get_res(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->stat = xdr_get_enum(x, LOCKS_FAILED + 1);
}

/* nlm_shareargs, nlm4_shareargs. */
void
nlm_get_share(struct xdr_in *x, struct call_args *args)
{
	args->cookie = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	get_owner(x, args);
	args->mode = xdr_get_enum(x, SHARE_MODES);
	args->access = xdr_get_enum(x, SHARE_MODES);
	args->reclaim = xdr_get_bool(x);
}

/* nlm_notify, nlm4_notify; and stat_chge of NSM. */
void
nlm_get_notify(struct xdr_in *x, struct call_args *args)
{
	args->name = xdr_get_opaque(x, LOCKS_TEXT_MAX);
	args->state = xdr_get_i32(x);
}

/* Returns the status as versions 1 and 3 have it. */
static uint32_t
narrow_stat(uint32_t stat)
{
	if (stat < NARROW_STATS)
		return stat;
	return stat == LOCKS_DEADLOCK ? LOCKS_DENIED : LOCKS_NOLOCKS;
}

/* nlm_res. */
void
nlm1_put_res(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_opaque(x, res->cookie.data, res->cookie.len);
	xdr_put_u32(x, narrow_stat(res->answer.stat));
}

/* nlm4_res. */
void
nlm4_put_res(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_opaque(x, res->cookie.data, res->cookie.len);
	xdr_put_u32(x, res->answer.stat);
}

/* nlm_holder up to the range. */
static void
put_holder(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_bool(x, res->answer.exclusive);
	xdr_put_i32(x, res->answer.svid);
	xdr_put_opaque(x, res->oh, res->answer.owner_len);
}

/* nlm_testres. A holder beyond 32 bits is cut. */
void
nlm1_put_test(struct xdr_out *x, const struct call_res *res)
{
	uint64_t offset = res->answer.offset, length = res->answer.length;

	nlm1_put_res(x, res);
	if (narrow_stat(res->answer.stat) != LOCKS_DENIED)
		return;
	if (offset > UINT32_MAX)
		offset = UINT32_MAX;
	if (length > UINT32_MAX - offset)
		length = 0; /* to the end */
	put_holder(x, res);
	xdr_put_u32(x, (uint32_t)offset);
	xdr_put_u32(x, (uint32_t)length);
}

/* nlm4_testres. */
void
nlm4_put_test(struct xdr_out *x, const struct call_res *res)
{
	nlm4_put_res(x, res);
	if (res->answer.stat != LOCKS_DENIED)
		return;
	put_holder(x, res);
	xdr_put_u64(x, res->answer.offset);
	xdr_put_u64(x, res->answer.length);
}

/* nlm_shareres: the sequence number has no meaning. */
void
nlm1_put_share(struct xdr_out *x, const struct call_res *res)
{
	nlm1_put_res(x, res);
	xdr_put_i32(x, 0);
}

/* nlm4_shareres. */
void
nlm4_put_share(struct xdr_out *x, const struct call_res *res)
{
	nlm4_put_res(x, res);
	xdr_put_i32(x, 0);
}

void
nlm_put_granted(struct xdr_out *x, uint32_t vers, const struct locks_grant *g,
    struct slice name, struct slice owner)
{
	xdr_put_opaque(x, g->cookie, sizeof(g->cookie));
	xdr_put_bool(x, g->exclusive);
	xdr_put_opaque(x, name.data, name.len);
	xdr_put_opaque(x, g->fh.bytes, sizeof(g->fh.bytes));
	xdr_put_opaque(x, owner.data, owner.len);
	xdr_put_i32(x, g->svid);
	if (vers == 4) {
		xdr_put_u64(x, g->offset);
		xdr_put_u64(x, g->length);
	} else {
		xdr_put_u32(x, (uint32_t)g->offset);
		xdr_put_u32(x, (uint32_t)g->length);
	}
}
