/* SPDX-License-Identifier: ISC */
/*
 * LOOKUP, REMOVE, RMDIR, RENAME, LINK: one name in one directory, or two. Only
 * single components are passed to the kernel, and symbolic links are not
 * followed. System calls run as the caller.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exports/exports.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/list.h"
#include "nfsd/door/sync.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/roles/served.h"

/*
 * Looks for the name as other systems would spell it. Listing a directory for
 * each name that does not exist is expensive: only if the export asks for it.
 */
static enum nfsstat
lookup_folded(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_place *at, struct door_found *found)
{
	const char *name = NULL;
	struct door_list list;
	struct door_obj obj;

	if (!dir->options->fold)
		return NFSERR_NOENT;
	if (door_must_defer(ctx))
		return NFS_DEFERRED;
	if (door_open(ctx, &at->dir, DOOR_DIR | DOOR_LIST, &obj) == NFS_OK) {
		if (door_list_open(ctx, &obj, 0, &list) == NFS_OK)
			name = ops_dir_find_folded(ctx, list.fd, at->name.str);
		door_list_close(&list);
		door_close(&obj);
	}
	return name == NULL ? NFSERR_NOENT : door_lookup(ctx, dir, name, found);
}

static enum nfsstat
lookup(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_place *at, struct door_found *found)
{
	enum nfsstat status;

	if (at->name.fault != NFS_OK)
		return at->name.fault;
	if (strcmp(at->name.str, "..") == 0)
		return door_parent(ctx, dir, found);
	if (strcmp(at->name.str, ".") != 0) {
		status = door_lookup(ctx, dir, at->name.str, found);
		return status != NFSERR_NOENT ?
		    status :
		    lookup_folded(ctx, dir, at, found);
	}
	found->fh = at->dir;
	found->st = dir->st;
	found->export = dir->export;
	return NFS_OK;
}

/*
 * The root of an export inside this one is a filesystem of its own: its
 * attributes are those that its own handle leads to.
 */
static void
post_found(struct call_ctx *ctx, const struct door_obj *dir,
    const struct door_found *found, struct nfs_post *post)
{
	struct door_obj other;

	if (found->export == dir->export)
		ops_post_found(post, dir, found);
	else if (door_open(ctx, &found->fh, 0, &other) == NFS_OK) {
		ops_post(post, &other, &other.st);
		door_close(&other);
	}
}

void
op_lookup(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_found found;
	struct door_obj dir;

	res->status =
	    ops_open(ctx, &args->place.dir, DOOR_DIR, &dir, &res->wcc.after);
	if (res->status != NFS_OK)
		return;
	res->status = lookup(ctx, &dir, &args->place, &found);
	ops_post(&res->wcc.after, &dir, &dir.st);
	if (res->status == NFS_OK) {
		res->fh = found.fh;
		post_found(ctx, &dir, &found, &res->post);
	}
	door_close(&dir);
}

/* Returns the stat of a name for door_forget(); st_mode 0 if there is none. */
static struct stat
stat_entry(const struct door_obj *dir, const struct nfs_name *name)
{
	struct stat st = { .st_mode = 0 };

	(void)fstatat(dir->fd, name->str, &st, AT_SYMLINK_NOFOLLOW);
	return st;
}

/*
 * A file that is open leaves no negative entry in the kernel's memory when its name
 * goes: the next call for that name would search the directory. So the worker closes
 * its descriptors first, and again if another call has opened it meanwhile. It does
 * so before the kernel says whether the caller may remove the name. If not, the next
 * call about the file asks the broker. A directory is different: RMDIR often fails.
 */
static enum nfsstat
remove_entry(struct call_ctx *ctx, const struct door_obj *dir,
    const struct nfs_name *name, int flags)
{
	struct stat gone;

	if (name->fault != NFS_OK)
		return name->fault;
	if (door_is_border(dir, name->str))
		return NFSERR_ACCES;
	gone = stat_entry(dir, name);
	if (S_ISREG(gone.st_mode))
		door_forget(ctx, &gone);
	if (unlinkat(dir->fd, name->str, flags) == -1)
		return nfs_status(errno);
	if (gone.st_mode != 0)
		door_forget(ctx, &gone);
	return NFS_OK;
}

/* dots is the status for "." and "..". */
static void
remove_name(struct call_ctx *ctx, const struct nfs_place *at, int flags,
    enum nfsstat dots, struct call_res *res)
{
	struct door_obj dir;

	res->status = ops_open_change(ctx, &at->dir, DOOR_DIR, &dir, &res->wcc);
	if (res->status != NFS_OK)
		return;
	if (nfs_name_is_dots(&at->name))
		res->status = dots;
	else
		res->status = remove_entry(ctx, &dir, &at->name, flags);
	ops_wcc_after(&res->wcc, &dir);
	if (res->status == NFS_OK)
		door_sync(ctx, &dir);
	door_close(&dir);
}

void
op_remove(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	remove_name(ctx, &args->place, 0, NFSERR_ACCES, res);
}

/* RFC 1813, 3.3.13: INVAL for ".", EXIST for "..". */
void
op_rmdir(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	bool dot = strcmp(args->place.name.str, ".") == 0;

	remove_name(ctx, &args->place, AT_REMOVEDIR,
	    dot ? NFSERR_INVAL : NFSERR_EXIST, res);
}

/*
 * Mostly nothing has the new name. The kernel is told to replace nothing, which spares
 * the question what it would replace. If that fails, for whatever reason, the rename
 * is tried as usual: not every filesystem knows this flag.
 */
static bool
moves_to_free_name(const struct door_obj *from, const char *old,
    const struct door_obj *to, const char *new)
{
	return from->export->local_metadata &&
	    syscall(SYS_renameat2, from->fd, old, to->fd, new,
		RENAME_NOREPLACE) == 0;
}

static enum nfsstat
move(struct call_ctx *ctx, const struct door_obj *from,
    const struct nfs_name *old, const struct door_obj *to,
    const struct nfs_name *new)
{
	struct stat gone;

	if (old->fault != NFS_OK)
		return old->fault;
	if (new->fault != NFS_OK)
		return new->fault;
	if (nfs_name_is_dots(old) || nfs_name_is_dots(new))
		return NFSERR_INVAL;
	if (from->export != to->export)
		return NFSERR_XDEV;
	if (door_is_border(from, old->str) || door_is_border(to, new->str))
		return NFSERR_ACCES;
	if (moves_to_free_name(from, old->str, to, new->str)) {
		door_moved(ctx, to, new->str);
		return NFS_OK;
	}
	gone = stat_entry(to, new);
	if (renameat(from->fd, old->str, to->fd, new->str) == -1)
		return nfs_status(errno);
	door_moved(ctx, to, new->str);
	/* Onto another name of itself nothing is done and nothing is gone. */
	if (gone.st_mode != 0 && stat_entry(to, new).st_ino != gone.st_ino)
		door_forget(ctx, &gone);
	return NFS_OK;
}

/*
 * The new name first: a crash between the two leaves both names rather than
 * none.
 */
static void
sync_move(struct call_ctx *ctx, const struct door_obj *from,
    const struct door_obj *to)
{
	door_sync(ctx, to);
	if (from->entry != to->entry)
		door_sync(ctx, from);
}

/*
 * A RENAME that finds no old name may have been done before, by another head whose
 * reply was lost. A Linux client knows the new name as missing, and goes on to
 * believe that if the directory has the time that it knows: the change before was
 * in the same tick of that head's clock. A time that is a nanosecond later, and none
 * from before, let it look anew. Its next question gets the right time.
 */
static void
look_anew(struct nfs_wcc *wcc)
{
	struct timespec *ctime = &wcc->after.attr.ctime;

	wcc->has_before = false;
	ctime->tv_sec += ctime->tv_nsec == 999999999;
	ctime->tv_nsec = (ctime->tv_nsec + 1) % 1000000000;
}

/* Does the name stay in its directory? That is opened once then. */
static bool
stays(const struct nfs_rename *a)
{
	return memcmp(&a->from.dir, &a->to.dir, sizeof(a->to.dir)) == 0;
}

void
op_rename(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_rename *a = &args->rename;
	struct door_obj from, other, *to = stays(a) ? &from : &other;

	res->status =
	    ops_open_change(ctx, &a->from.dir, DOOR_DIR, &from, &res->wcc);
	if (res->status != NFS_OK)
		return;
	if (to == &other)
		res->status = ops_open_change(ctx, &a->to.dir, DOOR_DIR, to,
		    &res->wcc_to);
	if (res->status == NFS_OK) {
		res->status = move(ctx, &from, &a->from.name, to, &a->to.name);
		if (to == &other)
			ops_wcc_after(&res->wcc_to, to);
	}
	ops_wcc_after(&res->wcc, &from);
	if (res->status == NFSERR_NOENT)
		look_anew(to == &other ? &res->wcc_to : &res->wcc);
	if (to == &from)
		res->wcc_to = res->wcc;
	if (res->status == NFS_OK)
		sync_move(ctx, &from, to);
	if (to == &other)
		door_close(to);
	door_close(&from);
}

/* May the caller link this file into dir? Returns NFS_OK or the error. */
static enum nfsstat
linkable(struct call_ctx *ctx, const struct door_obj *file,
    const struct door_obj *dir, const struct nfs_name *name)
{
	if (name->fault != NFS_OK)
		return name->fault;
	if (nfs_name_is_dots(name))
		return NFSERR_EXIST;
	if (file->export != dir->export)
		return NFSERR_XDEV;
	if (S_ISDIR(file->st.st_mode))
		return NFSERR_ISDIR;
	/* The rule of protected_hardlinks (proc(5)), also if it is off. */
	if (S_ISREG(file->st.st_mode) && file->st.st_uid != ctx->uid &&
	    door_access(ctx, file, R_OK) == 0)
		return NFSERR_ACCES;
	return NFS_OK;
}

static void
sync_link(struct call_ctx *ctx, const struct door_obj *file,
    const struct door_obj *dir)
{
	if (!dir->export->names_atomic)
		door_sync(ctx, file); /* its number of names */
	door_sync(ctx, dir);
}

void
op_link(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_link *a = &args->link;
	struct door_obj file, dir;
	struct stat st;

	res->status = ops_open(ctx, &a->file, DOOR_MODIFY, &file, &res->post);
	if (res->status != NFS_OK)
		return;
	res->status =
	    ops_open_change(ctx, &a->to.dir, DOOR_DIR, &dir, &res->wcc);
	if (res->status == NFS_OK) {
		res->status = linkable(ctx, &file, &dir, &a->to.name);
		if (res->status == NFS_OK)
			res->status =
			    door_link(ctx, &file, &dir, a->to.name.str);
		ops_wcc_after(&res->wcc, &dir);
	}
	if (door_stat(&file, &st) == NFS_OK)
		ops_post(&res->post, &file, &st);
	if (res->status == NFS_OK)
		sync_link(ctx, &file, &dir);
	door_close(&dir);
	door_close(&file);
}
