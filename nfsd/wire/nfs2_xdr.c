/* SPDX-License-Identifier: ISC */
/*
 * See nfs2_xdr.h. Operations plan with the sizes in struct nfs_limits. They
 * stand here, beside the encoders they must match.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/nfs2_xdr.h"

#define FATTR_SIZE   68
#define MAXPATHLEN2  1024
#define UNSET	     UINT32_MAX /* sattr: leave this attribute */
#define UNSET_MODE16 0xffffu /* the same, from PC clients with 16-bit modes */
#define USEC_NOW     1000000u /* SunOS: set the server's time */
#define FIFO_DEVICE  UINT32_MAX /* CREATE: this character device is a fifo */
#define MODE_TYPE    0170000u
#define STAT_BLOCK   512u

const struct nfs_limits nfs2_limits = {
	.data_max = NFS2_MAXDATA,
	.size_max = UINT32_MAX,
	.cookie_max = UINT32_MAX,
	.read_at = 4 + FATTR_SIZE + 4, /* status, length */
	/* Small clients allocate count bytes for the whole message. */
	.dir_uncounted = 0,
	.dir_head = RPC_REPLY_HEADER + 4 + 4 + 4, /* status; end mark, eof */
	.dir_entry = 4 + 4 + 4 + 4, /* mark, fileid, name length, cookie */
};

/* For each type: the type bits of a mode and the type number on the wire. */
static const struct {
	uint32_t bits;
	uint32_t number; /* 6 for a socket is common; RFC 1094 ends at 5 */
} types[NFS_FTYPES] = {
	[NFS_NONE] = { 0, 0 },
	[NFS_REG] = { 0100000, 1 },
	[NFS_DIR] = { 0040000, 2 },
	[NFS_BLK] = { 0060000, 3 },
	[NFS_CHR] = { 0020000, 4 },
	[NFS_LNK] = { 0120000, 5 },
	[NFS_SOCK] = { 0140000, 6 },
	[NFS_FIFO] = { 0010000, 4 },
};

/* fhandle: RFC 1094, 2.3.3. */
static void
get_fh(struct xdr_in *x, struct fh *fh)
{
	xdr_get_fixed(x, fh->bytes, NFS2_FHSIZE);
}

/*
 * diropargs: RFC 1094, 2.3.10. A name that is too long gets an NFS error, not
 * GARBAGE_ARGS.
 */
static void
get_place(struct xdr_in *x, struct nfs_place *place, char text[NFS_NAME_SIZE])
{
	get_fh(x, &place->dir);
	nfs_name_set(&place->name, text, xdr_get_opaque(x, NFS_RECORD_MAX),
	    &place->dir);
}

/* timeval within sattr. */
static enum nfs_set_time
get_set_time(struct xdr_in *x, struct timespec *t, enum nfsstat *fault)
{
	uint32_t sec = xdr_get_u32(x), usec = xdr_get_u32(x);

	if (usec == USEC_NOW)
		return NFS_SERVER_TIME;
	if (sec == UNSET || usec == UNSET)
		return NFS_KEEP_TIME;
	if (usec > USEC_NOW)
		*fault = NFSERR_INVAL;
	t->tv_sec = sec;
	t->tv_nsec = (long)usec * 1000;
	return NFS_CLIENT_TIME;
}

/* sattr: RFC 1094, 2.3.6. Returns the mode of the wire, with its type bits. */
static uint32_t
get_sattr(struct xdr_in *x, struct nfs_sattr *s)
{
	uint32_t mode = xdr_get_u32(x), size;

	s->set_mode = mode != UNSET && mode != UNSET_MODE16;
	s->mode = mode & ~MODE_TYPE;
	s->uid = xdr_get_u32(x);
	s->set_uid = s->uid != UNSET;
	s->gid = xdr_get_u32(x);
	s->set_gid = s->gid != UNSET;
	size = xdr_get_u32(x);
	s->set_size = size != UNSET;
	s->size = size;
	s->set_atime = get_set_time(x, &s->atime, &s->fault);
	s->set_mtime = get_set_time(x, &s->mtime, &s->fault);
	/* SunOS marks only the second time to set both to the server's time. */
	if (s->set_mtime == NFS_SERVER_TIME && s->set_atime == NFS_KEEP_TIME)
		s->set_atime = NFS_SERVER_TIME;
	return s->set_mode ? mode : 0;
}

/* GETATTR, READLINK, STATFS: one handle. */
void
nfs2_get_object(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->object);
}

/* sattrargs: RFC 1094, 2.2.3. */
void
nfs2_get_setattr(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->setattr.object);
	(void)get_sattr(x, &args->setattr.sattr);
}

/* LOOKUP, REMOVE, RMDIR. */
void
nfs2_get_place(struct xdr_in *x, struct call_args *args)
{
	get_place(x, &args->place, args->names[0]);
}

/* readargs: RFC 1094, 2.2.7; totalcount is unused. */
void
nfs2_get_read(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->read.file);
	args->read.offset = xdr_get_u32(x);
	args->read.count = xdr_get_u32(x);
	(void)xdr_get_u32(x);
}

/* writeargs: RFC 1094, 2.2.9; beginoffset and totalcount are unused. */
void
nfs2_get_write(struct xdr_in *x, struct call_args *args)
{
	struct nfs_write *a = &args->write;

	get_fh(x, &a->file);
	(void)xdr_get_u32(x);
	a->offset = xdr_get_u32(x);
	(void)xdr_get_u32(x);
	a->data = xdr_get_opaque(x, NFS2_MAXDATA);
	a->count = (uint32_t)a->data.len;
	a->stable = NFS_FILE_SYNC;
}

/*
 * Sets the type by the type bits of CREATE's mode. SunOS and Linux clients make
 * special files with CREATE and send the device number as the size. A character
 * device without a number is a fifo.
 */
static void
special(struct nfs_make *a, uint32_t bits)
{
	uint32_t device = (uint32_t)a->sattr.size;
	size_t i;

	a->type = bits == 0 ? NFS_REG : NFS_NONE;
	for (i = 1; i < nitems(types); i++)
		if (types[i].bits == bits)
			a->type = (enum nfs_ftype)i;
	if (a->type == NFS_CHR && !a->sattr.set_size)
		a->type = NFS_FIFO;
	if (a->type == NFS_REG)
		return;
	a->sattr.set_size = false;
	a->rdev_major = device >> 8 & 0xfff;
	a->rdev_minor = (device & 0xff) | (device >> 12 & 0xfff00);
}

/* createargs: RFC 1094, 2.2.10. */
void
nfs2_get_create(struct xdr_in *x, struct call_args *args)
{
	struct nfs_make *a = &args->make;

	get_place(x, &a->at, args->names[0]);
	a->how = NFS_UNCHECKED;
	special(a, get_sattr(x, &a->sattr) & MODE_TYPE);
}

/* MKDIR: RFC 1094, 2.2.15. */
void
nfs2_get_mkdir(struct xdr_in *x, struct call_args *args)
{
	args->make.type = NFS_DIR;
	get_place(x, &args->make.at, args->names[0]);
	(void)get_sattr(x, &args->make.sattr);
}

/* symlinkargs: RFC 1094, 2.2.14. The target comes before the attributes. */
void
nfs2_get_symlink(struct xdr_in *x, struct call_args *args)
{
	args->make.type = NFS_LNK;
	get_place(x, &args->make.at, args->names[0]);
	args->make.target = xdr_get_opaque(x, NFS_RECORD_MAX);
	(void)get_sattr(x, &args->make.sattr);
}

/* renameargs: RFC 1094, 2.2.12. */
void
nfs2_get_rename(struct xdr_in *x, struct call_args *args)
{
	get_place(x, &args->rename.from, args->names[0]);
	get_place(x, &args->rename.to, args->names[1]);
}

/* linkargs: RFC 1094, 2.2.13. */
void
nfs2_get_link(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->link.file);
	get_place(x, &args->link.to, args->names[0]);
}

/* readdirargs: RFC 1094, 2.2.17. */
void
nfs2_get_readdir(struct xdr_in *x, struct call_args *args)
{
	struct nfs_readdir *a = &args->readdir;

	get_fh(x, &a->dir);
	a->cookie = xdr_get_u32(x);
	a->dircount = UINT32_MAX;
	a->count = xdr_get_u32(x);
}

/* Writes the status. Returns true if the body of a success must follow. */
static bool
put_status(struct xdr_out *x, enum nfsstat status)
{
	xdr_put_u32(x, (uint32_t)nfs2_status(status));
	return status == NFS_OK;
}

/*
 * Returns the status of a reply with these attributes: IO if there are none,
 * FBIG if version 2 cannot carry the size.
 */
static enum nfsstat
attr_status(const struct call_res *res, const struct nfs_post *post)
{
	if (res->status != NFS_OK)
		return res->status;
	if (!post->has)
		return NFSERR_IO;
	return post->attr.size > UINT32_MAX ? NFSERR_FBIG : NFS_OK;
}

/* Maps 64 bits to 32. A number that fits stays the same. */
static uint32_t
fold(uint64_t number)
{
	return (uint32_t)(number ^ number >> 32);
}

static void
put_time(struct xdr_out *x, const struct timespec *t)
{
	xdr_put_u32(x, nfs_seconds(t));
	xdr_put_u32(x, (uint32_t)(t->tv_nsec / 1000));
}

static uint32_t
device(const struct nfs_attr *a)
{
	if (a->type == NFS_FIFO)
		return FIFO_DEVICE;
	return (a->rdev_minor & 0xff) | (a->rdev_major & 0xfff) << 8 |
	    (a->rdev_minor & 0xfff00) << 12;
}

/* fattr: RFC 1094, 2.3.5. */
static void
put_attr(struct xdr_out *x, const struct nfs_attr *a)
{
	uint64_t blocks = a->used / STAT_BLOCK;

	xdr_put_u32(x, types[a->type].number);
	xdr_put_u32(x, types[a->type].bits | a->mode);
	xdr_put_u32(x, a->nlink);
	xdr_put_u32(x, a->uid);
	xdr_put_u32(x, a->gid);
	xdr_put_u32(x, (uint32_t)a->size);
	xdr_put_u32(x, NFS2_MAXDATA);
	xdr_put_u32(x, device(a));
	xdr_put_u32(x, blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks);
	xdr_put_u32(x, fold(a->fsid));
	xdr_put_u32(x, fold(a->fileid));
	put_time(x, &a->atime);
	put_time(x, &a->mtime);
	put_time(x, &a->ctime);
}

void
nfs2_put_status(struct xdr_out *x, const struct call_res *res)
{
	(void)put_status(x, res->status);
}

bool
nfs2_put_object(struct xdr_out *x, const struct call_res *res)
{
	if (!put_status(x, attr_status(res, &res->post)))
		return false;
	put_attr(x, &res->post.attr);
	return true;
}

/* attrstat: RFC 1094, 2.2.2. */
void
nfs2_put_getattr(struct xdr_out *x, const struct call_res *res)
{
	(void)nfs2_put_object(x, res);
}

void
nfs2_put_changed(struct xdr_out *x, const struct call_res *res)
{
	if (put_status(x, attr_status(res, &res->wcc.after)))
		put_attr(x, &res->wcc.after.attr);
}

/* diropres: RFC 1094, 2.2.5. Version 2 cannot say that a handle is missing. */
void
nfs2_put_dirop(struct xdr_out *x, const struct call_res *res)
{
	if (!put_status(x,
		res->no_fh ? NFSERR_IO : attr_status(res, &res->post)))
		return;
	xdr_put_fixed(x, res->fh.bytes, NFS2_FHSIZE);
	put_attr(x, &res->post.attr);
}

/* readlinkres: RFC 1094, 2.2.6. */
void
nfs2_put_readlink(struct xdr_out *x, const struct call_res *res)
{
	const struct slice *text = &res->data.data;
	enum nfsstat status = res->status;

	if (status == NFS_OK && text->len > MAXPATHLEN2)
		status = NFSERR_NAMETOOLONG;
	if (put_status(x, status))
		xdr_put_opaque(x, text->data, text->len);
}

/* readres: RFC 1094, 2.2.7. The data is already at nfs2_limits.read_at. */
void
nfs2_put_read(struct xdr_out *x, const struct call_res *res)
{
	enum nfsstat status = attr_status(res, &res->post);

	/*
	 * The object is not a regular file. RFC 1094 has no INVAL. Of the
	 * statuses it has, ISDIR is the only one after which U-Boot tries
	 * READLINK.
	 */
	if (status == NFSERR_INVAL)
		status = NFSERR_ISDIR;
	if (!put_status(x, status))
		return;
	put_attr(x, &res->post.attr);
	xdr_put_opaque(x, res->data.data.data, res->data.data.len);
}

/* readdirres: RFC 1094, 2.2.17. */
void
nfs2_put_readdir(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_listing *l = &res->listing;
	size_t i;

	if (!put_status(x, res->status))
		return;
	for (i = 0; i < l->n; i++) {
		xdr_put_bool(x, true);
		xdr_put_u32(x, fold(l->list[i].fileid));
		xdr_put_opaque(x, l->list[i].name.data, l->list[i].name.len);
		xdr_put_u32(x, (uint32_t)l->list[i].cookie);
	}
	xdr_put_bool(x, false);
	xdr_put_bool(x, l->eof);
}

/*
 * statfsres: RFC 1094, 2.2.18. Clients compute with signed 32-bit numbers. The
 * block size therefore doubles until the count of blocks fits one.
 */
void
nfs2_put_statfs(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_fsstat *f = &res->fsstat;
	uint64_t block = f->block;

	if (!put_status(x, res->status))
		return;
	while (f->tbytes / block > INT32_MAX)
		block *= 2;
	xdr_put_u32(x, NFS2_MAXDATA);
	xdr_put_u32(x, (uint32_t)block);
	xdr_put_u32(x, (uint32_t)(f->tbytes / block));
	xdr_put_u32(x, (uint32_t)(f->fbytes / block));
	xdr_put_u32(x, (uint32_t)(f->abytes / block));
}
