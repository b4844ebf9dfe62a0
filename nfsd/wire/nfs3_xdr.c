/* SPDX-License-Identifier: ISC */
/*
 * See nfs3_xdr.h. Operations plan with the sizes in struct nfs_limits. They
 * stand here, beside the encoders they must match.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#include <string.h>

#include "nfsd/wire/nfs3_xdr.h"

#define FATTR3_SIZE 84
#define WCC_SIZE    24
#define POST_SIZE   (4 + FATTR3_SIZE)

const struct nfs_limits nfs3_limits = {
	.data_max = NFS3_MAXDATA,
	.size_max = INT64_MAX,
	.cookie_max = UINT64_MAX,
	.read_at = 4 + POST_SIZE + 4 + 4 + 4, /* status, count, eof, length */
	.dir_uncounted = 4, /* the status: count is for READDIR3resok */
	.dir_head = POST_SIZE + 8 + 4 + 4, /* verifier; end mark, eof */
	.dir_entry = 4 + 8 + 4 + 8, /* mark, fileid, name length, cookie */
	.dir_plus = POST_SIZE + 4 + 4 + FH_SIZE,
	.jukebox = true,
};

/* nfs_fh3. A handle of wrong length becomes all zero; the door refuses that. */
static void
get_fh(struct xdr_in *x, struct fh *fh)
{
	struct slice s = xdr_get_opaque(x, NFS3_FHSIZE);

	if (s.len == FH_SIZE)
		memcpy(fh->bytes, s.data, FH_SIZE);
	else
		memset(fh, 0, sizeof(*fh));
}

/*
 * diropargs3. A name may be as long as the message. One that is too long gets
 * NAMETOOLONG, not GARBAGE_ARGS.
 */
static void
get_place(struct xdr_in *x, struct nfs_place *place, char text[NFS_NAME_SIZE])
{
	get_fh(x, &place->dir);
	nfs_name_set(&place->name, text, xdr_get_opaque(x, NFS_RECORD_MAX),
	    &place->dir);
}

/* nfstime3 */
static struct timespec
get_time(struct xdr_in *x, enum nfsstat *fault)
{
	time_t sec = xdr_get_u32(x);
	uint32_t nsec = xdr_get_u32(x);

	if (nsec >= 1000000000) {
		*fault = NFSERR_INVAL;
		nsec = 0;
	}
	return (struct timespec){ .tv_sec = sec, .tv_nsec = (long)nsec };
}

/* set_atime, set_mtime. enum nfs_set_time has the order of time_how. */
static enum nfs_set_time
get_set_time(struct xdr_in *x, struct timespec *t, enum nfsstat *fault)
{
	enum nfs_set_time how = xdr_get_enum(x, NFS_CLIENT_TIME + 1);

	if (how == NFS_CLIENT_TIME)
		*t = get_time(x, fault);
	return how;
}

/* sattr3: RFC 1813, 2.6. */
static void
get_sattr(struct xdr_in *x, struct nfs_sattr *s)
{
	s->set_mode = xdr_get_bool(x);
	if (s->set_mode)
		s->mode = xdr_get_u32(x);
	s->set_uid = xdr_get_bool(x);
	if (s->set_uid)
		s->uid = xdr_get_u32(x);
	s->set_gid = xdr_get_bool(x);
	if (s->set_gid)
		s->gid = xdr_get_u32(x);
	s->set_size = xdr_get_bool(x);
	if (s->set_size)
		s->size = xdr_get_u64(x);
	s->set_atime = get_set_time(x, &s->atime, &s->fault);
	s->set_mtime = get_set_time(x, &s->mtime, &s->fault);
}

/* GETATTR, READLINK, FSSTAT, FSINFO, PATHCONF: one handle. */
void
nfs3_get_object(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->object);
}

/* SETATTR3args: RFC 1813, 3.3.2. */
void
nfs3_get_setattr(struct xdr_in *x, struct call_args *args)
{
	struct nfs_setattr *a = &args->setattr;

	get_fh(x, &a->object);
	get_sattr(x, &a->sattr);
	a->guard = xdr_get_bool(x);
	if (a->guard)
		a->ctime = get_time(x, &a->sattr.fault);
}

/* LOOKUP3args, REMOVE3args, RMDIR3args: RFC 1813, 3.3.3, 3.3.12, 3.3.13. */
void
nfs3_get_place(struct xdr_in *x, struct call_args *args)
{
	get_place(x, &args->place, args->names[0]);
}

/* ACCESS3args: RFC 1813, 3.3.4. */
void
nfs3_get_access(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->access.object);
	args->access.wanted = xdr_get_u32(x);
}

/* READ3args: RFC 1813, 3.3.6. */
void
nfs3_get_read(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->read.file);
	args->read.offset = xdr_get_u64(x);
	args->read.count = xdr_get_u32(x);
}

/* WRITE3args: RFC 1813, 3.3.7. */
void
nfs3_get_write(struct xdr_in *x, struct call_args *args)
{
	struct nfs_write *a = &args->write;

	get_fh(x, &a->file);
	a->offset = xdr_get_u64(x);
	a->count = xdr_get_u32(x);
	a->stable = xdr_get_enum(x, NFS_FILE_SYNC + 1);
	a->data = xdr_get_opaque(x, NFS_RECORD_MAX);
}

/* CREATE3args: RFC 1813, 3.3.8. */
void
nfs3_get_create(struct xdr_in *x, struct call_args *args)
{
	struct nfs_make *a = &args->make;

	get_place(x, &a->at, args->names[0]);
	a->type = NFS_REG;
	a->how = xdr_get_enum(x, NFS_EXCLUSIVE + 1);
	if (a->how == NFS_EXCLUSIVE) {
		a->verf[0] = xdr_get_u32(x);
		a->verf[1] = xdr_get_u32(x);
	} else
		get_sattr(x, &a->sattr);
}

/* MKDIR3args: RFC 1813, 3.3.9. */
void
nfs3_get_mkdir(struct xdr_in *x, struct call_args *args)
{
	args->make.type = NFS_DIR;
	get_place(x, &args->make.at, args->names[0]);
	get_sattr(x, &args->make.sattr);
}

/* SYMLINK3args: RFC 1813, 3.3.10. */
void
nfs3_get_symlink(struct xdr_in *x, struct call_args *args)
{
	args->make.type = NFS_LNK;
	get_place(x, &args->make.at, args->names[0]);
	get_sattr(x, &args->make.sattr);
	args->make.target = xdr_get_opaque(x, NFS_RECORD_MAX);
}

/* MKNOD3args: RFC 1813, 3.3.11. Types other than these carry no more data. */
void
nfs3_get_mknod(struct xdr_in *x, struct call_args *args)
{
	struct nfs_make *a = &args->make;

	get_place(x, &a->at, args->names[0]);
	a->how = NFS_GUARDED;
	a->type = xdr_get_enum(x, NFS_FTYPES);
	if (a->type == NFS_CHR || a->type == NFS_BLK) {
		get_sattr(x, &a->sattr);
		a->rdev_major = xdr_get_u32(x);
		a->rdev_minor = xdr_get_u32(x);
	} else if (a->type == NFS_SOCK || a->type == NFS_FIFO)
		get_sattr(x, &a->sattr);
}

/* RENAME3args: RFC 1813, 3.3.14. */
void
nfs3_get_rename(struct xdr_in *x, struct call_args *args)
{
	get_place(x, &args->rename.from, args->names[0]);
	get_place(x, &args->rename.to, args->names[1]);
}

/* LINK3args: RFC 1813, 3.3.15. */
void
nfs3_get_link(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->link.file);
	get_place(x, &args->link.to, args->names[0]);
}

/* READDIR3args: RFC 1813, 3.3.16. */
void
nfs3_get_readdir(struct xdr_in *x, struct call_args *args)
{
	struct nfs_readdir *a = &args->readdir;

	get_fh(x, &a->dir);
	a->cookie = xdr_get_u64(x);
	a->verf = xdr_get_u64(x);
	a->dircount = UINT32_MAX;
	a->count = xdr_get_u32(x);
}

/* READDIRPLUS3args: RFC 1813, 3.3.17. */
void
nfs3_get_readdirplus(struct xdr_in *x, struct call_args *args)
{
	struct nfs_readdir *a = &args->readdir;

	get_fh(x, &a->dir);
	a->cookie = xdr_get_u64(x);
	a->verf = xdr_get_u64(x);
	a->dircount = xdr_get_u32(x);
	a->count = xdr_get_u32(x);
}

/* COMMIT3args: RFC 1813, 3.3.21. */
void
nfs3_get_commit(struct xdr_in *x, struct call_args *args)
{
	get_fh(x, &args->commit.file);
	args->commit.offset = xdr_get_u64(x);
	args->commit.count = xdr_get_u32(x);
}

static void
put_status(struct xdr_out *x, const struct call_res *res)
{
	xdr_put_u32(x, (uint32_t)res->status);
}

static void
put_fh(struct xdr_out *out, const struct fh *fh)
{
	struct xdr_out x = xdr_put_part(out, 4 + FH_SIZE);

	if (x.failed)
		return;
	xdr_put_u32(&x, FH_SIZE);
	memcpy(x.base + x.len, fh->bytes, FH_SIZE);
}

/* nfstime3 */
static void
put_time(struct xdr_out *x, const struct timespec *t)
{
	xdr_put_u32(x, nfs_seconds(t));
	xdr_put_u32(x, (uint32_t)t->tv_nsec);
}

/* fattr3: RFC 1813, 2.6. */
static void
put_attr(struct xdr_out *out, const struct nfs_attr *a)
{
	struct xdr_out x = xdr_put_part(out, FATTR3_SIZE);

	if (x.failed)
		return;
	xdr_put_u32(&x, a->type);
	xdr_put_u32(&x, a->mode);
	xdr_put_u32(&x, a->nlink);
	xdr_put_u32(&x, a->uid);
	xdr_put_u32(&x, a->gid);
	xdr_put_u64(&x, a->size);
	xdr_put_u64(&x, a->used);
	xdr_put_u32(&x, a->rdev_major);
	xdr_put_u32(&x, a->rdev_minor);
	xdr_put_u64(&x, a->fsid);
	xdr_put_u64(&x, a->fileid);
	put_time(&x, &a->atime);
	put_time(&x, &a->mtime);
	put_time(&x, &a->ctime);
}

/* post_op_attr */
static void
put_post(struct xdr_out *x, const struct nfs_post *post)
{
	xdr_put_bool(x, post->has);
	if (post->has)
		put_attr(x, &post->attr);
}

/* wcc_attr */
static void
put_before(struct xdr_out *out, const struct nfs_wcc *wcc)
{
	struct xdr_out x = xdr_put_part(out, WCC_SIZE);

	if (x.failed)
		return;
	xdr_put_u64(&x, wcc->size);
	put_time(&x, &wcc->mtime);
	put_time(&x, &wcc->ctime);
}

/* wcc_data: pre_op_attr, post_op_attr. */
static void
put_wcc_data(struct xdr_out *x, const struct nfs_wcc *wcc)
{
	xdr_put_bool(x, wcc->has_before);
	if (wcc->has_before)
		put_before(x, wcc);
	put_post(x, &wcc->after);
}

/* post_op_fh3. Without a handle the client sends a LOOKUP. */
static void
put_post_fh(struct xdr_out *x, const struct fh *fh, bool has)
{
	xdr_put_bool(x, has);
	if (has)
		put_fh(x, fh);
}

bool
nfs3_put_object(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_post(x, &res->post);
	return res->status == NFS_OK;
}

/* GETATTR3res: RFC 1813, 3.3.1. */
void
nfs3_put_getattr(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	if (res->status == NFS_OK)
		put_attr(x, &res->post.attr);
}

/* SETATTR3res, REMOVE3res, RMDIR3res: RFC 1813, 3.3.2, 3.3.12, 3.3.13. */
void
nfs3_put_wcc(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_wcc_data(x, &res->wcc);
}

/* LOOKUP3res: RFC 1813, 3.3.3. */
void
nfs3_put_lookup(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	if (res->status == NFS_OK) {
		put_fh(x, &res->fh);
		put_post(x, &res->post);
	}
	put_post(x, &res->wcc.after);
}

/* ACCESS3res: RFC 1813, 3.3.4. */
void
nfs3_put_access(struct xdr_out *x, const struct call_res *res)
{
	if (nfs3_put_object(x, res))
		xdr_put_u32(x, res->access);
}

/* READLINK3res: RFC 1813, 3.3.5. */
void
nfs3_put_readlink(struct xdr_out *x, const struct call_res *res)
{
	if (nfs3_put_object(x, res))
		xdr_put_opaque(x, res->data.data.data, res->data.data.len);
}

/* READ3res: RFC 1813, 3.3.6. The data is already at nfs3_limits.read_at. */
void
nfs3_put_read(struct xdr_out *x, const struct call_res *res)
{
	const struct slice *data = &res->data.data;

	if (!nfs3_put_object(x, res))
		return;
	xdr_put_u32(x, (uint32_t)data->len);
	xdr_put_bool(x, res->data.eof);
	xdr_put_opaque(x, data->data, data->len);
}

/* WRITE3res: RFC 1813, 3.3.7. */
void
nfs3_put_write(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_wcc_data(x, &res->wcc);
	if (res->status != NFS_OK)
		return;
	xdr_put_u32(x, res->written.count);
	xdr_put_u32(x, res->written.committed);
	xdr_put_u64(x, res->written.verf);
}

/* CREATE3res, MKDIR3res, SYMLINK3res, MKNOD3res: RFC 1813, 3.3.8 to 3.3.11. */
void
nfs3_put_made(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	if (res->status == NFS_OK) {
		put_post_fh(x, &res->fh, !res->no_fh);
		put_post(x, &res->post);
	}
	put_wcc_data(x, &res->wcc);
}

/* RENAME3res: RFC 1813, 3.3.14. */
void
nfs3_put_rename(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_wcc_data(x, &res->wcc);
	put_wcc_data(x, &res->wcc_to);
}

/* LINK3res: RFC 1813, 3.3.15. */
void
nfs3_put_link(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_post(x, &res->post);
	put_wcc_data(x, &res->wcc);
}

/* The fields that entry3 and entryplus3 begin with. */
static void
put_entry(struct xdr_out *x, const struct nfs_dirent *entry)
{
	xdr_put_bool(x, true);
	xdr_put_u64(x, entry->fileid);
	xdr_put_opaque(x, entry->name.data, entry->name.len);
	xdr_put_u64(x, entry->cookie);
}

static void
put_listing(struct xdr_out *x, const struct call_res *res, bool plus)
{
	const struct nfs_listing *l = &res->listing;
	size_t i;

	put_status(x, res);
	put_post(x, &res->post);
	if (res->status != NFS_OK)
		return;
	xdr_put_u64(x, l->verf);
	for (i = 0; i < l->n; i++) {
		put_entry(x, &l->list[i]);
		if (plus) {
			put_post(x, &l->list[i].post);
			put_post_fh(x, &l->list[i].fh, l->list[i].has_fh);
		}
	}
	xdr_put_bool(x, false);
	xdr_put_bool(x, l->eof);
}

/* READDIR3res: RFC 1813, 3.3.16. */
void
nfs3_put_readdir(struct xdr_out *x, const struct call_res *res)
{
	put_listing(x, res, false);
}

/* READDIRPLUS3res: RFC 1813, 3.3.17. */
void
nfs3_put_readdirplus(struct xdr_out *x, const struct call_res *res)
{
	put_listing(x, res, true);
}

/*
 * FSSTAT3res: RFC 1813, 3.3.18. invarsec is 0: the values may change at any
 * time.
 */
void
nfs3_put_fsstat(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_fsstat *f = &res->fsstat;

	put_status(x, res);
	put_post(x, &res->post);
	if (res->status != NFS_OK)
		return;
	xdr_put_u64(x, f->tbytes);
	xdr_put_u64(x, f->fbytes);
	xdr_put_u64(x, f->abytes);
	xdr_put_u64(x, f->tfiles);
	xdr_put_u64(x, f->ffiles);
	xdr_put_u64(x, f->afiles);
	xdr_put_u32(x, 0);
}

/* FSINFO3res: RFC 1813, 3.3.19. */
void
nfs3_put_fsinfo(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_fsinfo *f = &res->fsinfo;

	put_status(x, res);
	put_post(x, &res->post);
	if (res->status != NFS_OK)
		return;
	xdr_put_u32(x, f->rtmax);
	xdr_put_u32(x, f->rtpref);
	xdr_put_u32(x, f->rtmult);
	xdr_put_u32(x, f->wtmax);
	xdr_put_u32(x, f->wtpref);
	xdr_put_u32(x, f->wtmult);
	xdr_put_u32(x, f->dtpref);
	xdr_put_u64(x, f->maxfilesize);
	put_time(x, &f->time_delta);
	xdr_put_u32(x, f->properties);
}

/* PATHCONF3res: RFC 1813, 3.3.20. */
void
nfs3_put_pathconf(struct xdr_out *x, const struct call_res *res)
{
	const struct nfs_pathconf *p = &res->pathconf;

	put_status(x, res);
	put_post(x, &res->post);
	if (res->status != NFS_OK)
		return;
	xdr_put_u32(x, p->linkmax);
	xdr_put_u32(x, p->name_max);
	xdr_put_bool(x, p->no_trunc);
	xdr_put_bool(x, p->chown_restricted);
	xdr_put_bool(x, p->case_insensitive);
	xdr_put_bool(x, p->case_preserving);
}

/* COMMIT3res: RFC 1813, 3.3.21. */
void
nfs3_put_commit(struct xdr_out *x, const struct call_res *res)
{
	put_status(x, res);
	put_wcc_data(x, &res->wcc);
	if (res->status == NFS_OK)
		xdr_put_u64(x, res->written.verf);
}
