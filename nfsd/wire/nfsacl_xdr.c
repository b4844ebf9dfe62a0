/* SPDX-License-Identifier: ISC */
/*
 * See nfsacl_xdr.h.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#include <stddef.h>

#include <linux/posix_acl.h>

#include "nfsd/wire/nfs2_xdr.h"
#include "nfsd/wire/nfs3_xdr.h"
#include "nfsd/wire/nfsacl_xdr.h"

#define ENTRY_SIZE 12
#define PERM_BITS  7u

_Static_assert(offsetof(struct call_args, acl.object) ==
	offsetof(struct call_args, object),
    "a decoder of one handle fills the first field");

/* The entries of an ACL. The number before the array says no more than it. */
static struct slice
get_entries(struct xdr_in *x)
{
	struct slice s = { NULL, 0 };
	uint32_t i, n;

	(void)xdr_get_u32(x);
	n = xdr_get_count(x, NFS_RECORD_MAX / ENTRY_SIZE, ENTRY_SIZE);
	s.data = x->pos;
	for (i = 0; i < n * (ENTRY_SIZE / 4); i++)
		(void)xdr_get_u32(x);
	if (!x->failed)
		s.len = (size_t)n * ENTRY_SIZE;
	return s;
}

size_t
nfsacl_count(struct slice s)
{
	return s.len / ENTRY_SIZE;
}

bool
nfsacl_unpack(struct slice s, struct nfs_acl *acl)
{
	struct xdr_in x;

	if (nfsacl_count(s) > NFS_ACL_MAX)
		return false;
	xdr_in_init(&x, s.data, s.len);
	for (acl->n = 0; acl->n < nfsacl_count(s); acl->n++) {
		struct nfs_ace *e = &acl->list[acl->n];
		uint32_t tag = xdr_get_u32(&x) & ~NFSACL_ENTRY_DEFAULT;

		e->tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
		e->id = xdr_get_u32(&x);
		/* Solaris sets more bits in a mask. */
		e->perm = xdr_get_u32(&x) & PERM_BITS;
	}
	return true;
}

static void
get_setacl(struct xdr_in *x, struct nfs_acl_call *a)
{
	a->mask = xdr_get_u32(x);
	a->access = get_entries(x);
	a->dflt = get_entries(x);
}

void
nfsacl2_get_getacl(struct xdr_in *x, struct call_args *args)
{
	nfs2_get_object(x, args);
	args->acl.mask = xdr_get_u32(x);
}

void
nfsacl2_get_setacl(struct xdr_in *x, struct call_args *args)
{
	nfs2_get_object(x, args);
	get_setacl(x, &args->acl);
}

void
nfsacl2_get_access(struct xdr_in *x, struct call_args *args)
{
	nfs2_get_object(x, args);
	args->access.wanted = xdr_get_u32(x);
}

void
nfsacl3_get_getacl(struct xdr_in *x, struct call_args *args)
{
	nfs3_get_object(x, args);
	args->acl.mask = xdr_get_u32(x);
}

void
nfsacl3_get_setacl(struct xdr_in *x, struct call_args *args)
{
	nfs3_get_object(x, args);
	get_setacl(x, &args->acl);
}

/* The id on the wire: the entries of owner and group have one too. */
static uint32_t
id_of(const struct nfs_ace *e, const struct nfs_attr *attr)
{
	if (e->tag == ACL_USER_OBJ)
		return attr->uid;
	if (e->tag == ACL_GROUP_OBJ)
		return attr->gid;
	return e->tag == ACL_USER || e->tag == ACL_GROUP ? e->id : 0;
}

/* NULL: not asked for. */
static void
put_acl(struct xdr_out *x, const struct nfs_acl *acl, bool entries,
    uint32_t mark, const struct nfs_attr *attr)
{
	uint32_t i, n = acl == NULL ? 0 : acl->n;

	xdr_put_u32(x, n);
	if (!entries)
		n = 0;
	xdr_put_u32(x, n);
	for (i = 0; i < n; i++) {
		xdr_put_u32(x, acl->list[i].tag | mark);
		xdr_put_u32(x, id_of(&acl->list[i], attr));
		xdr_put_u32(x, acl->list[i].perm);
	}
}

static void
put_acls(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_acls *a = &res->acls;

	xdr_put_u32(x, a->mask);
	put_acl(x, a->access, (a->mask & NFSACL_ACCESS) != 0, 0,
	    &res->post.attr);
	put_acl(x, a->dflt, (a->mask & NFSACL_DEFAULT) != 0,
	    NFSACL_ENTRY_DEFAULT, &res->post.attr);
}

void
nfsacl2_put_getacl(struct xdr_out *x, const struct call_res *res)
{
	if (nfs2_put_object(x, res))
		put_acls(x, res);
}

void
nfsacl2_put_access(struct xdr_out *x, const struct call_res *res)
{
	if (nfs2_put_object(x, res))
		xdr_put_u32(x, res->access);
}

void
nfsacl3_put_getacl(struct xdr_out *x, const struct call_res *res)
{
	if (nfs3_put_object(x, res))
		put_acls(x, res);
}

void
nfsacl3_put_setacl(struct xdr_out *x, const struct call_res *res)
{
	(void)nfs3_put_object(x, res);
}
