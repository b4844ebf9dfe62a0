/* SPDX-License-Identifier: ISC */
/*
 * Sets one attribute of an object. The kernel decides what the caller may set.
 * One rule is added: a file gets set-id bits only if its export says setid.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "exports/exports.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/ops_set.h"
#include "nfsd/roles/chmod.h"

#define SET_ID (S_ISUID | S_ISGID)

bool
ops_is_setid(const struct nfs_sattr *s)
{
	return s->set_mode && (s->mode & SET_ID) != 0;
}

bool
ops_refuses_setid(const struct call_ctx *ctx, const struct nfs_sattr *s)
{
	return ops_is_setid(s) && !ctx->options->setid;
}

void
ops_map_owner(const struct call_ctx *ctx, struct nfs_sattr *s)
{
	if (!id_map_in(&ctx->options->uids, &s->uid))
		s->uid = ctx->options->anonuid;
	if (!id_map_in(&ctx->options->gids, &s->gid))
		s->gid = ctx->options->anongid;
}

enum nfsstat
ops_set_mode(struct call_ctx *ctx, const struct door_obj *obj, uint32_t mode)
{
	bool directory = S_ISDIR(obj->st.st_mode);

	if (directory && (mode & SET_ID) != 0)
		return door_chmod_dir(ctx, obj, mode & 07777);
	/* A fifo, socket or device cannot be opened to set its mode. */
	if (!directory && !S_ISREG(obj->st.st_mode) && !chmod_takes_path())
		return ((obj->st.st_mode ^ mode) & 07777) == 0 ? NFS_OK :
								 NFSERR_INVAL;
	return chmod_fd(obj->fd, mode & 07777, directory) == -1 ?
	    nfs_status(errno) :
	    NFS_OK;
}

static struct timespec
set_time(enum nfs_set_time how, const struct timespec *client)
{
	struct timespec now = { 0, UTIME_NOW }, keep = { 0, UTIME_OMIT };

	if (how == NFS_CLIENT_TIME)
		return *client;
	return how == NFS_SERVER_TIME ? now : keep;
}

int
ops_set_times(int fd, const struct nfs_sattr *s)
{
	struct timespec t[2];

	if (s->set_atime == NFS_KEEP_TIME && s->set_mtime == NFS_KEEP_TIME)
		return 0;
	t[0] = set_time(s->set_atime, &s->atime);
	t[1] = set_time(s->set_mtime, &s->mtime);
	return utimensat(fd, "", t, AT_EMPTY_PATH);
}

int
ops_set_owner(int fd, const struct nfs_sattr *s)
{
	uid_t uid = s->set_uid ? s->uid : (uid_t)-1;
	gid_t gid = s->set_gid ? s->gid : (gid_t)-1;

	if (!s->set_uid && !s->set_gid)
		return 0;
	/* For the kernel, -1 means "leave it". A client must not send it. */
	if ((s->set_uid && uid == (uid_t)-1) ||
	    (s->set_gid && gid == (gid_t)-1)) {
		errno = EINVAL;
		return -1;
	}
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}
