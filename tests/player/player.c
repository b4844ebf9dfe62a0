/* SPDX-License-Identifier: ISC */
/*
 * A DJ player as an NFS client, as recorded. It speaks portmap 2, mount 1 and
 * NFS 2 over UDP, with a socket for each job and one call at a time.
 * Transaction ids count from 1 over all sockets. Names are UTF-16LE with dirty
 * padding. Directory handles are rewritten behind byte 11. The player reads the
 * end of a file first, then odd pieces, then all of it in pieces of 8 KiB. The
 * test compares every byte with the local file.
 *
 *	player [-e] [-p port] [-i ms] [-n] address alias path local-file
 *
 * -e asks for the EXPORT list first, as players ask mixers and computers. -p
 * sets the portmapper's port, -i a pause between the READs of the stream. -n
 * sends AUTH_NULL, as some programs do. Prints TAP.
 * Runs in: tests.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpc/xdr.h"

#define DATAGRAM  65536
#define FH_SIZE	  32
#define KEPT	  12 /* bytes of a directory handle that a player keeps */
#define REPEAT_MS 1001
#define REPEATS	  25
#define STREAM	  8192
#define CALLS_MAX 100000

enum { PMAP = 100000, MOUNT = 100005, NFS = 100003 };

struct fh {
	uint8_t bytes[FH_SIZE];
};

/* One job's socket. */
struct job {
	int fd;
	uint16_t port;
};

static struct in_addr server;
static uint16_t pmap_port = 111;
static uint32_t calls;
static bool auth_null;
static int pause_ms, limit_ms = 20;
static uint8_t request[DATAGRAM], reply[DATAGRAM];
static double latency_ms[CALLS_MAX];
static size_t nlatency;
static unsigned int repeats, tests, failed;

/* The first stamps of all recorded devices. */
static const uint32_t stamps[] = { 0x967b8703, 0x9922e112, 0xa4921306,
	0xdc1ac513, 0x2a994a03, 0x0d988520, 0xf0629c32, 0xbc690310, 0xf0af010a,
	0x177a4420, 0xe0f39f14, 0xb0b63114, 0x64322e08, 0x561ec900 };

static bool
ok(bool good, const char *what)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++tests, what);
	failed += !good;
	return good;
}

static void
give_up(const char *what)
{
	ok(false, what);
	printf("1..%u\n", tests);
	exit(1);
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct job
new_job(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = server };
	struct job j = { socket(AF_INET, SOCK_DGRAM, 0), port };

	if (j.fd == -1 ||
	    connect(j.fd, (struct sockaddr *)&to, sizeof(to)) == -1)
		err(1, "socket");
	return j;
}

static void
begin(struct xdr_out *x, uint32_t prog, uint32_t vers, uint32_t proc)
{
	uint32_t number = calls++;

	/* bytes of earlier messages show in the padding */
	memset(request + (number % 7) * 100, (int)(0x11 + number), 700);
	xdr_out_init(x, request, sizeof(request));
	xdr_put_u32(x, number + 1);
	xdr_put_u32(x, 0);
	xdr_put_u32(x, 2);
	xdr_put_u32(x, prog);
	xdr_put_u32(x, vers);
	xdr_put_u32(x, proc);
	xdr_put_u32(x, auth_null ? 0 : 1);
	xdr_put_u32(x, auth_null ? 0 : 20);
	if (!auth_null) {
		xdr_put_u32(x,
		    stamps[number % (sizeof(stamps) / sizeof(stamps[0]))]);
		xdr_put_u64(x, 0); /* no machine name, uid 0 */
		xdr_put_u64(x, 0); /* gid 0, no groups */
	}
	xdr_put_u64(x, 0);
}

/* Length and bytes. The padding keeps its old, dirty contents. */
static void
put_dirty(struct xdr_out *x, const uint8_t *bytes, size_t len)
{
	xdr_put_u32(x, (uint32_t)len);
	memcpy(x->base + x->len, bytes, len);
	x->len += len + xdr_pad(len);
}

static size_t
utf16(uint8_t *out, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t n = 0;

	while (*p != '\0') {
		int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
		uint32_t c = more == 0 ? *p : *p & (0x3fu >> more);

		for (p++; more > 0; more--)
			c = c << 6 | (*p++ & 0x3f);
		if (c > 0xffff) {
			uint32_t high = 0xd800 + ((c - 0x10000) >> 10);

			out[n++] = (uint8_t)high;
			out[n++] = (uint8_t)(high >> 8);
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		out[n++] = (uint8_t)c;
		out[n++] = (uint8_t)(c >> 8);
	}
	return n;
}

static void
put_name(struct xdr_out *x, const char *text)
{
	uint8_t wide[2048];

	put_dirty(x, wide, utf16(wide, text));
}

/* Sends a call each second until the reply comes. Returns its length. */
static size_t
ask(const struct job *j, const struct xdr_out *x, struct xdr_in *res)
{
	struct pollfd p = { .fd = j->fd, .events = POLLIN };
	double start = now_ms();
	ssize_t n = -1;
	int tries;

	for (tries = 0; tries < REPEATS && n == -1; tries++) {
		repeats += tries > 0;
		if (send(j->fd, x->base, x->len, 0) == -1)
			give_up("send");
		if (poll(&p, 1, REPEAT_MS) == 1)
			n = recv(j->fd, reply, sizeof(reply), 0);
	}
	if (n < 24)
		give_up("a reply comes");
	if (nlatency < CALLS_MAX)
		latency_ms[nlatency++] = now_ms() - start;
	xdr_in_init(res, reply, (size_t)n);
	if (xdr_get_u32(res) != calls || xdr_get_u32(res) != 1 ||
	    xdr_get_u32(res) != 0 || xdr_get_u64(res) != 0 ||
	    xdr_get_u32(res) != 0)
		give_up("the reply is this call's, accepted, empty verifier");
	return (size_t)n;
}

static uint16_t
getport(const struct job *j, uint32_t prog, uint32_t vers, const char *what)
{
	struct xdr_out x;
	struct xdr_in res;
	uint32_t port;

	begin(&x, PMAP, 2, 3);
	xdr_put_u32(&x, prog);
	xdr_put_u32(&x, vers);
	xdr_put_u32(&x, 17);
	xdr_put_u32(&x, 0);
	ask(j, &x, &res);
	port = xdr_get_u32(&res);
	if (!ok(port > 0 && port < 65536, what))
		give_up("GETPORT gives a port");
	return (uint16_t)port;
}

/* Is the alias listed verbatim, in UTF-16LE, with an ASCII group? */
static void
ask_exports(const struct job *j, const char *alias)
{
	uint8_t wide[2048];
	size_t len = utf16(wide, alias), i;
	bool listed = false, grouped = false, ascii = true;
	struct xdr_out x;
	struct xdr_in res;
	struct slice s;

	begin(&x, MOUNT, 1, 5);
	ask(j, &x, &res);
	while (xdr_get_bool(&res)) {
		s = xdr_get_opaque(&res, 2048);
		bool ours = s.len == len && memcmp(s.data, wide, len) == 0;

		listed = listed || ours;
		while (xdr_get_bool(&res)) {
			s = xdr_get_opaque(&res, 255);
			grouped = grouped || (ours && s.len > 0);
			for (i = 0; i < s.len; i++)
				ascii = ascii && s.data[i] > ' ' &&
				    s.data[i] < 0x7f;
		}
	}
	ok(!res.failed && listed, "EXPORT lists the alias verbatim");
	ok(grouped, "EXPORT names at least one group for it");
	ok(ascii, "groups are plain ASCII");
}

static struct fh
mount_it(const struct job *j, const char *alias)
{
	struct xdr_out x;
	struct xdr_in res;
	struct fh fh;
	size_t n;

	begin(&x, MOUNT, 1, 1);
	put_name(&x, alias);
	n = ask(j, &x, &res);
	if (!ok(xdr_get_u32(&res) == 0, "MNT with dirty padding succeeds"))
		give_up("MNT");
	xdr_get_fixed(&res, fh.bytes, FH_SIZE);
	ok(n == 60 && !res.failed, "the reply to MNT has 60 bytes");
	return fh;
}

/* Rewrites the handle of a directory as a player does before using it. */
static void
rewrite(struct fh *fh)
{
	static const uint8_t written[FH_SIZE - KEPT] = { 0x03, 0x01, 0, 0, 0, 0,
		0x1b, 0x58, 0, 0, 0, 0, 0x01, 0x03, 0x01, 0, 0, 0, 0x04, 0x13 };
	uint8_t kept = fh->bytes[14];

	memcpy(fh->bytes + KEPT, written, sizeof(written));
	fh->bytes[14] = kept;
}

static uint32_t
lookup(const struct job *j, const struct fh *dir, const char *name,
    struct fh *fh)
{
	struct fh changed = *dir;
	struct xdr_out x;
	struct xdr_in res;
	uint32_t status;
	size_t n;

	rewrite(&changed);
	begin(&x, NFS, 2, 4);
	xdr_put_fixed(&x, changed.bytes, FH_SIZE);
	put_name(&x, name);
	n = ask(j, &x, &res);
	status = xdr_get_u32(&res);
	if (status == 0) {
		xdr_get_fixed(&res, fh->bytes, FH_SIZE);
		if (n != 128)
			give_up("a reply to LOOKUP has 128 bytes");
	} else if (n != 28) {
		give_up("a failed LOOKUP has 28 bytes");
	}
	return status;
}

static struct fh
walk(const struct job *j, struct fh at, const char *path)
{
	char copy[4096], *rest = copy, *part;
	uint32_t status;
	struct fh none;

	ok(lookup(j, &at, "PIONEER-none", &none) == 2,
	    "LOOKUP of a missing name gets NOENT");
	snprintf(copy, sizeof(copy), "%s", path);
	while ((part = strsep(&rest, "/")) != NULL) {
		if (*part == '\0')
			continue;
		status = lookup(j, &at, part, &at);
		if (status != 0) {
			printf("# status %u\n", status);
			give_up(part);
		}
	}
	ok(true, "LOOKUP of a path with rewritten handles succeeds");
	return at;
}

static uint32_t
getattr(const struct job *j, const struct fh *fh)
{
	struct xdr_out x;
	struct xdr_in res;
	size_t n;
	uint32_t size = 0;
	int i;

	begin(&x, NFS, 2, 1);
	xdr_put_fixed(&x, fh->bytes, FH_SIZE);
	n = ask(j, &x, &res);
	ok(xdr_get_u32(&res) == 0 && n == 96,
	    "the reply to GETATTR has 96 bytes");
	ok(xdr_get_u32(&res) == 1, "it is a file");
	for (i = 0; i < 5; i++)
		size = xdr_get_u32(&res); /* mode nlink uid gid size */
	return size;
}

/* Reads and compares at most count bytes. Returns how many came. */
static uint32_t
read_at(const struct job *j, const struct fh *fh, uint32_t at, uint32_t count,
    const uint8_t *want)
{
	struct xdr_out x;
	struct xdr_in res;
	struct slice data;

	begin(&x, NFS, 2, 6);
	xdr_put_fixed(&x, fh->bytes, FH_SIZE);
	xdr_put_u32(&x, at);
	xdr_put_u32(&x, count);
	xdr_put_u32(&x, 0);
	if (!auth_null && x.len != 104)
		give_up("a READ call of 104 bytes");
	ask(j, &x, &res);
	if (xdr_get_u32(&res) != 0)
		give_up("READ");
	res.pos += 68;
	res.left -= res.left < 68 ? res.left : 68;
	data = xdr_get_opaque(&res, count);
	if (res.failed || memcmp(data.data, want + at, data.len) != 0)
		give_up("READ gives the bytes of the file");
	return (uint32_t)data.len;
}

/* Reads a piece with as many calls as needed. Only a long READ may be short. */
static void
read_all(const struct job *j, const struct fh *fh, uint32_t at, uint32_t count,
    const uint8_t *want)
{
	uint32_t n;

	for (; count > 0; at += n, count -= n) {
		n = read_at(j, fh, at, count, want);
		if (n == 0 || (n < count && n < STREAM))
			give_up("READ is short only beyond 8192 bytes");
	}
}

static void
first_reads(const struct job *j, const struct fh *fh, uint32_t size,
    const uint8_t *want)
{
	static const uint32_t pieces[][2] = { { 0, 2048 }, { 381, 8192 },
		{ 485, 8192 }, { 8573, 7506 }, { 16079, 305 }, { 16384, 2048 },
		{ 18432, 1362 }, { 19794, 67 }, { 19861, 7892 },
		{ 27753, 9408 }, { 0, 28556 }, { 28556, 28584 } };
	size_t i;

	read_all(j, fh, size - 160, 160, want);
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (pieces[i][0] + pieces[i][1] <= size)
			read_all(j, fh, pieces[i][0], pieces[i][1], want);
	ok(true, "the end and pieces at odd offsets are read");
	ok(read_at(j, fh, size - 100, 2048, want) == 100,
	    "a READ across the end is short");
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
stream(const struct job *j, const struct fh *fh, uint32_t size,
    const uint8_t *want)
{
	struct timespec t = { 0, pause_ms * 1000000L };
	uint32_t at;

	nlatency = 0;
	for (at = 0; at < size; at += STREAM) {
		read_all(j, fh, at, size - at < STREAM ? size - at : STREAM,
		    want);
		if (pause_ms > 0)
			nanosleep(&t, NULL);
	}
	ok(true, "the whole file has the same bytes");
	qsort(latency_ms, nlatency, sizeof(latency_ms[0]), by_size);
	printf("# %zu READs of 8 KiB: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
	    nlatency, latency_ms[nlatency / 2], latency_ms[nlatency * 99 / 100],
	    latency_ms[nlatency - 1]);
	ok(latency_ms[nlatency * 99 / 100] < limit_ms, "p99 under the limit");
}

static void
unmount(const struct job *j, const char *alias)
{
	struct xdr_out x;
	struct xdr_in res;

	begin(&x, MOUNT, 1, 3);
	put_name(&x, alias);
	ok(ask(j, &x, &res) == 24, "the reply to UMNT is a bare header");
}

/* No datagram may come besides one reply to each call. */
static void
nothing_more(const struct job *jobs, size_t n)
{
	struct pollfd p[8];
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ jobs[i].fd, POLLIN, 0 };
	ok(poll(p, n, 200) == 0, "each call gets exactly one reply");
	ok(repeats == 0, "no call had to be repeated");
}

static const uint8_t *
map_file(const char *path, uint32_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd == -1 || fstat(fd, &st) == -1)
		err(1, "%s", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(1, "%s", path);
	*size = (uint32_t)st.st_size;
	return p;
}

static void
options(int argc, char *argv[], bool *exports)
{
	int c;

	while ((c = getopt(argc, argv, "ei:l:np:")) != -1)
		switch (c) {
		case 'e':
			*exports = true;
			break;
		case 'i':
			pause_ms = (int)strtol(optarg, NULL, 10);
			break;
		case 'l':
			limit_ms = (int)strtol(optarg, NULL, 10);
			break;
		case 'n':
			auth_null = true;
			break;
		case 'p':
			pmap_port = (uint16_t)strtoul(optarg, NULL, 10);
			break;
		default:
			exit(2);
		}
	if (optind + 4 != argc || inet_aton(argv[optind], &server) == 0)
		errx(2,
		    "usage: player [-en] [-p port] [-i ms] [-l ms] address alias "
		    "path local-file");
}

int
main(int argc, char *argv[])
{
	struct job jobs[5];
	const uint8_t *want;
	uint16_t mountd, nfsd;
	bool exports = false;
	uint32_t size;
	struct fh fh;

	options(argc, argv, &exports);
	argv += optind;
	want = map_file(argv[3], &size);
	jobs[0] = new_job(pmap_port);
	mountd = getport(&jobs[0], MOUNT, 1, "GETPORT of mount 1");
	jobs[1] = new_job(mountd);
	if (exports) {
		ask_exports(&jobs[1], argv[1]);
		getport(&jobs[0], MOUNT, 1, "GETPORT of mount 1 again");
	}
	nfsd = getport(&jobs[0], NFS, 2, "GETPORT of NFS 2");
	fh = mount_it(&jobs[1], argv[1]);
	jobs[2] = new_job(nfsd);
	fh = walk(&jobs[2], fh, argv[2]);
	jobs[3] = new_job(nfsd);
	ok(getattr(&jobs[3], &fh) == size, "the size is right");
	first_reads(&jobs[3], &fh, size, want);
	jobs[4] = new_job(nfsd);
	stream(&jobs[4], &fh, size, want);
	unmount(&jobs[1], argv[1]);
	nothing_more(jobs, 5);
	printf("1..%u\n", tests);
	return failed != 0;
}
