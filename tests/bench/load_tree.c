/* SPDX-License-Identifier: ISC */
/*
 * The tree of the workloads: made on the local filesystem, found through MOUNT
 * and LOOKUP. It has 10,000 small files in one directory, a hundred in another,
 * one large file whose bytes follow from their offset, and a directory per
 * connection with a file per outstanding request.
 * Runs in: the load generator.
 */
#include <sys/stat.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "lib/rpc_client.h"

#define SMALL	  4096 /* bytes in each of the 10,000 */
#define CHUNK	  (1u << 20)
#define MOUNTPROG 100005
#define NFSPROG	  100003
#define OWNER	  1000 /* the uid of the load generator's calls */

static uint64_t
word_at(uint64_t offset)
{
	return (offset >> 3) * 0x9e3779b97f4a7c15u;
}

uint8_t
load_tree_byte(uint64_t offset)
{
	return (uint8_t)(word_at(offset) >> ((offset & 7) * 8));
}

static int
make_file(const char *path, size_t size, uint8_t *buf)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	uint64_t word;
	size_t at, i, n;

	if (fd == -1)
		return -1;
	for (at = 0; at < size; at += n) {
		n = size - at < CHUNK ? size - at : CHUNK;
		for (i = 0; i < n; i += sizeof(word)) {
			word = htole64(word_at(at + i));
			memcpy(buf + i, &word, sizeof(word));
		}
		if (write(fd, buf, n) != (ssize_t)n) {
			close(fd);
			return -1;
		}
	}
	if (geteuid() == 0 && fchown(fd, OWNER, OWNER) == -1)
		warn("%s", path);
	return close(fd);
}

static int
make_dir(const char *path)
{
	if (mkdir(path, 0777) == -1 && errno != EEXIST)
		return -1;
	if (geteuid() == 0 && chown(path, OWNER, OWNER) == -1)
		warn("%s", path);
	return chmod(path, 0777);
}

/* A directory with n files, named by number. */
static bool
make_files(const char *dir, const char *name, char letter, unsigned int n,
    size_t size, uint8_t *buf)
{
	char path[4096];
	unsigned int i;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (make_dir(path) == -1)
		goto bad;
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s/%c%05u", dir, name, letter,
		    i);
		if (make_file(path, size, buf) == -1)
			goto bad;
	}
	return true;
bad:
	warn("%s", path);
	return false;
}

int
load_tree_make(const char *dir, unsigned int files)
{
	uint8_t *buf = malloc(CHUNK);
	char path[4096], work[16];
	bool good;
	int i;

	umask(0);
	snprintf(path, sizeof(path), "%s/big", dir);
	good = buf != NULL && make_file(path, LOAD_BIG_SIZE, buf) == 0;
	if (!good)
		warn("%s", path);
	good = good && make_files(dir, "files", 'f', files, SMALL, buf) &&
	    make_files(dir, "hundred", 'h', 100, 0, buf);
	for (i = 0; good && i < LOAD_DIRS; i++) {
		snprintf(work, sizeof(work), "work%02d", i);
		good = make_files(dir, work, 's', LOAD_SLOTS_MAX, 0, buf);
	}
	free(buf);
	return good ? 0 : -1;
}

/* A socket of this kind, connected to the server at another port. */
static int
connect_to(const struct load *l, uint16_t port)
{
	struct sockaddr_storage to = l->to;
	int fd = socket(to.ss_family, l->udp ? SOCK_DGRAM : SOCK_STREAM, 0);

	if (port != 0 && to.ss_family == AF_INET)
		((struct sockaddr_in *)&to)->sin_port = htons(port);
	else if (port != 0)
		((struct sockaddr_in6 *)&to)->sin6_port = htons(port);
	if (fd == -1 || connect(fd, (struct sockaddr *)&to, l->to_len) == -1)
		err(1, "connect");
	return fd;
}

static bool
call(const struct rpc_target *to, uint32_t proc, const struct xdr_out *args,
    struct xdr_in *res, const char *what)
{
	static uint8_t buf[65536];
	const char *why;
	uint32_t status;

	why = rpc_client_call(to, proc, args->base, args->len, buf, sizeof(buf),
	    res);
	if (why != NULL) {
		warnx("%s: %s", what, why);
		return false;
	}
	status = xdr_get_u32(res);
	if (status != 0)
		warnx("%s: status %u", what, status);
	return status == 0 && !res->failed;
}

/* Reads a handle in the form of this version. */
static void
take_fh(const struct load *l, struct xdr_in *x, struct load_fh *fh)
{
	struct slice s;

	fh->len = 32;
	if (l->vers == 2) {
		xdr_get_fixed(x, fh->bytes, 32);
		return;
	}
	s = xdr_get_opaque(x, LOAD_FH_MAX);
	fh->len = (uint32_t)s.len;
	memcpy(fh->bytes, s.data, s.len);
}

static bool
mount_it(struct load *l, const struct rpc_cred *cred, const char *export,
    uint16_t port)
{
	uint8_t room[2048];
	struct xdr_out args;
	struct xdr_in res;
	struct rpc_target to = { .fd = connect_to(l, port),
		.stream = !l->udp,
		.prog = MOUNTPROG,
		.vers = l->vers == 2 ? 1 : 3,
		.cred = cred,
		.timeout_ms = 10000 };
	bool good;

	xdr_out_init(&args, room, sizeof(room));
	xdr_put_string(&args, export);
	good = call(&to, 1, &args, &res, export);
	if (good)
		take_fh(l, &res, &l->root);
	close(to.fd);
	return good && !res.failed;
}

static bool
find(const struct load *l, const struct rpc_target *to,
    const struct load_fh *dir, const char *name, struct load_fh *out)
{
	uint8_t room[2048];
	struct xdr_out args;
	struct xdr_in res;

	xdr_out_init(&args, room, sizeof(room));
	if (l->vers == 2)
		xdr_put_fixed(&args, dir->bytes, 32);
	else
		xdr_put_opaque(&args, dir->bytes, dir->len);
	xdr_put_string(&args, name);
	if (!call(to, l->vers == 2 ? 4 : 3, &args, &res, name))
		return false;
	take_fh(l, &res, out);
	return !res.failed;
}

static bool
find_work(struct load *l, const struct rpc_target *to)
{
	unsigned int i, j, dirs = l->conns < LOAD_DIRS ? l->conns : LOAD_DIRS;
	char name[32];

	for (i = 0; i < dirs; i++) {
		snprintf(name, sizeof(name), "work%02u", i);
		if (!find(l, to, &l->root, name, &l->work_dir[i]))
			return false;
		for (j = 0; j < l->depth; j++) {
			snprintf(name, sizeof(name), "s%05u", j);
			if (!find(l, to, &l->work_dir[i], name,
				&l->work_file[i][j]))
				return false;
		}
	}
	return true;
}

/* How many of the small files the workload uses by handle. */
static unsigned int
files_needed(const struct load *l)
{
	unsigned int n = l->work->needs & LOAD_NEEDS_FILES ? l->nfiles :
	    l->work->needs & LOAD_NEEDS_SOME		   ? LOAD_SOME :
							     1;

	return n < l->nfiles ? n : l->nfiles;
}

int
load_tree_find(struct load *l, const char *export, uint16_t mountport)
{
	const struct rpc_cred cred = { 1, OWNER, OWNER, 1, { 100 } };
	struct rpc_target to;
	char name[32];
	unsigned int i;
	bool good;

	if (!mount_it(l, &cred, export, mountport))
		return -1;
	to = (struct rpc_target){ .fd = connect_to(l, 0),
		.stream = !l->udp,
		.prog = NFSPROG,
		.vers = l->vers,
		.cred = &cred,
		.timeout_ms = 10000 };
	good = find(l, &to, &l->root, "big", &l->big) &&
	    find(l, &to, &l->root, "files", &l->dir) &&
	    find(l, &to, &l->root, "hundred", &l->hundred);
	l->files = calloc(l->nfiles, sizeof(*l->files));
	for (i = 0; good && i < files_needed(l); i++) {
		snprintf(name, sizeof(name), "f%05u", i);
		good = find(l, &to, &l->dir, name, &l->files[i]);
	}
	if (good && (l->work->needs & LOAD_NEEDS_WORK))
		good = find_work(l, &to);
	close(to.fd);
	return good ? 0 : -1;
}
