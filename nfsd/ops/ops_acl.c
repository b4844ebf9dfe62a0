/* SPDX-License-Identifier: ISC */
/*
 * GETACL, SETACL. The filesystem keeps no ACL that says no more than the mode.
 * Clients know only ACLs with a mask, so an ACL of owner, group and others gets
 * one on the way out, and loses it on the way in.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <stdlib.h>

#include <linux/posix_acl.h>

#include "base/addr.h"
#include "base/log.h"
#include "exports/exports.h"
#include "nfsd/door/door.h"
#include "nfsd/door/sync.h"
#include "nfsd/ops/ops.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/roles/served.h"
#include "nfsd/wire/nfsacl_xdr.h"

#define SHORTEST 3 /* owner, group, others */

static void
acl_from_mode(struct nfs_acl *acl, mode_t mode)
{
	acl->n = SHORTEST;
	acl->list[0] =
	    (struct nfs_ace){ .tag = ACL_USER_OBJ, .perm = mode >> 6 & 7 };
	acl->list[1] =
	    (struct nfs_ace){ .tag = ACL_GROUP_OBJ, .perm = mode >> 3 & 7 };
	acl->list[2] = (struct nfs_ace){ .tag = ACL_OTHER, .perm = mode & 7 };
}

/* The mask of an ACL that needs none grants what the group has. */
static void
add_mask(struct nfs_acl *acl)
{
	if (acl->n != SHORTEST)
		return;
	acl->list[3] = acl->list[2];
	acl->list[2] = acl->list[1];
	acl->list[2].tag = ACL_MASK;
	acl->n++;
}

static void
drop_mask(struct nfs_acl *acl)
{
	const struct nfs_ace *e = acl->list;

	if (acl->n == SHORTEST + 1 && e[1].tag == ACL_GROUP_OBJ &&
	    e[2].tag == ACL_MASK && e[1].perm == e[2].perm) {
		acl->list[2] = acl->list[3];
		acl->n--;
	}
}

/* Named users and groups have the numbers of the client on the wire. */
static void
map_out(const struct door_obj *obj, struct nfs_acl *acl)
{
	struct nfs_ace *e;

	for (e = acl->list; e < acl->list + acl->n; e++)
		if (e->tag == ACL_USER)
			e->id = id_map_out(&obj->options->uids, e->id);
		else if (e->tag == ACL_GROUP)
			e->id = id_map_out(&obj->options->gids, e->id);
}

static void
map_in(const struct call_ctx *ctx, struct nfs_acl *acl)
{
	const struct export_options *o = ctx->options;
	struct nfs_ace *e;

	for (e = acl->list; e < acl->list + acl->n; e++)
		if (e->tag == ACL_USER && !id_map_in(&o->uids, &e->id))
			e->id = o->anonuid;
		else if (e->tag == ACL_GROUP && !id_map_in(&o->gids, &e->id))
			e->id = o->anongid;
}

static enum nfsstat
get_access(struct call_ctx *ctx, const struct door_obj *obj,
    struct nfs_acl *acl)
{
	enum nfsstat status = door_get_acl(ctx, obj, false, acl);

	if (status != NFS_OK)
		return status;
	if (acl->n == 0)
		acl_from_mode(acl, obj->st.st_mode);
	map_out(obj, acl);
	add_mask(acl);
	return NFS_OK;
}

static enum nfsstat
get_default(struct call_ctx *ctx, const struct door_obj *obj,
    struct nfs_acl *acl)
{
	enum nfsstat status = NFS_OK;

	acl->n = 0;
	if (S_ISDIR(obj->st.st_mode))
		status = door_get_acl(ctx, obj, true, acl);
	map_out(obj, acl);
	add_mask(acl);
	return status;
}

static enum nfsstat
get_acls(struct call_ctx *ctx, const struct door_obj *obj,
    struct nfs_acls *acls)
{
	struct nfs_acl *access = &ctx->scratch->access;
	struct nfs_acl *dflt = &ctx->scratch->dflt;
	enum nfsstat status = NFS_OK;

	if ((acls->mask & ~NFSACL_ALL) != 0)
		return NFSERR_INVAL;
	if ((acls->mask & (NFSACL_ACCESS | NFSACL_ACCESS_COUNT)) != 0) {
		status = get_access(ctx, obj, access);
		acls->access = access;
	}
	if (status == NFS_OK &&
	    (acls->mask & (NFSACL_DEFAULT | NFSACL_DEFAULT_COUNT)) != 0) {
		status = get_default(ctx, obj, dflt);
		acls->dflt = dflt;
	}
	return status;
}

void
op_getacl(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj obj;

	res->status = door_open(ctx, &args->acl.object, 0, &obj);
	if (res->status != NFS_OK)
		return;
	res->acls.mask = args->acl.mask;
	res->status = get_acls(ctx, &obj, &res->acls);
	ops_post(&res->post, &obj, &obj.st);
	door_close(&obj);
}

/* The kernel wants the entries in this order. */
static int
compare(const void *one, const void *two)
{
	const struct nfs_ace *a = one, *b = two;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/*
 * Takes the entries of a call; false if there are too many. qsort(3) would ask
 * for the memory of the machine, a system call that the filter refuses.
 */
static bool
take(const struct call_ctx *ctx, struct slice entries, struct nfs_acl *acl)
{
	if (!nfsacl_unpack(entries, acl))
		return false;
	map_in(ctx, acl);
	if (heapsort(acl->list, acl->n, sizeof(acl->list[0]), compare) == -1)
		return false;
	drop_mask(acl);
	return true;
}

/*
 * Both or none. The default ACL comes first, since it is for files that are made
 * later: no user meets it before the other is set.
 */
static enum nfsstat
set_acls(struct call_ctx *ctx, const struct door_obj *obj, uint32_t mask)
{
	struct nfs_acl *old = &ctx->scratch->old_dflt;
	bool both = mask == (NFSACL_ACCESS | NFSACL_DEFAULT);
	enum nfsstat status = NFS_OK;

	if (both)
		status = door_get_acl(ctx, obj, true, old);
	if (status == NFS_OK && (mask & NFSACL_DEFAULT) != 0)
		status = door_set_acl(ctx, obj, true, &ctx->scratch->dflt);
	if (status != NFS_OK || (mask & NFSACL_ACCESS) == 0)
		return status;
	status = door_set_acl(ctx, obj, false, &ctx->scratch->access);
	if (status != NFS_OK && both)
		(void)door_set_acl(ctx, obj, true, old);
	return status;
}

/* Says whose ACL is longer than any, once a minute for each client. */
static void
log_too_long(const struct call_ctx *ctx, const struct door_obj *obj,
    size_t entries)
{
	const struct addr *from = &ctx->call->peer->from;
	char text[ADDR_STRLEN];

	if (log_permit("long ACL", addr_hash(from)))
		log_info(
		    "refused %s from %s: an ACL of %zu entries, %d are the "
		    "most (give them to a group): export %s",
		    ctx->call->proc->name, addr_print(from, text), entries,
		    NFS_ACL_MAX, obj->export->path);
}

static enum nfsstat
change_acls(struct call_ctx *ctx, const struct door_obj *obj,
    const struct nfs_acl_call *a)
{
	uint32_t mask = a->mask & (NFSACL_ACCESS | NFSACL_DEFAULT);
	size_t longest =
	    nfsacl_count(a->access.len > a->dflt.len ? a->access : a->dflt);

	if (longest > NFS_ACL_MAX)
		log_too_long(ctx, obj, longest);
	if ((a->mask & ~NFSACL_ALL) != 0 ||
	    !take(ctx, a->access, &ctx->scratch->access) ||
	    !take(ctx, a->dflt, &ctx->scratch->dflt))
		return NFSERR_INVAL;
	/* Clients send an empty default ACL for files too. */
	if (!S_ISDIR(obj->st.st_mode) && (mask & NFSACL_DEFAULT) != 0) {
		if (ctx->scratch->dflt.n > 0)
			return NFSERR_ACCES;
		mask &= ~NFSACL_DEFAULT;
	}
	return set_acls(ctx, obj, mask);
}

void
op_setacl(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj obj;
	struct stat st;

	res->status =
	    ops_open(ctx, &args->acl.object, DOOR_MODIFY, &obj, &res->post);
	if (res->status != NFS_OK)
		return;
	res->status = change_acls(ctx, &obj, &args->acl);
	if (door_stat(&obj, &st) == NFS_OK)
		ops_post(&res->post, &obj, &st);
	if (res->status == NFS_OK)
		door_sync(ctx, &obj);
	door_close(&obj);
}
