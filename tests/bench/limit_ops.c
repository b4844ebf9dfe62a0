/* SPDX-License-Identifier: ISC */
/*
 * The operations of the limit server: version 3, and MNT. A handle is an index
 * into a table of directory, name and, after the first use, descriptor.
 * Runs in: make bench.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "limit.h"
#include "rpc/rpc.h"
#include "rpc/xdr.h"

#define NODES_MAX 65536
#define NAME_LEN  32
#define DENTS	  32768

struct node {
	uint32_t dir;
	int fd; /* -1: not opened yet */
	char name[NAME_LEN];
};

static struct node nodes[NODES_MAX];
static uint32_t table[NODES_MAX * 2];
static uint32_t nnodes;
static bool synced;

int
limit_ops_init(const char *dir, bool sync)
{
	synced = sync;
	nodes[0].fd = open(dir, O_RDONLY | O_DIRECTORY);
	nnodes = 1;
	return nodes[0].fd == -1 ? -1 : 0;
}

/* The index of this name, which is added if it is new. */
static uint32_t
node_of(uint32_t dir, const char *name)
{
	uint32_t h = dir * 2654435761u, i;
	const char *p;

	for (p = name; *p != '\0'; p++)
		h = (h ^ (uint8_t)*p) * 16777619u;
	for (i = h % nitems(table); table[i] != 0; i = (i + 1) % nitems(table))
		if (nodes[table[i]].dir == dir &&
		    strcmp(nodes[table[i]].name, name) == 0)
			return table[i];
	if (nnodes == NODES_MAX)
		return 0;
	nodes[nnodes] = (struct node){ .dir = dir, .fd = -1 };
	snprintf(nodes[nnodes].name, NAME_LEN, "%s", name);
	table[i] = nnodes;
	return nnodes++;
}

static int
fd_of(uint32_t n)
{
	struct node *node = &nodes[n];

	if (node->fd == -1) {
		node->fd = openat(fd_of(node->dir), node->name, O_RDWR);
		if (node->fd == -1 && errno == EISDIR)
			node->fd = openat(fd_of(node->dir), node->name,
			    O_RDONLY | O_DIRECTORY);
	}
	return node->fd;
}

static uint32_t
get_fh(struct xdr_in *x)
{
	struct slice s = xdr_get_opaque(x, 64);
	uint32_t n = 0;

	if (s.len == 32)
		memcpy(&n, s.data, 4);
	return n < nnodes ? n : 0;
}

static void
put_fh(struct xdr_out *x, uint32_t n)
{
	uint8_t fh[32] = { 0 };

	memcpy(fh, &n, 4);
	xdr_put_opaque(x, fh, sizeof(fh));
}

static void
get_name(struct xdr_in *x, char out[NAME_LEN])
{
	struct slice s = xdr_get_opaque(x, NAME_LEN - 1);

	memcpy(out, s.data, s.len);
	out[s.len] = '\0';
}

static void
put_time(struct xdr_out *x, const struct timespec *t)
{
	xdr_put_u32(x, (uint32_t)t->tv_sec);
	xdr_put_u32(x, (uint32_t)t->tv_nsec);
}

static void
put_fattr(struct xdr_out *x, const struct stat *st)
{
	xdr_put_u32(x, S_ISDIR(st->st_mode) ? 2 : 1);
	xdr_put_u32(x, st->st_mode & 07777);
	xdr_put_u32(x, (uint32_t)st->st_nlink);
	xdr_put_u32(x, st->st_uid);
	xdr_put_u32(x, st->st_gid);
	xdr_put_u64(x, (uint64_t)st->st_size);
	xdr_put_u64(x, (uint64_t)st->st_blocks * 512);
	xdr_put_u64(x, 0);
	xdr_put_u64(x, st->st_dev);
	xdr_put_u64(x, st->st_ino);
	put_time(x, &st->st_atim);
	put_time(x, &st->st_mtim);
	put_time(x, &st->st_ctim);
}

static void
put_post(struct xdr_out *x, uint32_t n)
{
	struct stat st;

	if (fstat(fd_of(n), &st) == -1) {
		xdr_put_bool(x, false);
		return;
	}
	xdr_put_bool(x, true);
	put_fattr(x, &st);
}

static void
put_wcc(struct xdr_out *x, uint32_t n)
{
	xdr_put_bool(x, false);
	put_post(x, n);
}

/* After a change of this object's names or attributes. */
static void
put_changed(struct xdr_out *x, uint32_t n)
{
	if (synced)
		fsync(fd_of(n));
	put_wcc(x, n);
}

static void
p_null(struct xdr_in *in, struct xdr_out *out)
{
	(void)in;
	(void)out;
}

static void
p_getattr(struct xdr_in *in, struct xdr_out *out)
{
	struct stat st;

	fstat(fd_of(get_fh(in)), &st);
	xdr_put_u32(out, 0);
	put_fattr(out, &st);
}

static void
p_setattr(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in);

	if (xdr_get_bool(in))
		fchmod(fd_of(n), xdr_get_u32(in));
	xdr_put_u32(out, 0);
	put_changed(out, n);
}

static void
p_lookup(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t dir = get_fh(in);
	char name[NAME_LEN];
	struct stat st;

	get_name(in, name);
	if (fstatat(fd_of(dir), name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		xdr_put_u32(out, 2);
		put_post(out, dir);
		return;
	}
	xdr_put_u32(out, 0);
	put_fh(out, node_of(dir, name));
	xdr_put_bool(out, true);
	put_fattr(out, &st);
	put_post(out, dir);
}

static void
p_access(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in), want = xdr_get_u32(in);

	xdr_put_u32(out, 0);
	put_post(out, n);
	xdr_put_u32(out, want);
}

static void
p_read(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in), count;
	off_t at = (off_t)xdr_get_u64(in);
	size_t lengths;
	ssize_t got;

	count = xdr_get_u32(in);
	xdr_put_u32(out, 0);
	put_post(out, n);
	lengths = out->len;
	got = pread(fd_of(n), out->base + lengths + 12, count, at);
	if (got < 0)
		got = 0;
	xdr_put_u32(out, (uint32_t)got);
	xdr_put_bool(out, (uint32_t)got < count);
	xdr_put_opaque(out, out->base + lengths + 12, (size_t)got);
}

static void
p_write(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in), stable;
	off_t at = (off_t)xdr_get_u64(in);
	struct slice data;

	xdr_get_u32(in);
	stable = xdr_get_u32(in);
	data = xdr_get_opaque(in, 1u << 20);
	if (pwrite(fd_of(n), data.data, data.len, at) != (ssize_t)data.len ||
	    (stable == 2 && fdatasync(fd_of(n)) == -1)) {
		xdr_put_u32(out, 5);
		put_wcc(out, n);
		return;
	}
	xdr_put_u32(out, 0);
	put_wcc(out, n);
	xdr_put_u32(out, (uint32_t)data.len);
	xdr_put_u32(out, stable);
	xdr_put_u64(out, 0);
}

static void
p_create(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t dir = get_fh(in), n;
	char name[NAME_LEN];

	get_name(in, name);
	n = node_of(dir, name);
	if (nodes[n].fd != -1)
		close(nodes[n].fd);
	nodes[n].fd = openat(fd_of(dir), name, O_RDWR | O_CREAT, 0644);
	xdr_put_u32(out, nodes[n].fd == -1 ? 5 : 0);
	if (nodes[n].fd != -1) {
		xdr_put_bool(out, true);
		put_fh(out, n);
		put_post(out, n);
	}
	put_changed(out, dir);
}

static void
p_remove(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t dir = get_fh(in), n;
	char name[NAME_LEN];

	get_name(in, name);
	n = node_of(dir, name);
	if (nodes[n].fd != -1)
		close(nodes[n].fd);
	nodes[n].fd = -1;
	xdr_put_u32(out, unlinkat(fd_of(dir), name, 0) == -1 ? 2 : 0);
	put_changed(out, dir);
}

static void
p_rename(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t from = get_fh(in), to;
	char name[NAME_LEN], new[NAME_LEN];

	get_name(in, name);
	to = get_fh(in);
	get_name(in, new);
	xdr_put_u32(out,
	    renameat(fd_of(from), name, fd_of(to), new) == -1 ? 2 : 0);
	put_changed(out, from);
	if (to == from)
		put_wcc(out, to);
	else
		put_changed(out, to);
}

/* READDIRPLUS: one getdents, one fstatat for each entry. */
static void
p_list(struct xdr_in *in, struct xdr_out *out)
{
	static uint8_t dents[DENTS];
	uint32_t dir = get_fh(in);
	off_t cookie = (off_t)xdr_get_u64(in);
	ssize_t n, at = 0;
	struct stat st;
	size_t start = out->len, max;

	xdr_get_u64(in);
	xdr_get_u32(in);
	max = xdr_get_u32(in);
	xdr_put_u32(out, 0);
	put_post(out, dir);
	xdr_put_u64(out, 0);
	lseek(fd_of(dir), cookie, SEEK_SET);
	n = getdents64(fd_of(dir), dents, sizeof(dents));
	while (at < n && out->len - start + 200 < max) {
		const struct dirent64 *e = (void *)(dents + at);

		at += e->d_reclen;
		if (fstatat(fd_of(dir), e->d_name, &st, 0) == -1)
			continue;
		xdr_put_bool(out, true);
		xdr_put_u64(out, e->d_ino);
		xdr_put_string(out, e->d_name);
		xdr_put_u64(out, (uint64_t)e->d_off);
		xdr_put_bool(out, true);
		put_fattr(out, &st);
		xdr_put_bool(out, true);
		put_fh(out, node_of(dir, e->d_name));
	}
	xdr_put_bool(out, false);
	/* All entries fit: was that the end? */
	xdr_put_bool(out,
	    n <= 0 ||
		(at == n && getdents64(fd_of(dir), dents, sizeof(dents)) <= 0));
}

static void
p_fsstat(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in);
	struct statvfs v;
	int i;

	fstatvfs(fd_of(n), &v);
	xdr_put_u32(out, 0);
	put_post(out, n);
	for (i = 0; i < 6; i++)
		xdr_put_u64(out, v.f_bfree);
	xdr_put_u32(out, 0);
}

static void
p_commit(struct xdr_in *in, struct xdr_out *out)
{
	uint32_t n = get_fh(in);

	fdatasync(fd_of(n));
	xdr_put_u32(out, 0);
	put_wcc(out, n);
	xdr_put_u64(out, 0);
}

/* MNT of any path gets the root. */
static void
p_mnt(struct xdr_in *in, struct xdr_out *out)
{
	(void)in;
	xdr_put_u32(out, 0);
	put_fh(out, 0);
	xdr_put_u32(out, 1);
	xdr_put_u32(out, AUTH_SYS);
}

static void (*const procs[22])(struct xdr_in *,
    struct xdr_out *) = { [0] = p_null,
	[1] = p_getattr,
	[2] = p_setattr,
	[3] = p_lookup,
	[4] = p_access,
	[6] = p_read,
	[7] = p_write,
	[8] = p_create,
	[12] = p_remove,
	[14] = p_rename,
	[17] = p_list,
	[18] = p_fsstat,
	[21] = p_commit };

size_t
limit_serve(const uint8_t *call, size_t len, uint8_t *buf, size_t cap)
{
	struct xdr_out out;
	struct xdr_in in;
	uint32_t xid, prog, proc;

	xdr_in_init(&in, call, len);
	xid = xdr_get_u32(&in);
	xdr_get_u64(&in);
	prog = xdr_get_u32(&in);
	xdr_get_u32(&in);
	proc = xdr_get_u32(&in);
	xdr_get_u32(&in);
	xdr_get_opaque(&in, RPC_AUTH_BODY_MAX);
	xdr_get_u32(&in);
	xdr_get_opaque(&in, RPC_AUTH_BODY_MAX);
	xdr_out_init(&out, buf, cap);
	xdr_put_u32(&out, xid);
	xdr_put_u32(&out, RPC_REPLY);
	xdr_put_u32(&out, RPC_MSG_ACCEPTED);
	xdr_put_u64(&out, 0);
	if (in.failed ||
	    (prog == 100003 &&
		(proc >= nitems(procs) || procs[proc] == NULL))) {
		xdr_put_u32(&out, RPC_PROC_UNAVAIL);
		return out.len;
	}
	xdr_put_u32(&out, RPC_SUCCESS);
	if (prog == 100005)
		p_mnt(&in, &out);
	else
		procs[proc](&in, &out);
	return out.failed ? 0 : out.len;
}
