/* SPDX-License-Identifier: ISC */
/*
 * The version 2 codec: its conventions (-1, one million microseconds, special
 * files by CREATE) and the values it cannot express.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/nfs2_xdr.h"
#include "tap.h"

#define NO UINT32_MAX

static uint8_t buf[4096];
static struct xdr_out out;
static struct call_args args;
static struct call_res res;

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
begin(void)
{
	uint8_t fh[32];

	memset(fh, 0x11, sizeof(fh));
	xdr_out_init(&out, buf, sizeof(buf));
	xdr_put_fixed(&out, fh, sizeof(fh));
}

static bool
decode(void (*get)(struct xdr_in *, struct call_args *))
{
	struct xdr_in in;

	memset(&args, 0, sizeof(args));
	xdr_in_init(&in, out.base, out.len);
	get(&in, &args);
	return !in.failed && in.left == 0;
}

static void
test_sattr(void)
{
	const struct nfs_sattr *s = &args.setattr.sattr;

	begin();
	WORDS(NO, NO, NO, NO, NO, NO, NO, NO);
	ok(decode(nfs2_get_setattr), "SETATTR with -1 in all fields");
	ok(!s->set_mode && !s->set_uid && !s->set_gid && !s->set_size &&
		s->set_atime == NFS_KEEP_TIME && s->set_mtime == NFS_KEEP_TIME,
	    "-1 means no change");
	begin();
	WORDS(0xffff, 0, 0, 0, 1, 2, 3, 999999);
	ok(decode(nfs2_get_setattr) && !s->set_mode,
	    "a 16-bit -1 is no mode either");
	ok(s->set_uid && s->set_gid && s->set_size && s->size == 0,
	    "zero is a value");
	ok(s->set_mtime == NFS_CLIENT_TIME && s->mtime.tv_nsec == 999999000,
	    "microseconds");
	begin();
	WORDS(0100644, NO, NO, NO, NO, NO, 5, 1000000);
	ok(decode(nfs2_get_setattr) && s->mode == 0644,
	    "the mode loses its type");
	ok(s->set_mtime == NFS_SERVER_TIME && s->set_atime == NFS_SERVER_TIME,
	    "one million microseconds set both times to the server's");
	begin();
	WORDS(NO, NO, NO, NO, 1, 1000001, NO, NO);
	ok(decode(nfs2_get_setattr) && s->fault == NFSERR_INVAL,
	    "more than a million microseconds are an error");
}

/* CREATE with a mode and a size. */
static enum nfs_ftype
create(uint32_t mode, uint32_t size)
{
	begin();
	xdr_put_string(&out, "new");
	WORDS(mode, NO, NO, size, NO, NO, NO, NO);
	return decode(nfs2_get_create) ? args.make.type : NFS_NONE;
}

static void
test_create(void)
{
	cmp_ok(create(0644, 0), "==", NFS_REG, "a mode without type is a file");
	ok(args.make.how == NFS_UNCHECKED && args.make.sattr.set_size,
	    "unchecked, with size 0");
	cmp_ok(create(0100644, NO), "==", NFS_REG, "S_IFREG is a file");
	cmp_ok(create(NO, NO), "==", NFS_REG, "no mode is a file");
	cmp_ok(create(0020644, 0x00100501), "==", NFS_CHR,
	    "S_IFCHR is a device");
	ok(args.make.rdev_major == 5 && args.make.rdev_minor == 0x101,
	    "a device has its number in the size");
	ok(!args.make.sattr.set_size, "and no size then");
	cmp_ok(create(0020644, NO), "==", NFS_FIFO,
	    "a character device without number is a fifo");
	cmp_ok(create(0010644, NO), "==", NFS_FIFO, "S_IFIFO is a fifo");
	cmp_ok(create(0140644, NO), "==", NFS_SOCK, "a socket");
	cmp_ok(create(0170000, NO), "==", NFS_NONE, "unknown type bits");
}

static void
test_write(void)
{
	begin();
	WORDS(1, 2, 3);
	xdr_put_opaque(&out, "abcd", 4);
	ok(decode(nfs2_get_write) && args.write.offset == 2 &&
		args.write.count == 4 && args.write.stable == NFS_FILE_SYNC,
	    "WRITE has its offset and the length of the data, and is stable");
	begin();
	WORDS(0, 0, 0, 0xfffffffd);
	ok(!decode(nfs2_get_write), "a length that wraps is garbage");
	begin();
	WORDS(0, 0, 0, 8193);
	out.len += 8196 <= sizeof(buf) - out.len ? 8196 : 0;
	ok(!decode(nfs2_get_write), "more than 8192 bytes are garbage");
}

static size_t
encode(void (*put)(struct xdr_out *, const struct call_res *))
{
	xdr_out_init(&out, buf, sizeof(buf));
	put(&out, &res);
	return out.failed ? 0 : out.len;
}

static uint32_t
word(size_t at)
{
	struct xdr_in in;

	xdr_in_init(&in, buf + at, 4);
	return xdr_get_u32(&in);
}

static void
test_attr(void)
{
	memset(&res, 0, sizeof(res));
	res.post.has = true;
	res.post.attr = (struct nfs_attr){ .type = NFS_REG,
		.mode = 0644,
		.size = UINT32_MAX,
		.used = 1024,
		.fileid = 0x100000001,
		.mtime = { -5, 999999999 } };
	cmp_ok(encode(nfs2_put_getattr), "==", 4 + 68, "attrstat: 72 bytes");
	cmp_ok(word(8), "==", 0100644, "the mode has its type");
	cmp_ok(word(4 + 20), "==", UINT32_MAX, "a size of 4 GiB - 1 fits");
	cmp_ok(word(4 + 32), "==", 2, "blocks of 512 bytes");
	cmp_ok(word(4 + 40), "==", 0, "a 64-bit fileid is folded");
	cmp_ok(word(4 + 52), "==", 0, "a time before 1970 becomes 1970");
	cmp_ok(word(4 + 56), "==", 999999, "microseconds");
	res.post.attr.size++;
	cmp_ok(encode(nfs2_put_getattr), "==", 4,
	    "a size of 4 GiB does not fit");
	cmp_ok(word(0), "==", NFSERR_FBIG, "it gets FBIG, not 0");
	cmp_ok(encode(nfs2_put_dirop), "==", 4, "LOOKUP of it gets FBIG too");
	res.post.attr.size = 0;
	cmp_ok(encode(nfs2_put_dirop), "==", 4 + 32 + 68, "diropres");
	res.no_fh = true;
	cmp_ok(encode(nfs2_put_dirop), "==", 4,
	    "a handle that is missing is an error, not zeros");
	res.no_fh = false;
	res.post.attr.type = NFS_FIFO;
	encode(nfs2_put_getattr);
	ok(word(4) == 4 && word(8) == 0010644 && word(4 + 28) == NO,
	    "a fifo is a character device without number");
	res.post.has = false;
	encode(nfs2_put_getattr);
	cmp_ok(word(0), "==", NFSERR_IO,
	    "a result without attributes is not a success");
	res.status = NFSERR_BADHANDLE;
	ok(encode(nfs2_put_changed) == 4 && word(0) == NFSERR_STALE,
	    "a status of version 3 is folded");
}

static void
test_others(void)
{
	struct nfs_dirent entry = { .fileid = 2, .cookie = 3 };
	size_t at = nfs2_limits.read_at;

	memset(&res, 0, sizeof(res));
	res.post.has = true;
	memcpy(buf + at, "hello", 5);
	res.data.data = (struct slice){ buf + at, 5 };
	cmp_ok(encode(nfs2_put_read), "==", at + 8, "READ of 5 bytes");
	cmp_mem(buf + at - 4, "\0\0\0\5hello\0\0", 12,
	    "its data is in place and padded");
	res.data.data.len = 1025;
	ok(encode(nfs2_put_readlink) == 4 && word(0) == NFSERR_NAMETOOLONG,
	    "a link of more than 1024 bytes does not fit");
	memset(&res, 0, sizeof(res));
	entry.name = (struct slice){ (const uint8_t *)"abcde", 5 };
	res.listing.list = &entry;
	res.listing.n = 1;
	cmp_ok(encode(nfs2_put_readdir) + RPC_REPLY_HEADER,
	    "==", nfs2_limits.dir_head + nfs2_limits.dir_entry + 8,
	    "an entry of READDIR takes the bytes that the limits say, header included");
	memset(&res, 0, sizeof(res));
	res.fsstat = (struct nfs_fsstat){ .block = 4096,
		.tbytes = 1ULL << 50,
		.fbytes = 1ULL << 49,
		.abytes = 0 };
	cmp_ok(encode(nfs2_put_statfs), "==", 24, "STATFS");
	ok((uint64_t)word(8) * word(12) == 1ULL << 50 &&
		word(12) <= INT32_MAX && word(16) == word(12) / 2,
	    "STATFS of a petabyte fits 31 bits by larger blocks");
}

int
main(void)
{
	plan(NO_PLAN);
	test_sattr();
	test_create();
	test_write();
	test_attr();
	test_others();
	done_testing();
}
