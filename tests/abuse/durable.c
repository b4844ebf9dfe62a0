/* SPDX-License-Identifier: ISC */
/*
 * Writes, remembers what was promised, and looks whether it is there, while
 * the test kills the server again and again:
 *
 *	durable address port mountport export seconds [datasync]
 *
 * Each block of a file holds its number and a count. For each block we know
 * which count is on disk by promise (a stable write, or a COMMIT with the
 * verifier of the write) and which counts were sent since. After every new
 * connection all blocks are read: a count below the promise is a broken
 * promise; an acknowledged unstable write may only be missing when the verifier
 * has changed. Names and attributes are changed as well (durable_names.c); with
 * datasync those may be lost. Says each time that it has looked. SIGTERM ends it early. Prints
 * numbers at the end; exit 1 when a promise was broken.
 * Runs in: tests.
 */
#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "durable.h"
#include "lib/rpc_client.h"

#define BLOCKS	   128
#define BLOCK	   4096
#define TIMEOUT_MS 60000 /* a call may not run after it was given up */
#define DEAD_S	   5 /* a machine that does not answer is without power */
#define PATIENCE_S 60 /* to find the server at first */

enum stable { UNSTABLE, DATA_SYNC, FILE_SYNC };
enum proc { READ = 6, WRITE = 7, CREATE = 8, COMMIT = 21 };

struct block {
	uint32_t promised; /* on disk, whatever happens */
	uint32_t acked; /* answered; lost only with the verifier */
	uint32_t sent; /* may or may not have arrived */
	uint64_t verf; /* of the acknowledged unstable write */
};

static struct sockaddr_in nfsd, mountd;
static struct rpc_target to = { .fd = -1, .stream = true };
static struct block blocks[BLOCKS];
static struct durable_fh fh;
static uint64_t verf; /* last seen */
static unsigned long writes, commits, checks, reconnects, changes, lost, broken;
static uint32_t careless; /* so many writes ask for nothing */
static uint64_t state = 88172645463325252u;
static time_t end;
static bool names_promised;
static volatile sig_atomic_t stopped;

uint32_t
durable_random(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state % below);
}

static bool
connect_to(const struct sockaddr_in *at, uint32_t prog)
{
	static const struct rpc_cred root = { .flavor = AUTH_SYS };
	static const struct timeval patience = { .tv_sec = 1 };
	static const int yes = 1, tries = DEAD_S;

	if (to.fd != -1)
		close(to.fd);
	to.prog = prog;
	to.vers = 3;
	to.cred = &root;
	to.timeout_ms = TIMEOUT_MS;
	to.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* a machine without power does not even refuse */
	setsockopt(to.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(to.fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(to.fd, IPPROTO_TCP, TCP_KEEPIDLE, &yes, sizeof(yes));
	setsockopt(to.fd, IPPROTO_TCP, TCP_KEEPINTVL, &yes, sizeof(yes));
	setsockopt(to.fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	return connect(to.fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
}

uint32_t
durable_ask(uint32_t proc, const struct xdr_out *args, struct xdr_in *res)
{
	static uint8_t buf[65536];

	if (rpc_client_call(&to, proc, args->base, args->len, buf, sizeof(buf),
		res) != NULL)
		return DURABLE_AWAY;
	return xdr_get_u32(res);
}

/* A call whose status must be 0; false: the server is away. */
static bool
call(uint32_t proc, const struct xdr_out *args, struct xdr_in *res)
{
	uint32_t status = durable_ask(proc, args, res);

	if (status == DURABLE_AWAY || status == 10008)
		return false; /* come back later */
	if (status != 0)
		errx(1, "procedure %u: status %u", proc, status);
	return true;
}

void
durable_begin(struct xdr_out *x)
{
	static uint8_t room[BLOCK + 512];

	xdr_out_init(x, room, sizeof(room));
}

void
durable_put_fh(struct xdr_out *x, const struct durable_fh *to_put)
{
	xdr_put_opaque(x, to_put->bytes, to_put->len);
}

void
durable_get_fh(struct xdr_in *res, struct durable_fh *got)
{
	struct slice s = xdr_get_opaque(res, DURABLE_FH);

	memcpy(got->bytes, s.data, s.len);
	got->len = s.len;
}

/* Connects and calls, again and again: a busy machine takes its time. */
static bool
insist(const struct sockaddr_in *at, uint32_t prog, uint32_t proc,
    const struct xdr_out *args, struct xdr_in *res)
{
	time_t until = time(NULL) + PATIENCE_S;

	while (!connect_to(at, prog) || !call(proc, args, res)) {
		if (time(NULL) > until)
			return false;
		usleep(10000);
	}
	return true;
}

/* As insist(). A directory that was made before is good. */
static void
make_dirs(const struct durable_fh *root)
{
	time_t until = time(NULL) + PATIENCE_S;

	while (!names_make_dirs(root)) {
		if (time(NULL) > until)
			errx(1, "cannot make directories");
		usleep(10000);
		/* If this fails, so does the next call. */
		(void)connect_to(&nfsd, 100003);
	}
}

/* MNT, CREATE of the file, and the directories for names. */
static void
make_file(const char *export)
{
	struct durable_fh root;
	struct xdr_out x;
	struct xdr_in res;
	int i;

	durable_begin(&x);
	xdr_put_string(&x, export);
	if (!insist(&mountd, 100005, 1, &x, &res))
		errx(1, "cannot mount %s", export);
	durable_get_fh(&res, &root);
	durable_begin(&x);
	durable_put_fh(&x, &root);
	xdr_put_string(&x, "durable");
	for (i = 0; i < 7; i++)
		xdr_put_u32(&x, 0); /* unchecked, no attributes */
	if (!insist(&nfsd, 100003, CREATE, &x, &res) || !xdr_get_bool(&res))
		errx(1, "cannot create");
	durable_get_fh(&res, &fh);
	make_dirs(&root);
}

static void
skip_wcc(struct xdr_in *x)
{
	uint8_t attr[84];

	if (xdr_get_bool(x))
		xdr_get_fixed(x, attr, 24);
	if (xdr_get_bool(x))
		xdr_get_fixed(x, attr, 84);
}

static void
saw(uint64_t now)
{
	changes += verf != 0 && now != verf;
	verf = now;
}

static bool
write_block(uint32_t n)
{
	struct block *b = &blocks[n];
	enum stable how = careless > 0 ? UNSTABLE : durable_random(3), got;
	uint32_t data[BLOCK / 4];
	struct xdr_out x;
	struct xdr_in res;
	size_t i;

	b->sent++;
	for (i = 0; i < BLOCK / 4; i += 2) {
		data[i] = n;
		data[i + 1] = b->sent;
	}
	durable_begin(&x);
	durable_put_fh(&x, &fh);
	xdr_put_u64(&x, (uint64_t)n * BLOCK);
	xdr_put_u32(&x, BLOCK);
	xdr_put_u32(&x, how);
	xdr_put_opaque(&x, data, BLOCK);
	if (!call(WRITE, &x, &res))
		return false;
	skip_wcc(&res);
	if (xdr_get_u32(&res) != BLOCK)
		errx(1, "short write");
	got = xdr_get_u32(&res);
	if (got < how)
		errx(1, "less stable than asked");
	saw(xdr_get_u64(&res));
	b->acked = b->sent;
	b->verf = verf;
	if (got != UNSTABLE)
		b->promised = b->sent;
	writes++;
	return true;
}

static bool
commit(void)
{
	struct xdr_out x;
	struct xdr_in res;
	size_t i;

	durable_begin(&x);
	durable_put_fh(&x, &fh);
	xdr_put_u64(&x, 0);
	xdr_put_u32(&x, 0);
	if (!call(COMMIT, &x, &res))
		return false;
	skip_wcc(&res);
	saw(xdr_get_u64(&res));
	for (i = 0; i < BLOCKS; i++)
		if (blocks[i].acked > blocks[i].promised &&
		    blocks[i].verf == verf)
			blocks[i].promised = blocks[i].acked;
	commits++;
	return true;
}

/* The count in a block; all its words must agree. */
static bool
read_block(uint32_t n, uint32_t *count)
{
	uint8_t attr[84];
	uint32_t data[BLOCK / 4];
	struct xdr_out x;
	struct xdr_in res;
	struct slice s;
	size_t i;

	durable_begin(&x);
	durable_put_fh(&x, &fh);
	xdr_put_u64(&x, (uint64_t)n * BLOCK);
	xdr_put_u32(&x, BLOCK);
	if (!call(READ, &x, &res))
		return false;
	if (xdr_get_bool(&res))
		xdr_get_fixed(&res, attr, 84);
	xdr_get_u32(&res);
	xdr_get_bool(&res);
	s = xdr_get_opaque(&res, BLOCK);
	memset(data, 0, sizeof(data));
	memcpy(data, s.data, s.len);
	*count = data[1];
	for (i = 0; i < BLOCK / 4 && data[1] != 0; i += 2)
		if (data[i] != n || data[i + 1] != *count) {
			printf("block %u is torn\n", n);
			broken++;
			break;
		}
	return true;
}

/* Is everything that was promised there? */
static bool
look(bool same_server)
{
	uint32_t n, count, least;

	for (n = 0; n < BLOCKS; n++) {
		struct block *b = &blocks[n];

		if (!read_block(n, &count))
			return false;
		least = b->promised;
		if (same_server && b->verf == verf && b->acked > least)
			least = b->acked;
		if (count < least || count > b->sent) {
			printf("block %u: %u, promised %u, sent %u\n", n, count,
			    least, b->sent);
			broken++;
		}
		lost += count < b->acked;
		/* what is there now is what counts from here on */
		b->acked = b->promised > count ? b->promised : count;
		b->verf = verf;
		checks++;
	}
	return true;
}

/* Waits for the server; the verifier tells whether it is the same one. */
static void
reconnect(void)
{
	struct timespec pause = { 0, 20000000 };
	uint64_t before = verf;

	while (!connect_to(&nfsd, 100003) || !commit() ||
	    !look(verf == before) || !names_look()) {
		if (time(NULL) >= end || stopped)
			return;
		nanosleep(&pause, NULL);
	}
	reconnects++;
	printf("looked at all blocks, verifier %016llx\n",
	    (unsigned long long)verf);
}

/*
 * One call. Now and then a while without any promise: something to lose. A
 * change of names that is promised also syncs what was written before.
 */
static bool
step(void)
{
	if (careless > 0)
		careless--;
	else if (durable_random(40) == 0)
		careless = durable_random(200);
	else if (durable_random(12) == 0)
		return commit();
	if ((careless == 0 || !names_promised) && durable_random(3) == 0)
		return names_change();
	return write_block(durable_random(BLOCKS));
}

static void
set_address(struct sockaddr_in *at, const char *host, const char *port)
{
	at->sin_family = AF_INET;
	at->sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (inet_aton(host, &at->sin_addr) == 0)
		errx(2, "%s: not an address", host);
}

static void
on_term(int sig)
{
	stopped = sig;
}

int
main(int argc, char *argv[])
{
	if (argc != 6 && (argc != 7 || strcmp(argv[6], "datasync") != 0))
		errx(2,
		    "usage: durable address port mountport export seconds "
		    "[datasync]");
	names_promised = argc == 6;
	names_init(names_promised);
	set_address(&nfsd, argv[1], argv[2]);
	set_address(&mountd, argv[1], argv[3]);
	end = time(NULL) + strtol(argv[5], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_term }, NULL);
	make_file(argv[4]);
	while (time(NULL) < end && !stopped)
		if (!step())
			reconnect();
	printf("%lu writes, %lu commits, %lu blocks looked at, "
	       "%lu reconnects, %lu new verifiers, %lu unstable writes lost, "
	       "%lu broken promises\n",
	    writes, commits, checks, reconnects, changes, lost, broken);
	return (names_report() | broken) != 0;
}
