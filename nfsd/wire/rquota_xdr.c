/* SPDX-License-Identifier: ISC */
/*
 * See rquota_xdr.h.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#include "nfsd/wire/rquota_xdr.h"

#define BLOCK_SHIFT_MAX 20 /* blocks of up to 1 GiB: 4 EiB can be told */
#define LIMITS		8 /* numbers of a SETQUOTA */

enum rquota_status { Q_OK = 1, Q_NOQUOTA = 2, Q_EPERM = 3 };
enum rquota_type { TYPE_USER, TYPE_GROUP, TYPES };

void
rquota1_get_getquota(struct xdr_in *x, struct call_args *args)
{
	args->quota.path = xdr_get_opaque(x, RQUOTA_PATH_MAX);
	args->quota.of_group = false;
	args->quota.id = xdr_get_u32(x);
}

void
rquota2_get_getquota(struct xdr_in *x, struct call_args *args)
{
	args->quota.path = xdr_get_opaque(x, RQUOTA_PATH_MAX);
	args->quota.of_group = xdr_get_enum(x, TYPES) == TYPE_GROUP;
	args->quota.id = xdr_get_u32(x);
}

static void
get_setquota(struct xdr_in *x, struct call_args *args, bool typed)
{
	unsigned int i;

	(void)xdr_get_u32(x); /* a command of quotactl(2) */
	args->quota.path = xdr_get_opaque(x, RQUOTA_PATH_MAX);
	args->quota.id = xdr_get_u32(x);
	args->quota.of_group = typed && xdr_get_enum(x, TYPES) == TYPE_GROUP;
	for (i = 0; i < LIMITS; i++)
		(void)xdr_get_u32(x);
}

void
rquota1_get_setquota(struct xdr_in *x, struct call_args *args)
{
	get_setquota(x, args, false);
}

void
rquota2_get_setquota(struct xdr_in *x, struct call_args *args)
{
	get_setquota(x, args, true);
}

static uint32_t
fit(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* The seconds that are left, negative if it is over. */
static void
put_left(struct xdr_out *x, uint64_t until, uint64_t now)
{
	int64_t left = until == 0 ? 0 : (int64_t)(until - now);

	if (left > INT32_MAX)
		left = INT32_MAX;
	else if (left < INT32_MIN)
		left = INT32_MIN;
	/* 0 would say that the soft limit is not exceeded. */
	xdr_put_i32(x, until != 0 && left == 0 ? -1 : (int32_t)left);
}

/* Blocks are as small as the largest of the three numbers permits. */
static void
put_blocks(struct xdr_out *x, const struct nfs_quota *q)
{
	uint64_t used = q->bytes / QUOTA_BLOCK + (q->bytes % QUOTA_BLOCK != 0);
	uint64_t most = q->hard_blocks;
	unsigned int shift = 0;

	if (most < q->soft_blocks)
		most = q->soft_blocks;
	if (most < used)
		most = used;
	while (shift < BLOCK_SHIFT_MAX && most >> shift > UINT32_MAX)
		shift++;
	xdr_put_u32(x, QUOTA_BLOCK << shift);
	xdr_put_bool(x, true); /* active: the kernel tells of no other */
	xdr_put_u32(x, fit(q->hard_blocks >> shift));
	xdr_put_u32(x, fit(q->soft_blocks >> shift));
	xdr_put_u32(x, fit(used >> shift));
}

/* The status is told by one of three words. */
static enum rquota_status
word_of(enum nfsstat status)
{
	if (status == NFS_OK)
		return Q_OK;
	return status == NFSERR_PERM || status == NFSERR_ACCES ? Q_EPERM :
								 Q_NOQUOTA;
}

void
rquota_put_quota(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_quota *q = &res->quota;

	xdr_put_u32(x, word_of(res->status));
	if (res->status != NFS_OK)
		return;
	put_blocks(x, q);
	xdr_put_u32(x, fit(q->hard_files));
	xdr_put_u32(x, fit(q->soft_files));
	xdr_put_u32(x, fit(q->files));
	put_left(x, q->bytes_until, q->now);
	put_left(x, q->files_until, q->now);
}
