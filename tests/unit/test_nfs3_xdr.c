/* SPDX-License-Identifier: ISC */
/*
 * The version 3 codec: fields in the RFC's order, refusal of illegal values,
 * and replies whose bytes were counted by hand.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/nfs3_xdr.h"
#include "tap.h"

static uint8_t buf[4096];
static struct xdr_out out;
static struct call_args args;
static struct call_res res;

static void
begin(void)
{
	xdr_out_init(&out, buf, sizeof(buf));
}

/* Appends words to the message. */
static void
words(size_t n, const uint32_t *w)
{
	size_t i;

	for (i = 0; i < n; i++)
		xdr_put_u32(&out, w[i]);
}
#define WORDS(...)                                                             \
	words(nitems(((uint32_t[]){ __VA_ARGS__ })),                           \
	    (uint32_t[]){ __VA_ARGS__ })

static void
put_handle(size_t len)
{
	uint8_t fh[64];

	memset(fh, 0x11, sizeof(fh));
	xdr_put_opaque(&out, fh, len);
}

/* Decodes the message. Is all of it consumed? */
static bool
decode(void (*get)(struct xdr_in *, struct call_args *))
{
	struct xdr_in in;

	memset(&args, 0, sizeof(args));
	xdr_in_init(&in, out.base, out.len);
	get(&in, &args);
	return !in.failed && in.left == 0;
}

/* Is every prefix of the message refused? */
static bool
prefixes_fail(void (*get)(struct xdr_in *, struct call_args *))
{
	struct xdr_in in;
	size_t len;

	for (len = 0; len < out.len; len++) {
		xdr_in_init(&in, out.base, len);
		get(&in, &args);
		if (!in.failed)
			return false;
	}
	return true;
}

static void
test_handles(void)
{
	static const struct fh zero;
	static const size_t lengths[] = { 0, 1, 10, 20, 31, 33, 63, 64 };
	size_t i;

	for (i = 0; i < nitems(lengths); i++) {
		begin();
		put_handle(lengths[i]);
		ok(decode(nfs3_get_object), "a handle of %zu bytes is legal",
		    lengths[i]);
		cmp_mem(&args.object, &zero, sizeof(zero),
		    "but becomes the zero handle");
	}
	begin();
	put_handle(32);
	ok(decode(nfs3_get_object) && args.object.bytes[31] == 0x11,
	    "a handle of 32 bytes is kept");
	begin();
	WORDS(65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	ok(!decode(nfs3_get_object), "a handle of 65 bytes is garbage");
	begin();
	WORDS(UINT32_MAX, 0);
	ok(!decode(nfs3_get_object), "a handle of 4 GiB is garbage");
}

static void
test_sattr(void)
{
	begin();
	put_handle(32);
	WORDS(1, 0644, 1, 7, 1, 8, 1, 0, 4096, 2, 100, 999999999, 1, 1, 5, 6);
	ok(decode(nfs3_get_setattr), "SETATTR of all fields");
	cmp_ok(args.setattr.sattr.mode, "==", 0644, "mode");
	cmp_ok(args.setattr.sattr.uid, "==", 7, "uid");
	cmp_ok(args.setattr.sattr.gid, "==", 8, "gid");
	cmp_ok(args.setattr.sattr.size, "==", 4096, "size");
	cmp_ok(args.setattr.sattr.set_atime, "==", NFS_CLIENT_TIME, "atime");
	cmp_ok(args.setattr.sattr.atime.tv_nsec, "==", 999999999,
	    "the nanoseconds of a time");
	cmp_ok(args.setattr.sattr.set_mtime, "==", NFS_SERVER_TIME, "mtime");
	cmp_ok(args.setattr.ctime.tv_nsec, "==", 6, "guard");
	cmp_ok(args.setattr.sattr.fault, "==", NFS_OK, "no error");
	ok(prefixes_fail(nfs3_get_setattr), "every prefix of it is refused");
	begin();
	put_handle(32);
	WORDS(0, 0, 0, 0, 2, 1, 1000000000, 0, 0);
	ok(decode(nfs3_get_setattr) && args.setattr.sattr.fault == NFSERR_INVAL,
	    "10^9 nanoseconds are an error of NFS, not garbage");
	begin();
	put_handle(32);
	WORDS(0, 0, 0, 0, 3, 0, 0);
	ok(!decode(nfs3_get_setattr), "time_how 3 is garbage");
	begin();
	put_handle(32);
	WORDS(2, 0, 0, 0, 0, 0, 0);
	ok(!decode(nfs3_get_setattr), "a boolean of 2 is garbage");
}

static void
test_make(void)
{
	begin();
	put_handle(32);
	xdr_put_string(&out, "new");
	WORDS(2, 0xaabbccdd, 0x11223344);
	ok(decode(nfs3_get_create) && args.make.how == NFS_EXCLUSIVE &&
		args.make.verf[1] == 0x11223344 && args.make.type == NFS_REG,
	    "exclusive CREATE has a verifier");
	is(args.make.at.name.str, "new", "exclusive CREATE has a name");
	begin();
	put_handle(32);
	xdr_put_string(&out, "new");
	WORDS(3, 0, 0);
	ok(!decode(nfs3_get_create), "createmode 3 is garbage");
	begin();
	put_handle(32);
	xdr_put_string(&out, "dev");
	WORDS(NFS_CHR, 0, 0, 0, 0, 0, 0, 4, 64);
	ok(decode(nfs3_get_mknod) && args.make.rdev_major == 4 &&
		args.make.rdev_minor == 64,
	    "MKNOD of a device has its number");
	begin();
	put_handle(32);
	xdr_put_string(&out, "dir");
	WORDS(NFS_DIR);
	ok(decode(nfs3_get_mknod) && args.make.type == NFS_DIR,
	    "MKNOD of a directory has no more arguments: the operation refuses it");
	begin();
	put_handle(32);
	xdr_put_string(&out, "x");
	WORDS(8);
	ok(!decode(nfs3_get_mknod), "type 8 is garbage");
	begin();
	put_handle(32);
	xdr_put_string(&out, "link");
	WORDS(0, 0, 0, 0, 0, 0);
	xdr_put_string(&out, "../target");
	ok(decode(nfs3_get_symlink) && args.make.target.len == 9,
	    "SYMLINK: attributes, then the text");
	ok(prefixes_fail(nfs3_get_symlink), "every prefix of it is refused");
}

static void
test_io(void)
{
	begin();
	put_handle(32);
	WORDS(0, 5, 3, 2);
	xdr_put_opaque(&out, "abc", 3);
	ok(decode(nfs3_get_write) && args.write.offset == 5 &&
		args.write.count == 3 && args.write.data.len == 3 &&
		args.write.stable == NFS_FILE_SYNC,
	    "WRITE");
	begin();
	put_handle(32);
	WORDS(0, 5, 3, 3, 0);
	ok(!decode(nfs3_get_write), "stable_how 3 is garbage");
	begin();
	put_handle(32);
	WORDS(0, 5, 3, 0, 0xfffffffd, 0);
	ok(!decode(nfs3_get_write), "a length that wraps is garbage");
	begin();
	put_handle(32);
	WORDS(1, 2, 3, 4, 512, 8192);
	ok(decode(nfs3_get_readdirplus) && args.readdir.cookie == 0x100000002 &&
		args.readdir.verf == 0x300000004 &&
		args.readdir.dircount == 512 && args.readdir.count == 8192,
	    "READDIRPLUS");
	begin();
	put_handle(32);
	WORDS(1, 2, 3, 4, 512);
	ok(decode(nfs3_get_readdir) && args.readdir.count == 512 &&
		args.readdir.dircount == UINT32_MAX,
	    "READDIR");
	begin();
	put_handle(32);
	xdr_put_string(&out, "a");
	put_handle(32);
	xdr_put_string(&out, "b");
	ok(decode(nfs3_get_rename) && args.rename.to.name.str[0] == 'b',
	    "RENAME");
	ok(prefixes_fail(nfs3_get_rename), "every prefix of it is refused");
}

/* Encodes a reply. Returns its length. */
static size_t
encode(void (*put)(struct xdr_out *, const struct call_res *))
{
	begin();
	put(&out, &res);
	return out.failed ? 0 : out.len;
}

static void
fill(void)
{
	memset(&res, 0, sizeof(res));
	res.post.has = res.wcc.after.has = res.wcc.has_before = true;
	res.post.attr = (struct nfs_attr){ .type = NFS_REG,
		.mode = 0644,
		.nlink = 2,
		.uid = 3,
		.gid = 4,
		.size = 0x500000006,
		.used = 7,
		.fsid = 8,
		.fileid = 9,
		.atime = { 10, 11 },
		.mtime = { 12, 13 },
		.ctime = { 14, 15 } };
	res.wcc.after.attr = res.post.attr;
}

static void
test_replies(void)
{
	static const uint8_t attr[84] = { [3] = 1,
		[6] = 1,
		[7] = 0xa4,
		[11] = 2,
		[15] = 3,
		[19] = 4,
		[23] = 5,
		[27] = 6,
		[35] = 7,
		[51] = 8,
		[59] = 9,
		[63] = 10,
		[67] = 11,
		[71] = 12,
		[75] = 13,
		[79] = 14,
		[83] = 15 };

	fill();
	cmp_ok(encode(nfs3_put_getattr), "==", 4 + 84, "GETATTR: 88 bytes");
	cmp_mem(buf + 4, attr, sizeof(attr), "fattr3 byte by byte");
	cmp_ok(encode(nfs3_put_wcc), "==", 4 + 28 + 88, "wcc_data: 116 bytes");
	cmp_ok(encode(nfs3_put_lookup), "==", 4 + 36 + 88 + 88, "LOOKUP");
	cmp_ok(encode(nfs3_put_access), "==", 4 + 88 + 4, "ACCESS");
	cmp_ok(encode(nfs3_put_made), "==", 4 + 40 + 88 + 116, "CREATE");
	cmp_ok(encode(nfs3_put_write), "==", 4 + 116 + 16, "WRITE");
	cmp_ok(encode(nfs3_put_commit), "==", 4 + 116 + 8, "COMMIT");
	cmp_ok(encode(nfs3_put_link), "==", 4 + 88 + 116, "LINK");
	cmp_ok(encode(nfs3_put_fsstat), "==", 4 + 88 + 52, "FSSTAT");
	cmp_ok(encode(nfs3_put_fsinfo), "==", 4 + 88 + 48, "FSINFO");
	cmp_ok(encode(nfs3_put_pathconf), "==", 4 + 88 + 24, "PATHCONF");
	cmp_ok(encode(nfs3_put_rename), "==", 4 + 116 + 8, "RENAME");
	res.status = NFSERR_NOENT;
	cmp_ok(encode(nfs3_put_getattr), "==", 4,
	    "a failed GETATTR is the status alone");
	cmp_ok(encode(nfs3_put_lookup), "==", 4 + 88,
	    "a failed LOOKUP has the directory's attributes");
	cmp_ok(encode(nfs3_put_made), "==", 4 + 116,
	    "a failed CREATE has wcc_data");
	cmp_ok(encode(nfs3_put_read), "==", 4 + 88,
	    "a failed READ has attributes");
}

static void
test_in_place(void)
{
	size_t at = nfs3_limits.read_at;

	fill();
	memcpy(buf + at, "hello", 5);
	res.data.data = (struct slice){ buf + at, 5 };
	res.data.eof = true;
	cmp_ok(encode(nfs3_put_read), "==", at + 8, "READ of 5 bytes");
	cmp_mem(buf + at - 12, "\0\0\0\5\0\0\0\1\0\0\0\5hello\0\0", 20,
	    "count, eof, length, data in place, zero padding");
}

static void
test_listing(void)
{
	struct nfs_dirent list[2] = { { .fileid = 2, .cookie = 3 },
		{ .fileid = 4, .cookie = 5, .has_fh = true } };
	const struct nfs_limits *l = &nfs3_limits;

	fill();
	list[0].name = (struct slice){ (const uint8_t *)"abc", 3 };
	list[1].name = (struct slice){ (const uint8_t *)"defgh", 5 };
	list[1].post.has = true;
	res.listing.list = list;
	res.listing.n = 2;
	cmp_ok(encode(nfs3_put_readdir),
	    "==", l->dir_uncounted + l->dir_head + 2 * l->dir_entry + 4 + 8,
	    "an entry of READDIR takes the bytes that the limits say");
	cmp_ok(encode(nfs3_put_readdirplus), "==",
	    l->dir_uncounted + l->dir_head + 2 * l->dir_entry + 4 + 8 +
		l->dir_plus + 8,
	    "so does one of READDIRPLUS, or less without attributes and handle");
	res.listing.n = 0;
	res.listing.eof = true;
	cmp_ok(encode(nfs3_put_readdir), "==", l->dir_uncounted + l->dir_head,
	    "an empty listing takes the bytes of its head");
}

int
main(void)
{
	plan(NO_PLAN);
	test_handles();
	test_sattr();
	test_make();
	test_io();
	test_replies();
	test_in_place();
	test_listing();
	done_testing();
}
