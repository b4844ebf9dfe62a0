/* SPDX-License-Identifier: ISC */
/*
 * Attributes as clients see them, and the write verifier.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include <sodium.h>

#include "nfsd/door/state.h"

enum nfsstat
door_stat(struct door_obj *obj, struct stat *st)
{
	return door_fstat(obj->fd, st) == -1 ? nfs_status(errno) : NFS_OK;
}

void
door_from_statx(const struct statx *sx, struct stat *st)
{
	/* These are all the fields that POSIX has. */
	st->st_dev = makedev(sx->stx_dev_major, sx->stx_dev_minor);
	st->st_rdev = makedev(sx->stx_rdev_major, sx->stx_rdev_minor);
	st->st_ino = sx->stx_ino;
	st->st_mode = sx->stx_mode;
	st->st_nlink = sx->stx_nlink;
	st->st_uid = sx->stx_uid;
	st->st_gid = sx->stx_gid;
	st->st_size = (off_t)sx->stx_size;
	st->st_blocks = (blkcnt_t)sx->stx_blocks;
	st->st_blksize = (blksize_t)sx->stx_blksize;
	st->st_atim.tv_sec = sx->stx_atime.tv_sec;
	st->st_atim.tv_nsec = (long)sx->stx_atime.tv_nsec;
	st->st_mtim.tv_sec = sx->stx_mtime.tv_sec;
	st->st_mtim.tv_nsec = (long)sx->stx_mtime.tv_nsec;
	st->st_ctim.tv_sec = sx->stx_ctime.tv_sec;
	st->st_ctim.tv_nsec = (long)sx->stx_ctime.tv_nsec;
}

int
door_stat_to_write(int fd, struct stat *st, bool *fixed)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx) == -1)
		return -1;
	door_from_statx(&sx, st);
	*fixed = (sx.stx_attributes &
		     (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
	return 0;
}

static enum nfs_ftype
type_of(mode_t mode)
{
	static const enum nfs_ftype types[16] = {
		[S_IFREG >> 12] = NFS_REG,
		[S_IFDIR >> 12] = NFS_DIR,
		[S_IFBLK >> 12] = NFS_BLK,
		[S_IFCHR >> 12] = NFS_CHR,
		[S_IFLNK >> 12] = NFS_LNK,
		[S_IFSOCK >> 12] = NFS_SOCK,
		[S_IFIFO >> 12] = NFS_FIFO,
	};

	return types[(mode & S_IFMT) >> 12];
}

/*
 * A subvolume has inode numbers of its own, so clients must see it as another
 * filesystem.
 */
static uint64_t
fsid_of(const struct served_export *e, dev_t dev)
{
	return dev == e->dev ? e->fsid : e->fsid ^ (uint64_t)dev << 16;
}

/* fileid32 is for clients whose programs cannot hold 64 bits. */
uint64_t
door_fileid(const struct door_obj *obj, ino_t ino)
{
	return obj->options->fileid32 ? (uint32_t)(ino ^ (ino >> 32)) : ino;
}

void
door_attr(const struct door_obj *obj, const struct served_export *e,
    const struct stat *st, struct nfs_attr *attr)
{
	attr->type = type_of(st->st_mode);
	attr->mode = st->st_mode & 07777;
	attr->nlink = (uint32_t)st->st_nlink;
	attr->uid = id_map_out(&obj->options->uids, st->st_uid);
	attr->gid = id_map_out(&obj->options->gids, st->st_gid);
	attr->size = (uint64_t)st->st_size;
	attr->used = (uint64_t)st->st_blocks * 512;
	attr->rdev_major = major(st->st_rdev);
	attr->rdev_minor = minor(st->st_rdev);
	attr->fileid = door_fileid(obj, st->st_ino);
	attr->fsid = fsid_of(e, st->st_dev);
	attr->atime = st->st_atim;
	attr->mtime = st->st_mtim;
	attr->ctime = st->st_ctim;
}

static uint64_t
choose_verifier(void)
{
	uint64_t fresh;

	do
		randombytes_buf(&fresh, sizeof(fresh));
	while (fresh == 0);
	return fresh;
}

void
door_share_verifier(struct door *door, _Atomic uint64_t *shared)
{
	door->verifier = shared;
}

uint64_t
door_write_verifier(const struct call_ctx *ctx)
{
	_Atomic uint64_t *verifier = ctx->thread->door->verifier;
	uint64_t now = atomic_load(verifier), fresh;

	if (now != 0)
		return now;
	fresh = choose_verifier();
	/* The first worker to choose wins; all tell the same number. */
	return atomic_compare_exchange_strong(verifier, &now, fresh) ? fresh :
								       now;
}

void
door_writeback_failed(const struct door_thread *t)
{
	atomic_store(t->door->verifier, choose_verifier());
}
