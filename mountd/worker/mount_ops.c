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
#include "mountd/worker/mount_list.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"

/*
 * Reasons besides those of mount_access(). NOT_REACHED stands for as many as
 * open_failed() has rows.
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
	static const struct {
		int error;
		enum mountstat status;
		const char *why;
	} rows[] = {
		{ ENOENT, MNTERR_NOENT, "no such file or directory" },
		{ ENOTDIR, MNTERR_NOTDIR, "not a directory" },
		{ ENAMETOOLONG, MNTERR_NAMETOOLONG, "a name is too long" },
		{ ELOOP, MNTERR_ACCES, "a symbolic link is in the path" },
		{ EXDEV, MNTERR_ACCES,
		    "another filesystem is mounted there (export it by "
		    "itself, or add \"crossmnt\")" },
		{ EACCES, MNTERR_ACCES,
		    "mountd's user cannot reach it (chmod o+x the "
		    "directories above, or export it by itself)" },
		{ EPERM, MNTERR_ACCES,
		    "the caller may not search a directory above it" },
	};
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		if (rows[i].error == error) {
			explain(ctx, NOT_REACHED + (unsigned int)i,
			    rows[i].why);
			return rows[i].status;
		}
	}
	explain(ctx, NOT_REACHED + (unsigned int)i, strerror(error));
	return MNTERR_IO;
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
	} else if ((fd = mount_table_open(e, at->below, &caller)) == -1) {
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
	if (*v.at.below == '\0') {
		if (!e->handles.sealed[path->names]) {
			explain(ctx, NOT_THERE,
			    "absent when the exports were loaded (make "
			    "it, then reload)");
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

/* Lists the mounts of this client; of all clients with -o dump-all. */
void
op_dump(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	struct mount_state *s = ctx->state;

	mount_list_copy(s->list, s->dump_all ? NULL : &ctx->call->peer->from,
	    &s->dump);
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
    const struct addr *host, enum export_names names)
{
	struct mount_listing *l = &s->listing;
	const struct export_client *mine = exports_client(e, host, NULL, names);
	size_t first = l->ngroups, i;

	if (s->export_all) {
		for (i = 0; i < e->nclients; i++) {
			if (e->clients[i].options.names == names)
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
	const struct addr *host = &ctx->call->peer->from;
	size_t i;

	s->listing.nrows = s->listing.ngroups = 0;
	for (i = 0; i < x->n; i++) {
		if (x->list[i].root != -1)
			list_face(s, &x->conf->list[i], host, NAMES_UTF16LE);
	}
	for (i = 0; i < x->n; i++) {
		if (x->list[i].root != -1)
			list_face(s, &x->conf->list[i], host, NAMES_BYTES);
	}
	res->listing = &s->listing;
}
