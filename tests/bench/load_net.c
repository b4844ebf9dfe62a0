/* SPDX-License-Identifier: ISC */
/*
 * Connections of the load generator on epoll. Replies are read in large pieces.
 * Only the head of a reply is kept, and the kernel drops data that the judge
 * does not need, so that the client takes little CPU.
 * Runs in: the load generator.
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

#include "load.h"

#define IN_SIZE	     65536
#define REQUEST_ROOM 512 /* a request without its data */
#define AGAIN_NS     1000000000u /* UDP: ask again after a second */
#define EVENTS	     256
#define LAST	     0x80000000u

struct conn {
	int fd;
	SSL *tls; /* NULL: plain */
	unsigned int number;
	struct load_slot *slots;
	/* the record being read: marker, rest of the fragment, head */
	uint8_t marker[4];
	unsigned int marker_len;
	uint32_t left;
	bool last;
	uint8_t *rec;
	size_t rec_len, rec_cap, rec_whole;
	/* bytes that could not be sent at once */
	uint8_t *out;
	size_t out_len, out_done, out_cap;
	bool waiting; /* for EPOLLOUT */
};

struct net {
	struct load *load;
	int epoll;
	struct conn *conns;
	uint32_t xid;
	bool counting;
	uint64_t now;
	uint8_t *in;
};

/* Many clients on one machine: 127.1.0.1 and up. */
static int
bind_source(const struct load *l, int fd, unsigned int number)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	int on = 1;

	if (l->sources == 0)
		return 0;
	from.sin_addr.s_addr = htonl(0x7f010001 + number % l->sources);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	return bind(fd, (struct sockaddr *)&from, sizeof(from));
}

static int
open_conn(struct net *net, struct conn *c, unsigned int number)
{
	const struct load *l = net->load;
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
	bool whole = l->verify || (l->work->needs & LOAD_NEEDS_WHOLE);
	unsigned int i;
	int on = 1;

	c->number = number;
	c->fd = socket(l->to.ss_family,
	    (l->udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	if (c->fd == -1 || bind_source(l, c->fd, number) == -1 ||
	    connect(c->fd, (const struct sockaddr *)&l->to, l->to_len) == -1)
		return -1;
	if (!l->udp)
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (l->tls != LOAD_PLAIN)
		c->tls = load_tls_open(l, c->fd);
	c->rec_cap = whole ? LOAD_REPLY_WHOLE : LOAD_REPLY_HEAD;
	if (l->verify && l->work->size > 65536)
		c->rec_cap += l->work->size;
	c->rec = malloc(c->rec_cap);
	c->out_cap = l->depth * (REQUEST_ROOM + l->work->size);
	c->out = malloc(c->out_cap);
	c->slots = calloc(l->depth, sizeof(*c->slots));
	if (c->rec == NULL || c->out == NULL || c->slots == NULL)
		return -1;
	for (i = 0; i < l->depth; i++)
		c->slots[i].number = i;
	return epoll_ctl(net->epoll, EPOLL_CTL_ADD, c->fd, &ev);
}

static void
want_write(struct net *net, struct conn *c, bool want)
{
	struct epoll_event ev = { .events = want ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.ptr = c };

	if (c->waiting != want)
		epoll_ctl(net->epoll, EPOLL_CTL_MOD, c->fd, &ev);
	c->waiting = want;
}

static void
flush(struct net *net, struct conn *c)
{
	ssize_t n;

	while (c->out_done < c->out_len) {
		n = c->tls != NULL ?
		    load_tls_send(c->tls, c->out + c->out_done,
			c->out_len - c->out_done) :
		    send(c->fd, c->out + c->out_done, c->out_len - c->out_done,
			MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
			want_write(net, c, true);
			return;
		}
		if (n == -1)
			err(1, "send");
		c->out_done += (size_t)n;
	}
	c->out_len = c->out_done = 0;
	want_write(net, c, false);
}

/* Sends a datagram, or a record behind the unsent bytes. */
static void
send_slot(struct net *net, struct conn *c, struct load_slot *s)
{
	const struct load *l = net->load;
	size_t at, n;
	uint32_t marker;

	if (c->out_done > 0) { /* make room behind the unsent bytes */
		memmove(c->out, c->out + c->out_done, c->out_len - c->out_done);
		c->out_len -= c->out_done;
		c->out_done = 0;
	}
	at = c->out_len + (l->udp ? 0 : 4);
	n = load_encode(l, s, c->out + at, c->out_cap - at);
	if (n == 0)
		errx(1, "request does not fit");
	s->sent_ns = net->now;
	s->busy = true;
	if (l->udp) {
		if (send(c->fd, c->out, n, MSG_NOSIGNAL) == -1 &&
		    errno != ECONNREFUSED)
			err(1, "send");
		return;
	}
	marker = htonl(LAST | (uint32_t)n);
	memcpy(c->out + c->out_len, &marker, 4);
	c->out_len += 4 + n;
}

static void
next_request(struct net *net, struct conn *c, struct load_slot *s)
{
	s->xid = net->xid++ * LOAD_SLOTS_MAX + s->number;
	net->load->work->next(net->load, c->number, s);
	send_slot(net, c, s);
}

static void
got_reply(struct net *net, struct conn *c, const uint8_t *rec, size_t len,
    size_t whole)
{
	struct load *l = net->load;
	struct load_slot *s;
	uint32_t xid;

	if (len < 24)
		errx(1, "reply of %zu bytes", len);
	memcpy(&xid, rec, 4);
	xid = ntohl(xid);
	if (xid % LOAD_SLOTS_MAX >= l->depth)
		errx(1, "reply with unknown xid");
	s = &c->slots[xid % LOAD_SLOTS_MAX];
	if (!s->busy || s->xid != xid) {
		if (!l->udp)
			errx(1, "reply to no request");
		return; /* to a repeated datagram */
	}
	s->busy = false;
	load_judge(l, s, rec, len, whole);
	if (net->counting)
		load_times_add(l->times, net->now - s->sent_ns);
	next_request(net, c, s);
}

/* Takes bytes of the stream. A whole record goes to got_reply(). */
static void
take(struct net *net, struct conn *c, const uint8_t *p, size_t n)
{
	size_t part, keep;
	uint32_t marker;

	while (n > 0) {
		if (c->left == 0) {
			c->marker[c->marker_len++] = *p++;
			n--;
			if (c->marker_len < 4)
				continue;
			memcpy(&marker, c->marker, 4);
			marker = ntohl(marker);
			c->marker_len = 0;
			c->left = marker & ~LAST;
			c->last = (marker & LAST) != 0;
		}
		part = n < c->left ? n : c->left;
		keep = c->rec_cap - c->rec_len < part ?
		    c->rec_cap - c->rec_len :
		    part;
		memcpy(c->rec + c->rec_len, p, keep);
		c->rec_len += keep;
		c->rec_whole += part;
		c->left -= (uint32_t)part;
		p += part;
		n -= part;
		if (c->left == 0 && c->last) {
			size_t len = c->rec_len, whole = c->rec_whole;

			c->rec_len = c->rec_whole = 0;
			got_reply(net, c, c->rec, len, whole);
		}
	}
}

static void
read_stream(struct net *net, struct conn *c)
{
	ssize_t n;

	for (;;) {
		/* in the middle of unneeded data: drop it in the kernel */
		bool drop = c->tls == NULL && c->rec_len == c->rec_cap &&
		    c->left > IN_SIZE / 4;

		n = drop ?
		    recv(c->fd, NULL, c->left - 1, MSG_TRUNC | MSG_DONTWAIT) :
		    c->tls != NULL ?
		    load_tls_recv(c->tls, net->in, IN_SIZE) :
		    recv(c->fd, net->in, IN_SIZE, MSG_DONTWAIT);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0)
			errx(1, "the server closed the connection");
		if (drop) {
			c->left -= (uint32_t)n;
			c->rec_whole += (size_t)n;
			continue;
		}
		take(net, c, net->in, (size_t)n);
		/* Of TLS, one record at a time: bytes in the library raise no
		 * event. */
		if (n < IN_SIZE && c->tls == NULL)
			break;
	}
	if (!c->waiting)
		flush(net, c);
}

static void
read_datagrams(struct net *net, struct conn *c)
{
	ssize_t n;

	while ((n = recv(c->fd, net->in, IN_SIZE, MSG_DONTWAIT)) > 0)
		got_reply(net, c, net->in, (size_t)n, (size_t)n);
}

/* Datagrams get lost: repeats calls without a reply. */
static void
repeat_lost(struct net *net)
{
	struct load *l = net->load;
	unsigned int i, j;

	for (i = 0; i < l->conns; i++)
		for (j = 0; j < l->depth; j++) {
			struct load_slot *s = &net->conns[i].slots[j];

			if (s->busy && net->now - s->sent_ns > AGAIN_NS) {
				l->retrans++;
				send_slot(net, &net->conns[i], s);
			}
		}
}

static void
run_until(struct net *net, uint64_t end)
{
	struct epoll_event ev[EVENTS];
	uint64_t repeat = net->now + AGAIN_NS / 4;
	int i, n;

	while ((net->now = load_now_ns()) < end) {
		n = epoll_wait(net->epoll, ev, EVENTS, 20);
		net->now = load_now_ns();
		for (i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (net->load->udp)
				read_datagrams(net, c);
			else if (ev[i].events & EPOLLOUT)
				flush(net, c);
			if (!net->load->udp &&
			    (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
				read_stream(net, c);
		}
		if (net->load->udp && net->now > repeat) {
			repeat_lost(net);
			repeat = net->now + AGAIN_NS / 4;
		}
	}
}

static void
clear_counts(struct load *l)
{
	l->ops = l->units = l->bytes = l->errors = l->retrans = 0;
	l->first_error[0] = '\0';
	load_times_clear(l->times);
}

static int
open_all(struct load *l, struct net *net)
{
	unsigned int i;

	net->load = l;
	/*
	 * Wireshark distinguishes calls over UDP by their xid alone, so xids
	 * grow from one run of this program to the next.
	 */
	net->xid = (uint32_t)(load_now_ns() >> 12) & 0x3ffffff;
	net->epoll = epoll_create1(EPOLL_CLOEXEC);
	net->conns = calloc(l->conns, sizeof(*net->conns));
	net->in = malloc(IN_SIZE);
	if (net->epoll == -1 || net->conns == NULL || net->in == NULL)
		return -1;
	for (i = 0; i < l->conns; i++)
		if (open_conn(net, &net->conns[i], i) == -1)
			return -1;
	return 0;
}

int
load_run(struct load *l, double warm_seconds, double seconds)
{
	struct net net = { 0 };
	unsigned int i, j;
	uint64_t start;

	if (open_all(l, &net) == -1)
		return -1;
	net.now = load_now_ns();
	for (i = 0; i < l->active; i++) {
		for (j = 0; j < l->depth; j++)
			next_request(&net, &net.conns[i],
			    &net.conns[i].slots[j]);
		if (!l->udp)
			flush(&net, &net.conns[i]);
	}
	run_until(&net, net.now + (uint64_t)(warm_seconds * 1e9));
	clear_counts(l);
	net.counting = true;
	start = load_now_ns();
	if (l->started != NULL)
		l->started(l);
	run_until(&net, start + (uint64_t)(seconds * 1e9));
	l->elapsed = (double)(load_now_ns() - start) / 1e9;
	return 0;
}
