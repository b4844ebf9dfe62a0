/* SPDX-License-Identifier: ISC */
/*
 * Listings show every entry once, in replies no larger than the client asked
 * for, while other processes make and remove entries. Both versions are tested,
 * on a filesystem whose positions are hashes (ext4, if /tmp is one) and on
 * tmpfs.
 * Links: nfsd
 * Runs in: test program.
 */
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include <linux/magic.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "nfsd/door/state.h"
#include "tap.h"

#define NAMES_MAX 210000

struct listing {
	struct nfs_fixture *f;
	struct fh dir;
	uint32_t proc, vers, uid;
	uint32_t count;
	uint64_t cookie;
	bool eof;
	uint32_t status;
	size_t got; /* entries of the last reply */
	size_t most; /* bytes of the largest reply, as count counts them */
	size_t handles, attrs;
	uint32_t numbers[4096]; /* "n<number>" of the last reply */
	size_t n;
	struct fh last; /* of READDIRPLUS */
	uint64_t last_id;
};

static uint8_t seen[NAMES_MAX];
static unsigned int dots;

static void
put_args(struct xdr_out *out, const struct listing *l)
{
	if (l->vers == 2) {
		xdr_put_fixed(out, l->dir.bytes, FH_SIZE);
		xdr_put_u32(out, (uint32_t)l->cookie);
	} else {
		xdr_put_opaque(out, l->dir.bytes, FH_SIZE);
		xdr_put_u64(out, l->cookie);
		xdr_put_u64(out, 0);
	}
	if (l->proc == NFSPROC3_READDIRPLUS)
		xdr_put_u32(out, l->count);
	xdr_put_u32(out, l->count);
}

/* Counts a dot, or a name "n<number>" that the test made. */
static void
see(struct listing *l, struct slice name)
{
	char text[256];

	if (name.len >= sizeof(text))
		return;
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	if (text[0] == '.')
		dots++;
	if (text[0] != 'n')
		return;
	l->numbers[l->n] = (uint32_t)strtoul(text + 1, NULL, 10);
	seen[l->numbers[l->n++]]++;
}

static void
get_plus(struct listing *l, struct xdr_in *in, uint64_t fileid)
{
	struct slice fh;

	if (xdr_get_bool(in)) {
		uint8_t attr[84];

		xdr_get_fixed(in, attr, sizeof(attr));
		l->attrs++;
	}
	if (!xdr_get_bool(in))
		return;
	fh = xdr_get_opaque(in, FH_SIZE);
	if (fh.len == FH_SIZE) {
		memcpy(l->last.bytes, fh.data, FH_SIZE);
		l->last_id = fileid;
		l->handles++;
	}
}

static void
get_entry(struct listing *l, struct xdr_in *in)
{
	uint64_t fileid;

	fileid = l->vers == 2 ? xdr_get_u32(in) : xdr_get_u64(in);
	see(l, xdr_get_opaque(in, 255));
	l->cookie = l->vers == 2 ? xdr_get_u32(in) : xdr_get_u64(in);
	if (l->proc == NFSPROC3_READDIRPLUS)
		get_plus(l, in, fileid);
	l->got++;
}

/* One call. Returns false at the end or after an error. */
static bool
go_on(struct listing *l)
{
	uint8_t args[128], attr[84];
	struct xdr_out out;
	struct xdr_in in;
	size_t size;

	xdr_out_init(&out, args, sizeof(args));
	put_args(&out, l);
	in = nfs_fixture_call(l->f, l->vers,
	    l->vers == 2 ? (uint32_t)NFSPROC2_READDIR : l->proc, l->uid, args,
	    out.len);
	size = l->vers == 2 ? in.left + RPC_REPLY_HEADER : in.left - 4;
	l->status = xdr_get_u32(&in);
	l->n = l->got = 0;
	if (l->vers == 3 && xdr_get_bool(&in))
		xdr_get_fixed(&in, attr, sizeof(attr));
	if (l->status != NFS_OK)
		return false;
	if (l->vers == 3)
		(void)xdr_get_u64(&in);
	while (xdr_get_bool(&in))
		get_entry(l, &in);
	l->eof = xdr_get_bool(&in);
	if (size > l->most)
		l->most = size;
	if (in.failed || in.left != 0)
		l->status = UINT32_MAX;
	return l->status == NFS_OK && !l->eof && l->got > 0;
}

static struct listing
start(struct nfs_fixture *f, uint32_t vers, uint32_t proc, uint32_t count)
{
	struct listing l = { .f = f, .vers = vers, .proc = proc };

	l.dir = nfs_fixture_handle(f, "empty");
	l.count = count;
	memset(seen, 0, sizeof(seen));
	dots = 0;
	return l;
}

static int
directory(struct nfs_fixture *f)
{
	return openat(nfs_fixture_dir(f), "empty", O_RDONLY | O_CLOEXEC);
}

static void
create(int dir, unsigned int number)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "n%u", number);
	close(openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static void
discard(int dir, unsigned int number)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "n%u", number);
	(void)unlinkat(dir, name, 0);
}

static void
create_many(int dir, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		create(dir, from);
}

/* How many numbers from..to were not seen exactly once. */
static unsigned int
wrong(unsigned int from, unsigned int to)
{
	unsigned int n = 0;

	for (; from < to; from++)
		n += seen[from] != 1;
	return n;
}

/* The whole directory with replies of count bytes. */
static void
test_whole(struct nfs_fixture *f, uint32_t vers, uint32_t proc, uint32_t count,
    unsigned int n)
{
	struct listing l = start(f, vers, proc, count);

	while (go_on(&l))
		;
	ok(l.status == NFS_OK && l.eof, "version %u, %u bytes: to the end",
	    vers, count);
	cmp_ok(wrong(0, n), "==", 0, "each of %u entries once", n);
	cmp_ok(dots, "==", 2, "and both dots");
	cmp_ok(l.most, "<=", count, "no reply was larger than asked for");
	if (proc == NFSPROC3_READDIRPLUS)
		ok(l.handles == n + 2 && l.attrs == n + 2,
		    "every entry has a handle and attributes");
}

/* Lists the directory. Returns how often it saw the number. */
static unsigned int
sightings(struct nfs_fixture *f, unsigned int number)
{
	struct listing l = start(f, 3, NFSPROC3_READDIRPLUS, 8192);

	while (go_on(&l))
		;
	return l.status == NFS_OK && l.eof ? seen[number] : UINT32_MAX;
}

/*
 * Waits until the next change must change the ctime: only then is a listing
 * cached.
 */
static void
wait_settled(int dir)
{
	struct stat st;

	do
		(void)fstat(dir, &st);
	while (!door_settled(&st.st_ctim));
}

/* Lists the unchanged directory twice: the second time from the cache. */
static unsigned int
sightings_twice(struct nfs_fixture *f, int dir, unsigned int number)
{
	uint64_t recalled;
	unsigned int first;

	wait_settled(dir);
	first = sightings(f, number);
	recalled = nfs_fixture_recalled(f);
	if (sightings(f, number) != first ||
	    nfs_fixture_recalled(f) == recalled)
		return UINT32_MAX;
	return first;
}

/* A change of a directory invalidates its cached listing. */
static void
test_remembered(struct nfs_fixture *f, int dir, unsigned int n)
{
	unsigned int i, wrong_ones = 0;
	char from[16], to[16];

	for (i = 0; i < 10; i++) {
		wrong_ones +=
		    sightings_twice(f, dir, i) != 1 || wrong(0, n) != 0;
		discard(dir, i);
		wrong_ones += sightings(f, i) != 0;
		create(dir, i);
		wrong_ones += sightings(f, i) != 1 || wrong(0, n) != 0;
		wrong_ones += sightings_twice(f, dir, i) != 1;
		(void)snprintf(from, sizeof(from), "n%u", i);
		(void)snprintf(to, sizeof(to), "n%u", n);
		(void)renameat(dir, from, dir, to);
		wrong_ones += sightings(f, i) != 0 || seen[n] != 1;
		(void)renameat(dir, to, dir, from);
		wrong_ones += sightings(f, i) != 1 || seen[n] != 0;
	}
	cmp_ok(wrong_ones, "==", 0, "changes are seen at once, %u entries", n);
}

/* A caller without permission gets nothing from the cache either. */
static void
test_guarded(struct nfs_fixture *f, int dir)
{
	struct listing l;

	(void)fchmod(dir, 0700);
	(void)sightings_twice(f, dir, 0);
	l = start(f, 3, NFSPROC3_READDIRPLUS, 8192);
	l.uid = 1000;
	(void)go_on(&l);
	cmp_ok(l.status, "==", NFSERR_ACCES,
	    "a cached listing is refused to a caller without permission");
	(void)fchmod(dir, 0777);
}

/* As rm -r: the entries of a reply are removed before the next call. */
static void
test_remove(struct nfs_fixture *f, uint32_t vers, unsigned int n)
{
	struct listing l = start(f, vers, NFSPROC3_READDIR, 1024);
	int dir = directory(f);
	size_t i;
	bool more;

	do {
		more = go_on(&l);
		for (i = 0; i < l.n; i++)
			discard(dir, l.numbers[i]);
	} while (more);
	ok(l.status == NFS_OK && l.eof, "version %u: rm -r gets to the end",
	    vers);
	cmp_ok(wrong(0, n), "==", 0, "having seen each of %u entries once", n);
	close(dir);
}

/*
 * Entries below n stay. Those above come and go between the calls, and among
 * them are entries that a cookie points behind.
 */
static void
test_busy(struct nfs_fixture *f, uint32_t vers, uint32_t count, unsigned int n)
{
	struct listing l = start(f, vers, NFSPROC3_READDIR, count);
	unsigned int next = n, i;
	int dir = directory(f);
	size_t k;

	srandom(n);
	while (go_on(&l)) {
		for (i = 0; i < 20 && next < NAMES_MAX; i++)
			create(dir, next++);
		for (i = 0; i < 10; i++)
			discard(dir, n + (unsigned int)random() % (next - n));
		for (k = 0; k < l.n; k++)
			if (l.numbers[k] >= n)
				discard(dir, l.numbers[k]);
	}
	ok(l.status == NFS_OK && l.eof, "version %u: a busy directory ends",
	    vers);
	cmp_ok(wrong(0, n), "==", 0,
	    "each of %u entries that stayed was seen once", n);
	for (i = 0, k = 0; i < NAMES_MAX; i++)
		k += seen[i] > 1;
	cmp_ok(k, "==", 0, "none of the others was seen twice");
	for (i = n; i < next; i++)
		discard(dir, i);
	close(dir);
}

static void
test_sizes(struct nfs_fixture *f)
{
	struct listing l;
	uint32_t count;
	unsigned int n = 0;

	for (count = 0; count < 700; count++) {
		l = start(f, 3, NFSPROC3_READDIR, count);
		(void)go_on(&l);
		n += l.status == NFS_OK ? l.got == 0 || l.most > count :
					  l.status != NFSERR_TOOSMALL;
		l = start(f, 3, NFSPROC3_READDIRPLUS, count);
		(void)go_on(&l);
		n += l.status == NFS_OK ? l.got == 0 || l.most > count :
					  l.status != NFSERR_TOOSMALL;
	}
	cmp_ok(n, "==", 0,
	    "every count from 0 to 699 is kept or gets TOOSMALL");
}

/* A handle from READDIRPLUS is valid. */
static void
test_handle(struct nfs_fixture *f)
{
	struct listing l = start(f, 3, NFSPROC3_READDIRPLUS, 65536);
	uint8_t args[64], skipped[52];
	struct xdr_out out;
	struct xdr_in in;

	(void)go_on(&l);
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, l.last.bytes, FH_SIZE);
	in = nfs_fixture_call(f, 3, NFSPROC3_GETATTR, 0, args, out.len);
	cmp_ok(xdr_get_u32(&in), "==", NFS_OK,
	    "GETATTR of a handle from READDIRPLUS");
	xdr_get_fixed(&in, skipped, sizeof(skipped));
	cmp_ok(xdr_get_u64(&in), "==", l.last_id, "is of the same file");
}

/* LOOKUP of a name. Returns the inode number of the file, or 0. */
static uint64_t
look_up(struct nfs_fixture *f, const struct fh *dir, const char *name)
{
	uint8_t args[96], skipped[52];
	struct slice fh;
	struct xdr_out out;
	struct xdr_in in;

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, dir->bytes, FH_SIZE);
	xdr_put_opaque(&out, name, strlen(name));
	in = nfs_fixture_call(f, 3, NFSPROC3_LOOKUP, 0, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK)
		return 0;
	fh = xdr_get_opaque(&in, FH_SIZE);
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, fh.data, fh.len);
	in = nfs_fixture_call(f, 3, NFSPROC3_GETATTR, 0, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK)
		return 0;
	xdr_get_fixed(&in, skipped, sizeof(skipped));
	return xdr_get_u64(&in);
}

/* Looks names up in random order while some of them change to other files. */
static void
test_lookups(struct nfs_fixture *f, int dir, unsigned int n)
{
	struct fh fh = nfs_fixture_handle(f, "empty");
	unsigned int i, number, wrong_ones = 0;
	struct stat st;
	char name[16];

	for (i = 0; i < n; i++) {
		number = i * 7919 % n;
		(void)snprintf(name, sizeof(name), "n%u", number);
		if (i % 5 == 0) {
			discard(dir, number);
			create(dir, n + number); /* may get its inode */
			create(dir, number);
			discard(dir, n + number);
		}
		wrong_ones += fstatat(dir, name, &st, 0) == -1 ||
		    look_up(f, &fh, name) != st.st_ino;
	}
	cmp_ok(wrong_ones, "==", 0,
	    "LOOKUP of %u names finds the current files", n);
	ok(look_up(f, &fh, "n9999999") == 0,
	    "LOOKUP of a missing name finds none");
}

/* Before Linux 6.6, positions on tmpfs move when names are removed. */
static bool
has_lasting_positions(int dir)
{
	struct statfs fs;
	struct utsname kernel;

	return fstatfs(dir, &fs) == -1 || fs.f_type != TMPFS_MAGIC ||
	    uname(&kernel) == -1 || strverscmp(kernel.release, "6.6") >= 0;
}

/* Names come and go while they are listed. */
static void
test_changes(struct nfs_fixture *f, int dir, unsigned int n)
{
	skip(!has_lasting_positions(dir), 10, "tmpfs before Linux 6.6");
	test_busy(f, 3, 2048, n);
	test_busy(f, 2, 2048, n);
	test_remove(f, 3, n);
	create_many(dir, 0, n);
	test_remove(f, 2, n);
	end_skip;
}

static void
test_all(const char *setup, unsigned int n)
{
	struct nfs_fixture *f = nfs_fixture_new(setup);
	int dir = directory(f);

	create_many(dir, 0, n);
	test_lookups(f, dir, n);
	test_whole(f, 3, NFSPROC3_READDIR, 512, n);
	test_whole(f, 3, NFSPROC3_READDIR, 65536, n);
	test_whole(f, 3, NFSPROC3_READDIRPLUS, 8192, n);
	test_whole(f, 3, NFSPROC3_READDIRPLUS, 65536, n);
	test_whole(f, 2, NFSPROC3_READDIR, 512, n);
	test_whole(f, 2, NFSPROC3_READDIR, 8192, n);
	test_remembered(f, dir, n);
	if (geteuid() == 0)
		test_guarded(f, dir);
	test_sizes(f);
	test_handle(f);
	test_changes(f, dir, n);
	close(dir);
	nfs_fixture_free(f);
}

int
main(void)
{
	struct nfs_fixture *f;
	unsigned int n = getenv("LONG") != NULL ? 200000 : 40000;
	int dir;

	plan(NO_PLAN);
	test_all("", 3000);
	test_all("disk", 3000);
	f = nfs_fixture_new(getenv("LONG") != NULL ? "disk" : "");
	dir = directory(f);
	create_many(dir, 0, n);
	skip(!has_lasting_positions(dir), 6, "tmpfs before Linux 6.6");
	test_busy(f, 3, 32768, n);
	test_busy(f, 2, 8192, n);
	end_skip;
	close(dir);
	nfs_fixture_free(f);
	done_testing();
}
