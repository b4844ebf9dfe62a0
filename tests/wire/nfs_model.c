/* SPDX-License-Identifier: ISC */
/*
 * See nfs_model.h.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_model.h"
#include "tap.h"

#define ARGS_MAX (128 * 1024)
#define NAMES	 12

static uint8_t args[ARGS_MAX];
static struct xdr_out out;
static uint8_t image[NFS_MODEL_SIZE + 65536]; /* what the file must hold */
static size_t image_size;
static struct fh file;

static void
begin(const struct fh *fh, bool v2)
{
	xdr_out_init(&out, args, sizeof(args));
	if (v2)
		xdr_put_fixed(&out, fh->bytes, FH_SIZE);
	else
		xdr_put_opaque(&out, fh->bytes, FH_SIZE);
}

static struct xdr_in
call(const struct nfs_model *m, uint32_t vers, uint32_t proc)
{
	return m->call(m->arg, vers, proc, args, out.len);
}

static void
put_sattr(bool mode, bool size, uint64_t bytes)
{
	xdr_put_bool(&out, mode);
	if (mode)
		xdr_put_u32(&out, 0644);
	xdr_put_u64(&out, 0); /* no uid, no gid */
	xdr_put_bool(&out, size);
	if (size)
		xdr_put_u64(&out, bytes);
	xdr_put_u64(&out, 0); /* no times */
}

/* CREATE, MKDIR: leaves the handle in fh when it was made. */
static uint32_t
make(const struct nfs_model *m, uint32_t proc, const char *name, struct fh *fh)
{
	struct xdr_in in;
	struct slice s;
	uint32_t status;

	begin(&m->dir, false);
	xdr_put_string(&out, name);
	if (proc == NFSPROC3_CREATE)
		xdr_put_u32(&out, NFS_GUARDED);
	put_sattr(true, false, 0);
	in = call(m, 3, proc);
	status = xdr_get_u32(&in);
	if (status != NFS_OK || !xdr_get_bool(&in))
		return in.failed ? UINT32_MAX : status;
	s = xdr_get_opaque(&in, FH_SIZE);
	if (fh != NULL && s.len == FH_SIZE)
		memcpy(fh->bytes, s.data, FH_SIZE);
	return in.failed ? UINT32_MAX : status;
}

static bool
do_read(const struct nfs_model *m, size_t at, size_t len, bool v2)
{
	size_t want = at >= image_size ? 0 :
	    len < image_size - at      ? len :
					 image_size - at;
	struct xdr_in in;
	struct slice data;
	uint8_t attr[84];
	bool eof = false;

	if (v2 && want > NFS2_MAXDATA)
		want = NFS2_MAXDATA;
	begin(&file, v2);
	if (v2)
		xdr_put_u32(&out, (uint32_t)at);
	else
		xdr_put_u64(&out, at);
	xdr_put_u32(&out, (uint32_t)len);
	if (v2)
		xdr_put_u32(&out, 0);
	in = call(m, v2 ? 2 : 3,
	    v2 ? (uint32_t)NFSPROC2_READ : (uint32_t)NFSPROC3_READ);
	if (xdr_get_u32(&in) != NFS_OK || (!v2 && !xdr_get_bool(&in)))
		return false;
	xdr_get_fixed(&in, attr, v2 ? 68 : 84);
	if (!v2) {
		(void)xdr_get_u32(&in);
		eof = xdr_get_bool(&in);
	}
	data = xdr_get_opaque(&in, sizeof(image));
	/* A datagram may carry less than asked for, but not 0. */
	if (in.failed || data.len > want || (want > 0 && data.len == 0) ||
	    (v2 && data.len != want))
		return false;
	return memcmp(data.data, image + at, data.len) == 0 &&
	    (v2 || eof == (at + data.len >= image_size));
}

static bool
do_write(const struct nfs_model *m, size_t at, size_t len, bool v2)
{
	static uint8_t data[65536];
	struct xdr_in in;
	size_t i;

	if (v2 && len > NFS2_MAXDATA)
		len = NFS2_MAXDATA;
	for (i = 0; i < len; i++)
		data[i] = (uint8_t)random();
	begin(&file, v2);
	if (v2) {
		xdr_put_u32(&out, 0);
		xdr_put_u32(&out, (uint32_t)at);
		xdr_put_u32(&out, 0);
	} else {
		xdr_put_u64(&out, at);
		xdr_put_u32(&out, (uint32_t)len);
		xdr_put_u32(&out, (uint32_t)(random() % 32 == 0 ? 1 : 0));
	}
	xdr_put_opaque(&out, data, len);
	in = call(m, v2 ? 2 : 3,
	    v2 ? (uint32_t)NFSPROC2_WRITE : (uint32_t)NFSPROC3_WRITE);
	if (xdr_get_u32(&in) != NFS_OK || in.failed)
		return false;
	memcpy(image + at, data, len);
	if (len > 0 && at + len > image_size)
		image_size = at + len;
	return true;
}

static bool
do_cut(const struct nfs_model *m, size_t size)
{
	struct xdr_in in;

	begin(&file, false);
	put_sattr(false, true, size);
	xdr_put_bool(&out, false);
	in = call(m, 3, NFSPROC3_SETATTR);
	if (xdr_get_u32(&in) != NFS_OK || in.failed)
		return false;
	if (size < image_size)
		memset(image + size, 0, image_size - size);
	image_size = size;
	return true;
}

static bool
do_commit(const struct nfs_model *m, size_t at)
{
	struct xdr_in in;

	begin(&file, false);
	xdr_put_u64(&out, at);
	xdr_put_u32(&out, 0);
	in = call(m, 3, NFSPROC3_COMMIT);
	return xdr_get_u32(&in) == NFS_OK && !in.failed;
}

static bool
do_getattr(const struct nfs_model *m)
{
	struct xdr_in in;
	uint32_t skipped[5];

	begin(&file, false);
	in = call(m, 3, NFSPROC3_GETATTR);
	if (xdr_get_u32(&in) != NFS_OK)
		return false;
	xdr_get_fixed(&in, skipped, sizeof(skipped));
	return xdr_get_u64(&in) == image_size && !in.failed;
}

static bool
one(const struct nfs_model *m)
{
	size_t at = (size_t)random() % NFS_MODEL_SIZE;
	size_t len = (size_t)random() % (random() % 8 == 0 ? 65536 : 9000);
	bool v2 = random() % 4 == 0;

	if (at + len > NFS_MODEL_SIZE)
		len = NFS_MODEL_SIZE - at;
	if (m->largest != 0 && len > m->largest)
		len = m->largest;
	switch (random() % 16) {
	case 0:
		return do_cut(m, at);
	case 1:
		return do_getattr(m);
	case 2:
		return random() % 16 != 0 || do_commit(m, at);
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
		/* Stable writes are rare: else the disk would set the pace. */
		return do_write(m, at, len, v2 && random() % 64 == 0);
	default:
		return do_read(m, at, len, v2);
	}
}

unsigned int
nfs_model_data(const struct nfs_model *m, unsigned int ops)
{
	unsigned int i;

	srandom(m->seed);
	memset(image, 0, sizeof(image));
	image_size = 0;
	if (make(m, NFSPROC3_CREATE, "model", &file) != NFS_OK) {
		diag("model: cannot create the file");
		return 0;
	}
	for (i = 0; i < ops; i++)
		if (!one(m)) {
			diag("model: operation %u of seed %u differs", i,
			    m->seed);
			break;
		}
	return i;
}

static uint32_t
status_of(int result)
{
	return result == -1 ? (uint32_t)nfs_status(errno) : NFS_OK;
}

static uint32_t
place(const struct nfs_model *m, uint32_t proc, const char *name)
{
	struct xdr_in in;
	uint32_t status;

	begin(&m->dir, false);
	xdr_put_string(&out, name);
	in = call(m, 3, proc);
	status = xdr_get_u32(&in);
	return in.failed ? UINT32_MAX : status;
}

static uint32_t
rename_remote(const struct nfs_model *m, const char *from, const char *to)
{
	struct xdr_in in;
	uint32_t status;

	begin(&m->dir, false);
	xdr_put_string(&out, from);
	xdr_put_opaque(&out, m->dir.bytes, FH_SIZE);
	xdr_put_string(&out, to);
	in = call(m, 3, NFSPROC3_RENAME);
	status = xdr_get_u32(&in);
	return in.failed ? UINT32_MAX : status;
}

/* LOOKUP, then LINK of what was found. */
static uint32_t
link_remote(const struct nfs_model *m, const char *from, const char *to)
{
	struct xdr_in in;
	struct slice s;
	struct fh fh;
	uint32_t status;

	begin(&m->dir, false);
	xdr_put_string(&out, from);
	in = call(m, 3, NFSPROC3_LOOKUP);
	status = xdr_get_u32(&in);
	if (in.failed || status != NFS_OK)
		return in.failed ? UINT32_MAX : status;
	s = xdr_get_opaque(&in, FH_SIZE);
	if (s.len != FH_SIZE)
		return UINT32_MAX;
	memcpy(fh.bytes, s.data, FH_SIZE);
	begin(&fh, false);
	xdr_put_opaque(&out, m->dir.bytes, FH_SIZE);
	xdr_put_string(&out, to);
	in = call(m, 3, NFSPROC3_LINK);
	status = xdr_get_u32(&in);
	return in.failed ? UINT32_MAX : status;
}

/* The kernel says PERM for a directory, NFS servers ISDIR. */
static uint32_t
link_local(int dir, const char *from, const char *to)
{
	struct stat st;

	if (fstatat(dir, from, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		return NFSERR_ISDIR;
	return status_of(linkat(dir, from, dir, to, 0));
}

static uint32_t
create_local(int dir, const char *name)
{
	int fd =
	    openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd == -1)
		return (uint32_t)nfs_status(errno);
	close(fd);
	return NFS_OK;
}

/* One operation on both; false when they differ. */
static bool
both(const struct nfs_model *m, int dir, unsigned int i)
{
	uint32_t there, here;
	char a[8], b[8];
	long op = random() % 7;

	(void)snprintf(a, sizeof(a), "n%ld", random() % NAMES);
	(void)snprintf(b, sizeof(b), "n%ld", random() % NAMES);
	switch (op) {
	case 0:
		there = make(m, NFSPROC3_CREATE, a, NULL);
		here = create_local(dir, a);
		break;
	case 1:
		there = make(m, NFSPROC3_MKDIR, a, NULL);
		here = status_of(mkdirat(dir, a, 0644));
		break;
	case 2:
		there = place(m, NFSPROC3_REMOVE, a);
		here = status_of(unlinkat(dir, a, 0));
		break;
	case 3:
		there = place(m, NFSPROC3_RMDIR, a);
		here = status_of(unlinkat(dir, a, AT_REMOVEDIR));
		break;
	case 4:
		there = rename_remote(m, a, b);
		here = status_of(renameat(dir, a, dir, b));
		break;
	case 5:
		there = link_remote(m, a, b);
		here = link_local(dir, a, b);
		break;
	default:
		there = place(m, NFSPROC3_LOOKUP, a);
		here = status_of(faccessat(dir, a, F_OK, AT_SYMLINK_NOFOLLOW));
		break;
	}
	if (there != here)
		diag("names: operation %u (kind %ld, %s, %s) of seed %u: "
		     "%u, should be %u",
		    i, op, a, b, m->seed, there, here);
	return there == here;
}

unsigned int
nfs_model_names(const struct nfs_model *m, int beside, unsigned int ops)
{
	unsigned int i;

	srandom(m->seed);
	for (i = 0; i < ops; i++)
		if (!both(m, beside, i))
			break;
	return i;
}
