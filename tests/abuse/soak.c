/* SPDX-License-Identifier: ISC */
/*
 * A client that never gives up, as a hard mount does, and believes nothing:
 *
 *	soak address mountport port path tcp|udp uid seconds data
 *	soak address mountport port path tcp|udp uid seconds names directory
 *
 * Mounts, works against a model of the server (see nfs_model.h; directory is a
 * local one that gets the same names) and unmounts, again and again, while
 * the test restarts the daemons. A call without an answer is sent again over a
 * new connection. A pause after each call keeps the load gentle. Exit status 0:
 * no answer differed from the model's.
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
#include <time.h>
#include <unistd.h>

#include "../wire/nfs_model.h"
#include "base/addr.h"
#include "base/util.h"
#include "lib/rpc_client.h"

#define MOUNT_PROGRAM 100005
#define MOUNT_MNT     1
#define MOUNT_UMNT    3
#define PAUSE_MS      2
#define AGAIN_MS      50
#define PATIENCE      60 /* seconds for one call, restarts and all */
#define ROUND	      300 /* calls between two mounts */
#define UDP_LARGEST   32768

static struct rpc_cred cred = { .flavor = AUTH_SYS };
static struct rpc_target nfsd = { .prog = 100003, .cred = &cred, .fd = -1 };
static struct rpc_target mountd = {
	.prog = MOUNT_PROGRAM, .cred = &cred, .fd = -1
};
static struct addr nfsd_at, mountd_at;
static uint8_t reply[NFS_RECORD_MAX];
static unsigned long calls, again, longest_ms;

static unsigned long
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 +
	    (unsigned long)t.tv_nsec / 1000000;
}

static void
dial(struct rpc_target *t, const struct addr *to)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_to_sockaddr(to, to->family, &ss);

	if (t->fd != -1)
		close(t->fd);
	t->timeout_ms = t->stream ? 10000 : 1000;
	t->fd = socket(to->family, t->stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	/* a refusal is found out by the call */
	(void)connect(t->fd, (struct sockaddr *)&ss, len);
}

/*
 * Until there is an answer, and it is not "later". Over UDP the same call is sent
 * again from the same port, so that it is done once.
 */
static struct xdr_in
insist(struct rpc_target *t, const struct addr *to, uint32_t proc,
    const void *args, size_t len)
{
	unsigned long start = now_ms(), took;
	struct xdr_in in, copy;
	const char *why;

	calls++;
	t->xid = arc4random();
	(void)poll(NULL, 0, PAUSE_MS);
	for (;;) {
		if (t->fd == -1)
			dial(t, to);
		why = rpc_client_call(t, proc, args, len, reply, sizeof(reply),
		    &in);
		if (why == NULL) {
			copy = in;
			if (t->prog == MOUNT_PROGRAM || t->vers == 2 ||
			    xdr_get_u32(&copy) != NFSERR_JUKEBOX)
				break;
			t->xid = arc4random(); /* that call is answered */
		} else if (t->stream)
			dial(t, to);
		again++;
		if (now_ms() - start > PATIENCE * 1000)
			errx(1, "procedure %u: no answer in %d s: %s", proc,
			    PATIENCE, why);
		(void)poll(NULL, 0, AGAIN_MS);
	}
	took = now_ms() - start;
	longest_ms = took > longest_ms ? took : longest_ms;
	return in;
}

static struct xdr_in
call(void *arg UNUSED, uint32_t vers, uint32_t proc, const void *args,
    size_t len)
{
	nfsd.vers = vers;
	return insist(&nfsd, &nfsd_at, proc, args, len);
}

static struct xdr_in
ask_mountd(uint32_t proc, const char *path)
{
	uint8_t args[1100];
	struct xdr_out out;

	mountd.vers = 3;
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_string(&out, path);
	return insist(&mountd, &mountd_at, proc, args, out.len);
}

static struct fh
mount(const char *path)
{
	struct xdr_in in = ask_mountd(MOUNT_MNT, path);
	struct slice s;
	struct fh fh;

	if (xdr_get_u32(&in) != 0)
		errx(1, "%s: cannot be mounted", path);
	s = xdr_get_opaque(&in, FH_SIZE);
	if (in.failed || s.len != FH_SIZE)
		errx(1, "%s: no handle", path);
	memcpy(fh.bytes, s.data, FH_SIZE);
	return fh;
}

static void
remove_model(const struct fh *dir)
{
	uint8_t args[64];
	struct xdr_out out;
	struct xdr_in in;

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, dir->bytes, FH_SIZE);
	xdr_put_string(&out, "model");
	in = call(NULL, 3, NFSPROC3_REMOVE, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK || in.failed)
		errx(1, "REMOVE failed");
}

static void
round_trip(struct nfs_model *m, const char *path, int beside)
{
	unsigned int done;

	m->seed++;
	m->dir = mount(path);
	done = beside == -1 ? nfs_model_data(m, ROUND) :
			      nfs_model_names(m, beside, ROUND);
	if (done != ROUND)
		errx(1, "after %lu calls, %lu sent again", calls, again);
	if (beside == -1)
		remove_model(&m->dir);
	(void)ask_mountd(MOUNT_UMNT, path);
}

int
main(int argc, char *argv[])
{
	struct nfs_model m = { .call = call };
	unsigned long end;
	int beside = -1;

	if (argc < 9 || (strcmp(argv[8], "names") == 0) != (argc == 10))
		errx(2, "usage: see the head of soak.c");
	if (!addr_parse(&nfsd_at, argv[1]))
		errx(2, "%s: not an address", argv[1]);
	mountd_at = nfsd_at;
	mountd_at.port = (uint16_t)strtonum(argv[2], 1, 65535, NULL);
	nfsd_at.port = (uint16_t)strtonum(argv[3], 1, 65535, NULL);
	nfsd.stream = mountd.stream = strcmp(argv[5], "tcp") == 0;
	m.largest = nfsd.stream ? 0 : UDP_LARGEST;
	cred.uid = cred.gid = (uint32_t)strtonum(argv[6], 0, UINT32_MAX, NULL);
	end = now_ms() +
	    1000ul * (unsigned long)strtonum(argv[7], 1, 86400, NULL);
	if (argc == 10 && (beside = open(argv[9], O_RDONLY)) == -1)
		err(1, "%s", argv[9]);
	while (now_ms() < end)
		round_trip(&m, argv[4], beside);
	printf("%lu calls, %lu sent again, longest %lu ms\n", calls, again,
	    longest_ms);
	return 0;
}
