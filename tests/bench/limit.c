/* SPDX-License-Identifier: ISC */
/*
 * The limit server's loop: one thread, epoll, replies of one input batch sent
 * by one send.
 *
 *	limit [-s] DIRECTORY PORT	(-s: names are synced)
 *
 * Loopback only.
 * Runs in: make bench.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

#define CONNS_MAX 20100
#define IN_SIZE	  (2u << 20)
#define LAST	  0x80000000u

/* An incomplete record, and unsent replies. */
struct conn {
	uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_len, out_done;
};

static struct conn conns[CONNS_MAX];
static uint8_t in[IN_SIZE], out[LIMIT_REPLY_MAX * 4];
static int epoll, tcp, udp;

static void
watch(int fd, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (epoll_ctl(epoll, op, fd, &ev) == -1)
		err(1, "epoll");
}

static int
bound(int type, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd == -1 || bind(fd, (struct sockaddr *)&at, sizeof(at)) == -1)
		err(1, "port %u", port);
	if (type == SOCK_STREAM && listen(fd, 4096) == -1)
		err(1, "listen");
	watch(fd, EPOLL_CTL_ADD, EPOLLIN);
	return fd;
}

static void
drop(int fd)
{
	free(conns[fd].in);
	free(conns[fd].out);
	conns[fd] = (struct conn){ 0 };
	close(fd);
}

static void
keep(uint8_t **to, size_t *to_len, const uint8_t *from, size_t len)
{
	uint8_t *copy = realloc(*to, len > 0 ? len : 1);

	if (copy == NULL)
		err(1, "memory");
	memmove(copy, from, len);
	*to = copy;
	*to_len = len;
}

/* Sends. Bytes that the socket does not take are kept until it does. */
static void
push(int fd, const uint8_t *p, size_t len)
{
	ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

	if (n == -1 && errno != EAGAIN) {
		drop(fd);
		return;
	}
	if (n < 0)
		n = 0;
	if ((size_t)n == len)
		return;
	keep(&conns[fd].out, &conns[fd].out_len, p + n, len - (size_t)n);
	conns[fd].out_done = 0;
	watch(fd, EPOLL_CTL_MOD, EPOLLOUT);
}

static void
push_more(int fd)
{
	struct conn *c = &conns[fd];
	ssize_t n = send(fd, c->out + c->out_done, c->out_len - c->out_done,
	    MSG_NOSIGNAL);

	if (n == -1) {
		if (errno != EAGAIN)
			drop(fd);
		return;
	}
	c->out_done += (size_t)n;
	if (c->out_done < c->out_len)
		return;
	free(c->out);
	c->out = NULL;
	c->out_len = 0;
	watch(fd, EPOLL_CTL_MOD, EPOLLIN);
}

static void
stream(int fd)
{
	struct conn *c = &conns[fd];
	size_t len = c->in_len, at = 0, reply = 0, n;
	uint32_t marker;
	ssize_t got;

	memcpy(in, c->in == NULL ? in : c->in, len);
	got = recv(fd, in + len, IN_SIZE - len, 0);
	if (got <= 0) {
		if (got == 0 || errno != EAGAIN)
			drop(fd);
		return;
	}
	len += (size_t)got;
	while (len - at >= 4) {
		memcpy(&marker, in + at, 4);
		n = ntohl(marker) & ~LAST;
		if (len - at - 4 < n || sizeof(out) - reply < LIMIT_REPLY_MAX)
			break;
		at += 4;
		got = (ssize_t)limit_serve(in + at, n, out + reply + 4,
		    LIMIT_REPLY_MAX - 4);
		at += n;
		marker = htonl(LAST | (uint32_t)got);
		memcpy(out + reply, &marker, 4);
		reply += 4 + (size_t)got;
	}
	keep(&c->in, &c->in_len, in + at, len - at);
	if (reply > 0)
		push(fd, out, reply);
}

static void
datagrams(void)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t n;
	size_t len;

	while ((n = recvfrom(udp, in, IN_SIZE, 0, (struct sockaddr *)&from,
		    &size)) > 0) {
		len = limit_serve(in, (size_t)n, out, LIMIT_REPLY_MAX);
		sendto(udp, out, len, 0, (struct sockaddr *)&from, size);
	}
}

static void
accept_all(void)
{
	int fd, on = 1;

	while ((fd = accept4(tcp, NULL, NULL, SOCK_NONBLOCK)) != -1) {
		if (fd >= CONNS_MAX) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		watch(fd, EPOLL_CTL_ADD, EPOLLIN);
	}
}

int
main(int argc, char *argv[])
{
	struct epoll_event ev[256];
	bool synced = argc > 1 && strcmp(argv[1], "-s") == 0;
	int i, n;

	argv += synced;
	if (argc != 3 + synced)
		errx(2, "usage: limit [-s] DIRECTORY PORT");
	if (limit_ops_init(argv[1], synced) == -1)
		err(1, "%s", argv[1]);
	epoll = epoll_create1(0);
	tcp = bound(SOCK_STREAM, (uint16_t)strtoul(argv[2], NULL, 10));
	udp = bound(SOCK_DGRAM, (uint16_t)strtoul(argv[2], NULL, 10));
	while ((n = epoll_wait(epoll, ev, 256, -1)) != -1 || errno == EINTR)
		for (i = 0; i < n; i++) {
			int fd = ev[i].data.fd;

			if (fd == tcp)
				accept_all();
			else if (fd == udp)
				datagrams();
			else if (ev[i].events & EPOLLOUT)
				push_more(fd);
			else
				stream(fd);
		}
	return 0;
}
