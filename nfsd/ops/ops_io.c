/* SPDX-License-Identifier: ISC */
/*
 * READ, WRITE, COMMIT, READLINK. File data is not copied: READ places it where
 * the reply needs it. The event loop reads only data that is in memory; every
 * other READ, and every WRITE and COMMIT, runs on a file thread. A reply says
 * "stable" only after the kernel reports that the data is on disk.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/name.h"
#include "exports/exports.h"
#include "handle/fstype.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/roles/served.h"

/*
 * Reads len bytes, or up to the end of the file. Returns the bytes read, or -1
 * and errno.
 */
static ssize_t
read_all(int fd, uint8_t *to, size_t len, off_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, to + done, len - done, offset + (off_t)done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return done > 0 ? (ssize_t)done : -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * Reads without blocking. Returns -1 and EAGAIN if part of the data is not in
 * memory. A short result means the end of the file.
 */
static ssize_t
read_cached(const struct door_obj *file, uint8_t *to, size_t len, off_t offset)
{
	struct iovec iov = { to, len };
	ssize_t n;

	n = preadv2(file->fd, &iov, 1, offset, RWF_NOWAIT);
	/*
	 * Without RWF_NOWAIT the filesystem is in memory (tmpfs), or the door
	 * has deferred the call.
	 */
	if (n == -1 && errno == EOPNOTSUPP)
		return read_all(file->fd, to, len, offset);
	if (n >= 0 && (size_t)n < len && offset + n < file->st.st_size) {
		errno = EAGAIN;
		return -1;
	}
	return n;
}

/*
 * Returns the bytes to read: the count of the call, limited by the reply and by
 * the largest offset.
 */
static size_t
read_len(const struct call_ctx *ctx, const struct nfs_read *a,
    const struct stat *st)
{
	uint64_t max = ops_read_max(ctx);

	if (a->offset >= (uint64_t)st->st_size)
		return 0;
	if (max > INT64_MAX - a->offset)
		max = INT64_MAX - a->offset;
	return a->count < max ? a->count : (size_t)max;
}

static enum nfsstat
read_file(struct call_ctx *ctx, const struct nfs_read *a, struct door_obj *file,
    struct nfs_data *data)
{
	uint8_t *to = ctx->call->room + ctx->limits->read_at;
	size_t len = read_len(ctx, a, &file->st);
	off_t offset = (off_t)a->offset;
	ssize_t n = 0;

	if (len > 0)
		n = ctx->call->may_block ? read_all(file->fd, to, len, offset) :
					   read_cached(file, to, len, offset);
	if (n == -1 && errno == EAGAIN && door_must_defer(ctx))
		return NFS_DEFERRED;
	if (n == -1)
		return nfs_status(errno);
	/*
	 * The file has grown since the stat. The attributes must cover the
	 * data.
	 */
	if (len > 0 && offset + n > file->st.st_size)
		(void)door_stat(file, &file->st);
	data->data.data = to;
	data->data.len = (size_t)n;
	data->eof = (size_t)n < len ||
	    a->offset + (uint64_t)n >= (uint64_t)file->st.st_size;
	return NFS_OK;
}

void
op_read(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj file;
	uint32_t max = ctx->limits->data_max, count = args->read.count;

	ctx->call->reply_size = count < max ? count : max;
	res->status = ops_open(ctx, &args->read.file, DOOR_FILE | DOOR_READ,
	    &file, &res->post);
	if (res->status != NFS_OK)
		return;
	res->status = read_file(ctx, &args->read, &file, &res->data);
	ops_post(&res->post, &file, &file.st);
	door_close(&file);
}

/* Writes all data or fails: version 2 cannot report a part. */
static int
write_all(int fd, const struct slice *data, off_t offset, int flags)
{
	struct iovec iov;
	size_t done = 0;
	ssize_t n;

	while (done < data->len) {
		/* iovec has no const; the kernel only reads. */
		iov.iov_base = (void *)(uintptr_t)(data->data + done);
		iov.iov_len = data->len - done;
		n = pwritev2(fd, &iov, 1, offset + (off_t)done, flags);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/* Sets the data to write: at most the size that FSINFO promised. */
static enum nfsstat
write_data(const struct call_ctx *ctx, const struct nfs_write *a,
    const struct stat *st, struct slice *data)
{
	uint32_t max = ops_write_max(ctx);

	*data = a->data;
	if (a->count != data->len)
		return NFSERR_INVAL;
	if (data->len > max)
		data->len = max;
	if (a->offset > ctx->limits->size_max ||
	    data->len > ctx->limits->size_max - a->offset ||
	    (uint64_t)st->st_size > ctx->limits->size_max)
		return NFSERR_FBIG;
	return NFS_OK;
}

/*
 * Writes with the stability of the call. The flags of pwritev2(2) suffice on
 * filesystems that honour them. FUSE with direct I/O may not, hence fsync(2).
 */
static int
write_stable(const struct door_obj *file, const struct slice *data,
    off_t offset, enum nfs_stable stable)
{
	static const int flags[] = {
		[NFS_UNSTABLE] = 0,
		[NFS_DATA_SYNC] = RWF_DSYNC,
		[NFS_FILE_SYNC] = RWF_SYNC,
	};

	if (file->export->local_metadata || stable == NFS_UNSTABLE)
		return write_all(file->fd, data, offset, flags[stable]);
	if (write_all(file->fd, data, offset, 0) == -1)
		return -1;
	return fsync(file->fd);
}

static enum nfsstat
write_file(struct call_ctx *ctx, const struct nfs_write *a,
    struct door_obj *file, struct nfs_written *written)
{
	enum nfs_stable stable =
	    file->options->sync == SYNC_NONE ? NFS_UNSTABLE : a->stable;
	enum nfsstat status;
	struct slice data;

	status = write_data(ctx, a, &file->st, &data);
	if (status != NFS_OK)
		return status;
	if (write_stable(file, &data, (off_t)a->offset, stable) == -1) {
		status = nfs_status(errno);
		/*
		 * Earlier unstable writes may be lost too. If a stable write
		 * fails but an unstable one succeeds, the writeback failed. The
		 * kernel reports that only once, so a later COMMIT would not
		 * see it.
		 */
		if (status == NFSERR_IO ||
		    (stable != NFS_UNSTABLE &&
			write_all(file->fd, &data, (off_t)a->offset, 0) == 0))
			door_writeback_failed(ctx->thread);
		return status;
	}
	written->count = (uint32_t)data.len;
	written->committed = a->stable;
	written->verf = door_write_verifier(ctx);
	return NFS_OK;
}

void
op_write(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct nfs_write *a = &args->write;
	unsigned int want = DOOR_FILE | DOOR_WRITE;
	struct door_obj file;

	if (a->stable != NFS_UNSTABLE)
		want |= DOOR_STABLE;
	res->status = ops_open_change(ctx, &a->file, want, &file, &res->wcc);
	if (res->status != NFS_OK)
		return;
	res->status = write_file(ctx, a, &file, &res->written);
	ops_wcc_after(&res->wcc, &file);
	door_close(&file);
}

/* Syncs the whole file: fsync(2) has no range. */
static enum nfsstat
commit(struct call_ctx *ctx, const struct door_obj *file)
{
	int error;

	if (file->options->sync == SYNC_NONE)
		return NFS_OK;
	if (fsync(file->fd) == 0)
		return NFS_OK;
	error = errno;
	door_writeback_failed(ctx->thread);
	return fstype_is_sick(error) ? NFSERR_JUKEBOX : NFSERR_IO;
}

void
op_commit(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	const struct fh *fh = &args->commit.file;
	struct door_obj file;
	bool clean;

	res->status = ops_open_change(ctx, fh,
	    DOOR_FILE | DOOR_WRITE | DOOR_STABLE, &file, &res->wcc);
	/* On a read-only export there is nothing to commit. */
	clean = res->status == NFSERR_ROFS;
	if (clean)
		res->status = door_open(ctx, fh, DOOR_FILE, &file);
	if (res->status != NFS_OK)
		return;
	if (!clean)
		res->status = commit(ctx, &file);
	res->written.verf = door_write_verifier(ctx);
	ops_wcc_after(&res->wcc, &file);
	door_close(&file);
}

/* Reads the target and converts it to the dialect of the client. */
static enum nfsstat
read_link(struct call_ctx *ctx, const struct door_obj *link, struct slice *text)
{
	struct ops_scratch *s = ctx->scratch;
	struct door_use use;
	ssize_t n;

	if (door_must_defer_cold(ctx, link, DOOR_USE_TARGET, &use))
		return NFS_DEFERRED;
	n = readlinkat(link->fd, "", s->target, sizeof(s->target));
	if (n == -1)
		return nfs_status(errno);
	door_used(ctx, &use);
	text->data = (const uint8_t *)s->target;
	text->len = (size_t)n;
	if (!link->utf16)
		return NFS_OK;
	if (!name_to_utf16(s->names, sizeof(s->names), &text->len, s->target,
		(size_t)n))
		return NFSERR_IO;
	text->data = s->names;
	return NFS_OK;
}

void
op_readlink(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct door_obj link;

	res->status =
	    ops_open(ctx, &args->object, DOOR_LINK, &link, &res->post);
	if (res->status != NFS_OK)
		return;
	res->status = read_link(ctx, &link, &res->data.data);
	ops_post(&res->post, &link, &link.st);
	door_close(&link);
}
