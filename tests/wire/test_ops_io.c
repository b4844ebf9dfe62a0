/* SPDX-License-Identifier: ISC */
/*
 * 100,000 random operations on one file, and as many on names, against a model.
 * Large transfers, holes and short files.
 * Links: nfsd
 * Runs in: test program.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "nfs_model.h"
#include "tap.h"

#define OPS 100000

static struct xdr_in
call(void *arg, uint32_t vers, uint32_t proc, const void *args, size_t len)
{
	return nfs_fixture_call(arg, vers, proc, 0, args, len);
}

static void
test_models(const char *setup, unsigned int ops)
{
	struct nfs_fixture *f = nfs_fixture_new(setup);
	struct nfs_model m = { .call = call, .arg = f, .seed = 1 };
	int beside;

	m.dir = nfs_fixture_handle(f, "sub");
	cmp_ok(nfs_model_data(&m, ops), "==", ops,
	    "%u operations on a file, no difference", ops);
	m.dir = nfs_fixture_handle(f, "empty");
	(void)mkdirat(nfs_fixture_dir(f), "beside", 0755);
	beside = openat(nfs_fixture_dir(f), "beside", O_RDONLY | O_CLOEXEC);
	cmp_ok(nfs_model_names(&m, beside, ops), "==", ops,
	    "%u operations on names, no difference", ops);
	close(beside);
	nfs_fixture_free(f);
}

static struct xdr_in
write_at(struct nfs_fixture *f, const struct fh *fh, uint64_t at,
    const uint8_t *data, size_t len)
{
	static uint8_t args[NFS_RECORD_MAX];
	struct xdr_out out;

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, fh->bytes, FH_SIZE);
	xdr_put_u64(&out, at);
	xdr_put_u32(&out, (uint32_t)len);
	xdr_put_u32(&out, NFS_UNSTABLE);
	xdr_put_opaque(&out, data, len);
	return nfs_fixture_call(f, 3, NFSPROC3_WRITE, 0, args, out.len);
}

static struct slice
read_at(struct nfs_fixture *f, const struct fh *fh, uint64_t at, uint32_t count,
    bool *eof)
{
	uint8_t args[64], attr[84];
	struct xdr_out out;
	struct xdr_in in;

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, fh->bytes, FH_SIZE);
	xdr_put_u64(&out, at);
	xdr_put_u32(&out, count);
	in = nfs_fixture_call(f, 3, NFSPROC3_READ, 0, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK || !xdr_get_bool(&in))
		return (struct slice){ NULL, 0 };
	xdr_get_fixed(&in, attr, sizeof(attr));
	(void)xdr_get_u32(&in);
	*eof = xdr_get_bool(&in);
	return xdr_get_opaque(&in, NFS_RECORD_MAX);
}

static void
test_large(void)
{
	static uint8_t data[NFS3_MAXDATA];
	struct nfs_fixture *f = nfs_fixture_new("");
	struct fh fh = nfs_fixture_handle(f, "file");
	struct xdr_in in;
	struct slice s;
	bool eof = true;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	in = write_at(f, &fh, 3, data, sizeof(data));
	cmp_ok(xdr_get_u32(&in), "==", NFS_OK, "writes 1 MiB at once");
	s = read_at(f, &fh, 3, NFS3_MAXDATA, &eof);
	ok(s.len == sizeof(data) && eof &&
		memcmp(s.data, data, sizeof(data)) == 0,
	    "reads it back at once, to the end");
	s = read_at(f, &fh, 0, UINT32_MAX, &eof);
	ok(s.len == sizeof(data) && !eof,
	    "a READ of more than 1 MiB gets 1 MiB");
	in = write_at(f, &fh, UINT64_C(1) << 40, data, 5);
	cmp_ok(xdr_get_u32(&in), "==", NFS_OK, "writes behind a terabyte");
	s = read_at(f, &fh, UINT64_C(1) << 39, 4096, &eof);
	ok(s.len == 4096 && !eof && s.data[0] == 0,
	    "reads zeros from the hole before it");
	s = read_at(f, &fh, (UINT64_C(1) << 40) + 4, 100, &eof);
	ok(s.len == 1 && eof && s.data[0] == data[4], "reads the last byte");
	nfs_fixture_free(f);
}

int
main(void)
{
	plan(NO_PLAN);
	test_models("", OPS);
	test_models("disk", getenv("LONG") != NULL ? OPS : OPS / 50);
	test_large();
	done_testing();
}
