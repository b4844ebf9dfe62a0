/* SPDX-License-Identifier: ISC */
/*
 * A client of the daemons, over UDP or TCP, as any user:
 *
 *	nfs_client address mountd-port nfsd-port path udp|tcp uid TEST
 *
 * TEST is "data N" or "names N DIRECTORY" (N operations against a model, see
 * nfs_model.h; DIRECTORY is a local one), or "list N DIRECTORY": makes N files
 * in DIRECTORY, which is what path exports, and lists it in both versions while
 * a second client makes and removes others. Exit status 0: no difference.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/socket.h>

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../wire/nfs_model.h"
#include "base/addr.h"
#include "base/util.h"
#include "lib/rpc_client.h"

#define LATER_MAX      50
#define LATER_MS       100
#define MOUNT_PROGRAM  100005
#define NUMBERS_MAX    400000
#define BUSY_CREATES   30
#define BUSY_REMOVES   20
#define LOW_PORT_FIRST 600
#define LOW_PORT_LAST  1023

static struct rpc_cred cred = { .flavor = AUTH_SYS };
static struct rpc_target target, second; /* nfsd, twice */
static uint8_t reply[NFS_RECORD_MAX];
static uint8_t seen[NUMBERS_MAX];

/* Binds to a port below 1024 if permitted, then connects. */
static int
dial(const char *address, const char *port, bool stream)
{
	static uint16_t from = LOW_PORT_FIRST;
	struct sockaddr_storage ss;
	struct addr to, own;
	socklen_t len;
	int fd;

	if (!addr_parse(&to, address))
		errx(1, "%s: not an address", address);
	to.port = (uint16_t)strtonum(port, 1, 65535, NULL);
	fd = socket(to.family, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	memset(&own, 0, sizeof(own));
	own.family = to.family;
	for (; from <= LOW_PORT_LAST; from++) {
		own.port = from;
		len = addr_to_sockaddr(&own, to.family, &ss);
		if (bind(fd, (struct sockaddr *)&ss, len) == 0)
			break;
	}
	len = addr_to_sockaddr(&to, to.family, &ss);
	if (connect(fd, (struct sockaddr *)&ss, len) == -1)
		err(1, "%s port %s", address, port);
	return fd;
}

static struct xdr_in
call_by(const struct rpc_target *by, uint32_t vers, uint32_t proc,
    const void *args, size_t len)
{
	struct rpc_target t = *by;
	struct xdr_in in;
	const char *reason;

	t.vers = vers;
	xdr_in_init(&in, reply, 0);
	reason =
	    rpc_client_call(&t, proc, args, len, reply, sizeof(reply), &in);
	if (reason != NULL) {
		warnx("version %u procedure %u: %s", vers, proc, reason);
		in.failed = true;
	}
	return in;
}

/* Repeats a call that gets JUKEBOX, as clients do. */
static struct xdr_in
call(void *arg UNUSED, uint32_t vers, uint32_t proc, const void *args,
    size_t len)
{
	struct xdr_in in, copy;
	int tries;

	for (tries = 0; tries < LATER_MAX; tries++) {
		in = copy = call_by(&target, vers, proc, args, len);
		if (vers == 2 || xdr_get_u32(&copy) != NFSERR_JUKEBOX)
			break;
		(void)poll(NULL, 0, LATER_MS);
	}
	return in;
}

/* MNT of version 3. */
static struct fh
mount(const char *address, const char *port, const char *path, bool stream)
{
	struct rpc_target t = { .prog = MOUNT_PROGRAM,
		.cred = &cred,
		.stream = stream,
		.timeout_ms = 5000 };
	uint8_t args[1100];
	struct xdr_out out;
	struct xdr_in in;
	struct slice s;
	struct fh fh;

	t.fd = dial(address, port, stream);
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_string(&out, path);
	in = call_by(&t, 3, 1, args, out.len);
	if (xdr_get_u32(&in) != 0 || in.failed)
		errx(1, "%s: cannot be mounted", path);
	s = xdr_get_opaque(&in, NFS3_FHSIZE);
	if (s.len != FH_SIZE)
		errx(1, "%s: a handle of %zu bytes", path, s.len);
	memcpy(fh.bytes, s.data, FH_SIZE);
	close(t.fd);
	return fh;
}

/* The other client makes or removes the file of a number. */
static void
change(const struct fh *dir, uint32_t proc, unsigned int number)
{
	uint8_t args[256];
	struct xdr_out out;
	char name[16];
	int i;

	(void)snprintf(name, sizeof(name), "n%u", number);
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, dir->bytes, FH_SIZE);
	xdr_put_string(&out, name);
	if (proc == NFSPROC3_CREATE)
		for (i = 0; i < 7; i++) /* unchecked, no attributes */
			xdr_put_u32(&out, 0);
	(void)call_by(&second, 3, proc, args, out.len);
}

/* Makes one READDIR and counts its entries. Returns false at the end. */
static bool
list_some(const struct fh *dir, uint32_t vers, uint64_t *cookie)
{
	uint8_t args[64], attr[84];
	struct xdr_out out;
	struct xdr_in in;
	struct slice name;
	char text[16];

	xdr_out_init(&out, args, sizeof(args));
	if (vers == 2) {
		xdr_put_fixed(&out, dir->bytes, FH_SIZE);
		xdr_put_u32(&out, (uint32_t)*cookie);
	} else {
		xdr_put_opaque(&out, dir->bytes, FH_SIZE);
		xdr_put_u64(&out, *cookie);
		xdr_put_u64(&out, 0);
	}
	xdr_put_u32(&out, 8192);
	in = call_by(&target, vers, NFSPROC3_READDIR, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK || in.failed)
		errx(1, "listing failed");
	if (vers == 3 && xdr_get_bool(&in))
		xdr_get_fixed(&in, attr, sizeof(attr));
	if (vers == 3)
		(void)xdr_get_u64(&in);
	while (xdr_get_bool(&in)) {
		(void)(vers == 2 ? xdr_get_u32(&in) : xdr_get_u64(&in));
		name = xdr_get_opaque(&in, sizeof(text) - 1);
		*cookie = vers == 2 ? xdr_get_u32(&in) : xdr_get_u64(&in);
		memcpy(text, name.data, name.len);
		text[name.len] = '\0';
		if (text[0] == 'n')
			seen[strtoul(text + 1, NULL, 10) % NUMBERS_MAX]++;
	}
	return !xdr_get_bool(&in) && !in.failed;
}

static unsigned int
list_all(const struct fh *dir, uint32_t vers, unsigned int n)
{
	unsigned int next = n, i, wrong = 0;
	uint64_t cookie = 0;

	memset(seen, 0, sizeof(seen));
	while (list_some(dir, vers, &cookie)) {
		for (i = 0; i < BUSY_CREATES && next < NUMBERS_MAX; i++)
			change(dir, NFSPROC3_CREATE, next++);
		for (i = 0; i < BUSY_REMOVES; i++)
			change(dir, NFSPROC3_REMOVE,
			    n + (unsigned int)random() % (next - n));
	}
	for (i = 0; i < n; i++)
		wrong += seen[i] != 1;
	for (i = n; i < next; i++)
		wrong += seen[i] > 1;
	if (wrong > 0)
		warnx("version %u: %u of %u entries not seen once", vers, wrong,
		    n);
	return wrong;
}

static unsigned int
test_list(const struct fh *dir, unsigned int n, const char *local)
{
	int dirfd = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned int i, wrong;
	char name[16];

	for (i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		close(openat(dirfd, name, O_CREAT | O_WRONLY | O_CLOEXEC,
		    0644));
	}
	wrong = list_all(dir, 3, n) + list_all(dir, 2, n);
	close(dirfd);
	return wrong;
}

int
main(int argc, char *argv[])
{
	struct nfs_model m = { .call = call, .seed = 1 };
	unsigned int n, done;
	bool stream;

	if (argc < 9)
		errx(1, "usage: see the head of nfs_client.c");
	stream = strcmp(argv[5], "tcp") == 0;
	cred.uid = cred.gid = (uint32_t)strtonum(argv[6], 0, UINT32_MAX, NULL);
	m.largest = stream ? 0 : 32768;
	m.dir = mount(argv[1], argv[2], argv[4], stream);
	target = (struct rpc_target){ .prog = NFS_PROGRAM,
		.cred = &cred,
		.stream = stream,
		.timeout_ms = 10000 };
	second = target;
	target.fd = dial(argv[1], argv[3], stream);
	second.fd = dial(argv[1], argv[3], stream);
	n = (unsigned int)strtonum(argv[8], 1, NUMBERS_MAX, NULL);
	if (strcmp(argv[7], "data") == 0)
		done = nfs_model_data(&m, n);
	else if (argc > 9 && strcmp(argv[7], "names") == 0)
		done = nfs_model_names(&m, open(argv[9], O_RDONLY), n);
	else if (argc > 9 && strcmp(argv[7], "list") == 0)
		done = test_list(&m.dir, n, argv[9]) == 0 ? n : 0;
	else
		errx(1, "%s: no such test", argv[7]);
	return done == n ? 0 : 1;
}
