/* SPDX-License-Identifier: ISC */
/*
 * The procedures of MOUNT. MNT only hands out a handle. nfsd authorises every
 * NFS call again, so a wrong answer here gives no access.
 * Runs in: mountd worker; op_mnt also on its file threads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/mount_access.h"
#include "mountd/mount_walk.h"
#include "mountd/worker/mount_list.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"

/*
 * Reasons besides those of mount_access(). NOT_REACHED stands for as many as
 * mount_walk_failed() has rows.
 */
enum reason { BAD_PATH = 16, NOT_THERE, NOT_SEALED, BUSY, NOT_REACHED };

static void
explain(struct call_ctx *ctx, unsigned int reason, const char *why)
{
	(void)snprintf(ctx->why, sizeof(ctx->why), "%s", why);
	ctx->why_key = (uint64_t)reason << 16;
}

/* Returns the status for a path that could not be opened; sets the reason. */
static enum mountstat
open_failed(struct call_ctx *ctx, int error)
{
	unsigned int row;
	const char *why;
	enum mountstat status = mount_walk_failed(error, &row, &why);

	explain(ctx, NOT_REACHED + row, why);
	return status;
}

/* Opens a path below an export and has the parent seal its handle. */
static enum mountstat
mount_below(struct call_ctx *ctx, const struct exports_place *at,
    struct served_export *e, enum export_names names, struct fh *fh)
{
	const struct mount_caller caller = { &ctx->call->cred,
		&at->client->options };
	enum mountstat status = MNT_OK;
	int fd;

	if (atomic_fetch_add(&e->busy, 1) >= MOUNT_THREADS_ONE &&
	    e->handles.slow) {
		explain(ctx, BUSY, "its filesystem does not answer");
		status = MNTERR_IO;
	} else if ((fd = mount_walk(e->root, at->below, &caller)) == -1) {
		status = open_failed(ctx, errno);
	} else {
		if (!ctx->state->seal(ctx->state->seal_arg, at->export, names,
			fd, at->below, fh)) {
			explain(ctx, NOT_SEALED,
			    "its filesystem has no handle for it");
			status = MNTERR_SERVERFAULT;
		}
		close(fd);
	}
	atomic_fetch_sub(&e->busy, 1);
	return status;
}

/*
 * The export is not there at the moment: no answer, so that the client asks
 * again.
 */
static enum mountstat
mount_later(struct call_ctx *ctx)
{
	explain(ctx, NOT_THERE,
	    "it is not there at the moment: no answer, the client asks again");
	ctx->call->dropped = true;
	return MNTERR_IO;
}

static enum mountstat
mount_path(struct call_ctx *ctx, const struct served_exports *x,
    const struct mount_path *path, struct fh *fh)
{
	struct mount_verdict v;
	struct served_export *e;

	mount_access(&v, x->conf, path->clean, path->names,
	    &ctx->call->peer->from, NULL);
	(void)snprintf(ctx->why, sizeof(ctx->why), "%s", v.why);
	ctx->why_key = v.key;
	if (v.status != MNT_OK)
		return v.status;
	e = &x->list[v.at.export - x->conf->list];
	if (e->root == -1 && e->handles.waits)
		return mount_later(ctx);
	if (*v.at.below == '\0') {
		if (!e->handles.sealed[path->names]) {
			explain(ctx, NOT_THERE,
			    "it does not exist (make it, then reload)");
			return MNTERR_NOENT;
		}
		*fh = e->handles.fh[path->names];
		return MNT_OK;
	}
	if (!ctx->call->may_block) {
		ctx->call->deferred = true;
		return MNT_DEFERRED;
	}
	return mount_below(ctx, &v.at, e, path->names, fh);
}

/*
 * Gives the client a handle and enters the mount into the list (RFC 1813,
 * 5.2.1).
 */
void
op_mnt(struct call_ctx *ctx, const struct call_args *args, struct call_res *res)
{
	struct served_exports *x;

	ctx->mnt = &args->path;
	if (args->path.status != MNT_OK) {
		explain(ctx, BAD_PATH, "not the path of an export");
		res->status = args->path.status;
		return;
	}
	x = active_use(&ctx->state->active);
	res->status = mount_path(ctx, x, &args->path, &res->fh);
	active_done(x);
	if (res->status == MNT_OK)
		ctx->is_new = mount_list_add(ctx->state->list,
		    &ctx->call->peer->from, args->path.clean, &ctx->evicted);
}

/* MOUNT 2: are the limits of the path told? An error has no reason. */
void
op_pathconf(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct mount_verdict v;
	struct served_exports *x;

	res->status = args->path.status;
	if (res->status != MNT_OK)
		return;
	x = active_use(&ctx->state->active);
	mount_access(&v, x->conf, args->path.clean, args->path.names,
	    &ctx->call->peer->from, NULL);
	res->status = v.status;
	active_done(x);
}

/* Removes an entry of this client. Always succeeds. */
void
op_umnt(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res UNUSED)
{
	if (args->path.status == MNT_OK)
		(void)mount_list_remove(ctx->state->list,
		    &ctx->call->peer->from, args->path.clean);
}

void
op_umntall(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res UNUSED)
{
	(void)mount_list_remove_all(ctx->state->list, &ctx->call->peer->from);
}

/*
 * Is the caller this machine? Then it sends from loopback, or from the address
 * that it calls. A forged sender of that kind gets no reply: it goes to this
 * machine.
 */
static bool
is_here(const struct rpc_peer *peer)
{
	return addr_is_loopback(&peer->from) ||
	    addr_same_host(&peer->from, &peer->to);
}

/* Lists the mounts of this client, or of all: for this machine, or dump-all. */
void
op_dump(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	struct mount_state *s = ctx->state;

	const struct rpc_peer *peer = ctx->call->peer;

	mount_list_copy(s->list,
	    s->dump_all || is_here(peer) ? NULL : &peer->from, &s->dump);
	res->dump = &s->dump;
}

static void
add_row(struct mount_listing *l, const char *dir, enum export_names names,
    size_t first)
{
	struct mount_row *row;

	if (l->nrows == MOUNT_ROWS_MAX)
		return;
	row = &l->rows[l->nrows++];
	row->dir = dir;
	row->names = names;
	row->first = first;
	row->n = l->ngroups - first;
}

static void
add_group(struct mount_listing *l, const struct export_client *c)
{
	if (l->ngroups < MOUNT_GROUPS_MAX)
		l->groups[l->ngroups++] = c;
}

/*
 * Lists an export in one dialect: its path and aliases, with the client entry
 * that decides for this host, or with all entries. For a player the aliases
 * replace the path.
 */
static void
list_face(struct mount_state *s, const struct export *e,
    const struct rpc_peer *peer, enum export_names names)
{
	struct mount_listing *l = &s->listing;
	const struct export_client *mine =
	    exports_client(e, &peer->from, NULL, names);
	size_t first = l->ngroups, i;

	if (s->export_all || is_here(peer)) {
		for (i = 0; i < e->nclients; i++) {
			if (e->clients[i].options.names == names &&
			    !e->clients[i].again)
				add_group(l, &e->clients[i]);
		}
	} else if (mine != NULL) {
		add_group(l, mine);
	}
	if (l->ngroups == first)
		return;
	if (names == NAMES_BYTES || mine == NULL || mine->naliases == 0)
		add_row(l, e->path, names, first);
	for (i = 0; mine != NULL && i < mine->naliases; i++)
		add_row(l, mine->aliases[i], names, first);
}

void
op_export(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	struct mount_state *s = ctx->state;
	/* Only this thread swaps lists, so x is valid until the reply. */
	const struct served_exports *x = s->active.list;
	const struct rpc_peer *peer = ctx->call->peer;
	size_t i;

	s->listing.nrows = s->listing.ngroups = 0;
	for (i = 0; i < x->n; i++) {
		if (x->list[i].root != -1)
			list_face(s, &x->conf->list[i], peer, NAMES_UTF16LE);
	}
	for (i = 0; i < x->n; i++) {
		if (x->list[i].root != -1)
			list_face(s, &x->conf->list[i], peer, NAMES_BYTES);
	}
	res->listing = &s->listing;
}
