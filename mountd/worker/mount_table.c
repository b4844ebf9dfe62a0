/* SPDX-License-Identifier: ISC */
/*
 * The worker's table of exports, and opening files below them.
 * Runs in: mountd worker (event loop and file threads).
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "base/util.h"
#include "mountd/worker/mount_table.h"

static void
close_root(struct served_export *e)
{
	if (e->root != -1)
		close(e->root);
	e->root = -1;
}

static void
clear(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		close_root(&x->list[i]);
	free(x->list);
}

struct served_exports *
mount_table_new(struct exports *ex, const int *roots,
    const struct mountd_handles *handles)
{
	struct served_exports *x = active_list_new(ex, clear);
	size_t i;

	if (x == NULL)
		return NULL;
	x->list = calloc(ex->n + 1, sizeof(*x->list));
	if (x->list == NULL) {
		free(x);
		return NULL;
	}
	x->n = ex->n;
	for (i = 0; i < ex->n; i++) {
		x->list[i].root = roots[i];
		x->list[i].handles = handles[i];
		if (!handles[i].served)
			close_root(&x->list[i]);
	}
	return x;
}

/* Stores type, mount and device of a descriptor. Returns 0 or -1. */
static int
look(int fd, struct statx *sx)
{
	memset(sx, 0, sizeof(*sx));
	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
	    STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_MNT_ID, sx);
}

/* Squashes one group of the caller, as nfsd does (nfsd/roles/cred.c). */
static bool
is_group(const struct mount_caller *c, uint32_t gid, uint32_t want)
{
	if (gid == 0 && !c->options->no_root_squash)
		gid = c->options->anongid;
	return gid == want;
}

static bool
is_member(const struct mount_caller *c, uint32_t want)
{
	uint32_t i;

	if (is_group(c, c->cred->gid, want))
		return true;
	for (i = 0; i < c->cred->ngids && i < RPC_GROUPS_MAX; i++)
		if (is_group(c, c->cred->gids[i], want))
			return true;
	return false;
}

/*
 * May the caller, after squashing, search the directory? By its mode: an ACL
 * cannot be read through O_PATH.
 */
static bool
may_search(const struct mount_caller *c, const struct statx *sx)
{
	const struct export_options *o = c->options;
	bool anonymous = c->cred->flavor != AUTH_SYS || o->all_squash ||
	    c->cred->uid == UINT32_MAX || c->cred->gid == UINT32_MAX;
	uint32_t uid = anonymous || (c->cred->uid == 0 && !o->no_root_squash) ?
	    o->anonuid :
	    c->cred->uid;

	if (uid == 0)
		return true;
	if (uid == sx->stx_uid)
		return (sx->stx_mode & S_IXUSR) != 0;
	if (anonymous ? o->anongid == sx->stx_gid : is_member(c, sx->stx_gid))
		return (sx->stx_mode & S_IXGRP) != 0;
	return (sx->stx_mode & S_IXOTH) != 0;
}

/* May the worker go on from this file? Sets errno if not. */
static bool
is_step(const struct statx *sx, const struct statx *root, bool last,
    bool crossmnt)
{
	errno = 0;
	if (S_ISLNK(sx->stx_mode))
		errno = ELOOP;
	else if (!crossmnt &&
	    (sx->stx_mnt_id != root->stx_mnt_id ||
		sx->stx_dev_major != root->stx_dev_major ||
		sx->stx_dev_minor != root->stx_dev_minor))
		errno = EXDEV;
	else if (!last && !S_ISDIR(sx->stx_mode))
		errno = ENOTDIR;
	else if (!S_ISDIR(sx->stx_mode) && !S_ISREG(sx->stx_mode))
		errno = EACCES; /* a device or a pipe cannot be mounted */
	return errno == 0;
}

/*
 * Opens one component after the other and follows no link. openat2(2) would do
 * it in one call, but a system call filter cannot check its flags. The filter
 * permits openat(2) with exactly the flags MOUNT_TABLE_OPEN.
 */
int
mount_table_open(const struct served_export *e, const char *below,
    const struct mount_caller *caller)
{
	char name[NAME_UTF8_MAX + 1];
	struct statx top, sx;
	int at = e->root, fd = -1;
	size_t len;

	if (at == -1 || look(at, &top) == -1) {
		errno = ENOENT;
		return -1;
	}
	sx = top;
	do {
		len = strcspn(below, "/");
		if (!may_search(caller, &sx)) {
			fd = -1;
			errno = EPERM;
		} else if (len > NAME_UTF8_MAX) {
			fd = -1;
			errno = ENAMETOOLONG;
		} else {
			memcpy(name, below, len);
			name[len] = '\0';
			fd = openat(at, name, MOUNT_TABLE_OPEN);
		}
		if (at != e->root)
			close_keep_errno(at);
		if (fd == -1)
			return -1;
		below += len + (below[len] == '/');
		if (look(fd, &sx) == -1 ||
		    !is_step(&sx, &top, *below == '\0',
			caller->options->crossmnt)) {
			close_keep_errno(fd);
			return -1;
		}
		at = fd;
	} while (*below != '\0');
	return fd;
}
