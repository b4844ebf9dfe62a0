/* SPDX-License-Identifier: ISC */
/*
 * Calls the NULL procedure of a portmapper as fast as it answers, and measures
 * the server's CPU time:
 *
 *	pmap_bench PID ADDRESS:PORT udp|tcp SOCKETS DEPTH SECONDS
 *
 * SOCKETS clients keep DEPTH calls outstanding each. Prints calls per second,
 * the server's CPU time per call, and calls per second of its CPU time.
 * Runs in: benchmark.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <arpa/inet.h>

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/util.h"
#include "rpc/msg.h"

#define SOCKETS_MAX 256
#define DEPTH_MAX   64
#define CALL_LEN    RPC_HEADER_MIN
#define REPLY_LEN   RPC_REPLY_HEADER
#define LOST_MS	    100

struct client {
	int fd;
	size_t partial; /* bytes of an incomplete reply */
	uint64_t heard_ms;
};

static struct client clients[SOCKETS_MAX];
static size_t nclients, depth;
static bool udp;
static uint8_t call[4 + CALL_LEN];
static uint8_t batch[DEPTH_MAX * sizeof(call)];
static struct mmsghdr out[DEPTH_MAX], in[DEPTH_MAX];
static struct iovec out_iov, in_iov[DEPTH_MAX];
static uint8_t in_bytes[DEPTH_MAX][256];
static uint64_t answered;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* CPU time of the process in nanoseconds. */
static uint64_t
cpu_ns(const char *pid)
{
	unsigned long long ns;
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/schedstat", pid);
	f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%llu", &ns) != 1)
		err(1, "%s", path);
	(void)fclose(f);
	return ns;
}

static size_t
number(const char *text, size_t max)
{
	const char *wrong;
	long long n = strtonum(text, 1, (long long)max, &wrong);

	if (wrong != NULL)
		errx(1, "%s: %s", text, wrong);
	return (size_t)n;
}

static void
prepare(void)
{
	struct rpc_head head = { .xid = 1, .prog = 100000, .vers = 2 };
	uint32_t mark = htonl(0x80000000u | CALL_LEN);
	struct xdr_out x;
	size_t i;

	memcpy(call, &mark, sizeof(mark));
	xdr_out_init(&x, call + 4, CALL_LEN);
	rpc_put_call(&x, &head, NULL);
	out_iov.iov_base = call + 4;
	out_iov.iov_len = CALL_LEN;
	for (i = 0; i < DEPTH_MAX; i++) {
		memcpy(batch + i * sizeof(call), call, sizeof(call));
		out[i].msg_hdr.msg_iov = &out_iov;
		out[i].msg_hdr.msg_iovlen = 1;
		in_iov[i].iov_base = in_bytes[i];
		in_iov[i].iov_len = sizeof(in_bytes[i]);
		in[i].msg_hdr.msg_iov = &in_iov[i];
		in[i].msg_hdr.msg_iovlen = 1;
	}
}

static void
send_calls(const struct client *c, size_t n)
{
	if (n == 0)
		return;
	if (udp)
		(void)sendmmsg(c->fd, out, (unsigned int)n, MSG_DONTWAIT);
	else if (send(c->fd, batch, n * sizeof(call), 0) !=
	    (ssize_t)(n * sizeof(call)))
		err(1, "send");
}

/* Returns the number of whole replies. */
static size_t
receive(struct client *c)
{
	static uint8_t buf[65536];
	ssize_t n;
	size_t whole;
	int got;

	if (udp) {
		got = recvmmsg(c->fd, in, DEPTH_MAX, MSG_DONTWAIT, NULL);
		return got > 0 ? (size_t)got : 0;
	}
	n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n == 0)
		errx(1, "connection closed");
	if (n == -1)
		return 0;
	c->partial += (size_t)n;
	whole = c->partial / (4 + REPLY_LEN);
	c->partial %= 4 + REPLY_LEN;
	return whole;
}

static void
serve_clients(int ep, uint64_t end)
{
	struct epoll_event ev[64];
	struct client *c;
	uint64_t now;
	size_t got, i;
	int n, k;

	while ((now = now_ns()) < end) {
		n = epoll_wait(ep, ev, nitems(ev), LOST_MS);
		for (k = 0; k < n; k++) {
			c = &clients[ev[k].data.u32];
			got = receive(c);
			c->heard_ms = now / 1000000;
			answered += got;
			send_calls(c, got);
		}
		/* Datagrams get lost: start the window again. */
		for (i = 0; udp && i < nclients; i++) {
			c = &clients[i];
			if (now / 1000000 > c->heard_ms + LOST_MS) {
				c->heard_ms = now / 1000000;
				send_calls(c, depth);
			}
		}
	}
}

static int
open_clients(const char *where)
{
	struct sockaddr_storage ss;
	struct epoll_event ev = { .events = EPOLLIN };
	struct addr at;
	socklen_t len;
	size_t i;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (!addr_parse(&at, where))
		errx(1, "%s: not an address with a port", where);
	len = addr_to_sockaddr(&at, at.family, &ss);
	for (i = 0; i < nclients; i++) {
		clients[i].fd = socket(at.family,
		    (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
		if (clients[i].fd == -1 ||
		    connect(clients[i].fd, (struct sockaddr *)&ss, len) == -1)
			err(1, "%s", where);
		ev.data.u32 = (uint32_t)i;
		if (epoll_ctl(ep, EPOLL_CTL_ADD, clients[i].fd, &ev) == -1)
			err(1, "epoll");
		clients[i].heard_ms = now_ns() / 1000000;
		send_calls(&clients[i], depth);
	}
	return ep;
}

int
main(int argc, char *argv[])
{
	uint64_t start, wall, cpu;
	size_t seconds;
	int ep;

	if (argc != 7)
		errx(1,
		    "usage: pmap_bench pid address:port udp|tcp sockets depth seconds");
	udp = strcmp(argv[3], "udp") == 0;
	nclients = number(argv[4], SOCKETS_MAX);
	depth = number(argv[5], DEPTH_MAX);
	seconds = number(argv[6], 60);
	prepare();
	ep = open_clients(argv[2]);
	serve_clients(ep, now_ns() + 200000000); /* warm up */
	answered = 0;
	cpu = cpu_ns(argv[1]);
	start = now_ns();
	serve_clients(ep, start + seconds * 1000000000);
	wall = now_ns() - start;
	cpu = cpu_ns(argv[1]) - cpu;
	if (answered == 0)
		errx(1, "no answer");
	printf("%.0f %.3f %.0f\n", (double)answered * 1e9 / (double)wall,
	    (double)cpu / 1e3 / (double)answered,
	    (double)answered * 1e9 / (double)cpu);
	return 0;
}
