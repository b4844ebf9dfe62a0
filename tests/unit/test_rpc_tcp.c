/* SPDX-License-Identifier: ISC */
/*
 * Streams over real sockets: framing, pipelining, deferred replies, fairness.
 * test_rpc_conn.c tests the limits.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"
#include "tap.h"

#define HOST_CONNS  12
#define HOST_CALLS  20
#define PLACES	    16
#define PLACE_CONNS 17
#define PLACE_CALLS 200

static uint8_t buf[1 << 20];

/* Writes a framed call to buf. Returns its length. */
static size_t
framed(uint32_t xid, enum stub_proc proc, uint32_t arg)
{
	size_t len;

	arg = htonl(arg);
	len = stub_message(buf + 4, 256, xid, proc, &arg, 4);
	stub_mark(buf, len, true);
	return 4 + len;
}

/*
 * Reads a reply of at most 64 bytes, and returns one of its words in host order:
 * 0 is the xid, 6 the first word of the result. Returns 0 at the end.
 */
static uint32_t
reply_word(int fd, size_t i)
{
	uint32_t mark, in[17];

	if (recv(fd, &mark, 4, MSG_WAITALL) != 4)
		return 0;
	mark = ntohl(mark) & 0x7fffffff;
	if (mark > sizeof(in) || mark < (i + 1) * 4 ||
	    recv(fd, in, mark, MSG_WAITALL) != (int)mark)
		return 0;
	return ntohl(in[i]);
}

static uint32_t
reply_xid(int fd)
{
	return reply_word(fd, 0);
}

static void
test_kinds(const struct stub_server *s)
{
	uint32_t out[8];
	const char *why;
	int fd;

	fd = stub_tcp(s);
	cmp_ok(stub_call(fd, true, STUB_WHO, NULL, 0, out, 6, &why), "==", 6,
	    "a call over tcp is answered");
	cmp_ok(out[0], "==", RPC_TCP, "the operation knows the transport");
	ok(out[4] == 0x7f000001 && out[5] == s->tcp_port,
	    "the operation knows the asked address");
	close(fd);
	fd = stub_unix(s);
	cmp_ok(stub_call(fd, true, STUB_WHO, NULL, 0, out, 6, &why), "==", 6,
	    "a call over a unix socket is answered");
	cmp_ok(out[0], "==", RPC_UNIX, "the operation knows the transport");
	cmp_ok(out[2], "==", getuid(),
	    "the operation knows the user at the other end");
	close(fd);
}

/* Record mark and call are sent in single bytes. */
static void
test_pieces(const struct stub_server *s)
{
	uint8_t tiny[5];
	size_t i, len;
	int fd;

	fd = stub_tcp(s);
	len = framed(11, STUB_NULL, 0);
	for (i = 0; i < len; i++)
		(void)send(fd, buf + i, 1, 0);
	cmp_ok(reply_xid(fd), "==", 11,
	    "a record sent byte by byte is answered");
	len = framed(12, STUB_NULL, 0);
	for (i = 4; i < len; i++) {
		stub_mark(tiny, 1, i + 1 == len);
		tiny[4] = buf[i];
		(void)send(fd, tiny, 5, 0);
	}
	cmp_ok(reply_xid(fd), "==", 12,
	    "a record in fragments of one byte is answered");
	close(fd);
}

/* 10,000 calls in one burst. */
static void
test_burst(const struct stub_server *s)
{
	uint32_t xid, got, bad;
	size_t len, at;
	ssize_t n;
	int fd;

	fd = stub_tcp(s);
	len = 0;
	for (xid = 1; xid <= 10000; xid++) {
		uint8_t one[64];

		at = stub_message(one + 4, 60, xid, STUB_NULL, NULL, 0);
		stub_mark(one, at, true);
		memcpy(buf + len, one, at + 4);
		len += at + 4;
	}
	for (at = 0, got = bad = 0; at < len; at += (size_t)n) {
		n = send(fd, buf + at, len - at, MSG_DONTWAIT);
		if (n > 0)
			continue;
		n = 0;
		if (reply_xid(fd) != ++got)
			bad++;
	}
	while (got < 10000)
		if (reply_xid(fd) != ++got)
			bad++;
	cmp_ok(bad, "==", 0, "10,000 calls at once: all answered, in order");
	close(fd);
}

/* Half-closed streams, trailing bytes, and messages that are not RPC. */
static void
test_ends(const struct stub_server *s)
{
	uint8_t byte;
	size_t len;
	int fd;

	fd = stub_tcp(s);
	(void)send(fd, buf, framed(21, STUB_NULL, 0), 0);
	shutdown(fd, SHUT_WR);
	cmp_ok(reply_xid(fd), "==", 21, "a half-closed peer gets its reply");
	cmp_ok(recv(fd, &byte, 1, 0), "==", 0, "the server closes afterwards");
	close(fd);

	fd = stub_tcp(s);
	(void)framed(22, STUB_NULL, 0);
	len = s->limits.record_max;
	memset(buf + 64, 0xee, sizeof(buf) - 64);
	stub_mark(buf, len, true);
	(void)send(fd, buf, sizeof(buf), 0);
	for (len -= sizeof(buf) - 4; len > 0; len--)
		(void)send(fd, "\xee", 1, len > 1 ? MSG_MORE : 0);
	cmp_ok(reply_xid(fd), "==", 22, "trailing garbage is ignored");
	close(fd);

	fd = stub_tcp(s);
	(void)send(fd, "\x80\0\0\4junk", 8, 0);
	cmp_ok(recv(fd, &byte, 1, 0), "==", 0,
	    "a message that is not RPC closes the connection");
	close(fd);
}

static void
test_large(const struct stub_server *s)
{
	static uint32_t data[STUB_DATA / 4];
	uint32_t *out, n;
	const char *why;
	size_t i;
	int fd;

	fd = stub_tcp(s);
	out = malloc(sizeof(data));
	if (out == NULL)
		BAIL_OUT("no memory");
	data[0] = htonl(1000000);
	for (i = 1; i < 250001; i++)
		data[i] = (uint32_t)i * 2654435761u;
	n = 250001;
	cmp_ok(stub_call(fd, true, STUB_ECHO, data, 4 * n, out, n, &why),
	    "==", n, "a megabyte is echoed");
	for (i = 1; i < n && htonl(out[i]) == data[i];)
		i++;
	cmp_ok(i, "==", n, "all its bytes are the same");
	n = htonl(1040000);
	cmp_ok(stub_call(fd, true, STUB_BYTES, &n, 4, out, 1, &why),
	    "==", 260001, "a megabyte made in place is sent");
	free(out);
	close(fd);
}

/* Two calls in one batch, with replies of so many bytes. */
static unsigned int
joined(const struct stub_server *s, uint32_t bytes)
{
	static uint8_t both[512], reply[300100];
	size_t len = framed(31, STUB_BYTES, bytes);
	int fd = stub_tcp(s), i;

	memcpy(both, buf, len);
	(void)framed(32, STUB_BYTES, bytes);
	memcpy(both + len, buf, len);
	stub_joined = 0;
	(void)send(fd, both, 2 * len, 0);
	for (i = 0; i < 2; i++)
		(void)recv(fd, reply, 4 + 24 + 4 + bytes, MSG_WAITALL);
	close(fd);
	return stub_joined;
}

static void
test_batch(const struct stub_server *s)
{
	cmp_ok(joined(s, 100), "==", 1,
	    "a call of a batch begins when the one before it has ended");
	cmp_ok(joined(s, 300000), "==", 0, "or has been sent");
}

/* Random bytes, and calls with one wrong byte. */
static void
test_noise(const struct stub_server *s)
{
	uint32_t seed = 12345, i, j;
	const char *why;
	size_t len;
	int fd;

	for (i = 0; i < 300; i++) {
		fd = stub_tcp(s);
		len = framed(i, STUB_BYTES, 10);
		for (j = 0; j < (i % 3 == 0 ? len : 1); j++) {
			seed = seed * 1664525 + 1013904223;
			buf[(i % 3 == 0 ? j : seed >> 8) % len] =
			    (uint8_t)(seed >> 24);
		}
		(void)send(fd, buf, len, MSG_NOSIGNAL);
		close(fd);
	}
	fd = stub_tcp(s);
	cmp_ok(stub_call(fd, true, STUB_NULL, NULL, 0, NULL, 0, &why), "==", 0,
	    "calls are answered after noise on 300 connections");
	close(fd);
}

/* Sends calls of 5 ms each, without waiting for their replies. */
static void
send_work(int fd, uint32_t count)
{
	size_t len = 0, n;
	uint32_t xid;

	for (xid = 1; xid <= count; xid++) {
		n = stub_message(buf + len + 4, 124, xid, STUB_WORK, NULL, 0);
		stub_mark(buf + len, n, true);
		len += n + 4;
	}
	(void)send(fd, buf, len, 0);
}

/* Few calls that take long are as much as many short ones. */
static void
test_time(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	uint32_t out[1] = { 0 }, xid;
	const char *why;
	int busy, other;

	stub_start(&s);
	busy = stub_tcp(&s);
	other = stub_tcp(&s);
	send_work(busy, 100);
	cmp_ok(stub_call(other, true, STUB_WORK, NULL, 0, out, 1, &why),
	    "==", 1, "a call beside 100 that take 5 ms each is answered");
	cmp_ok(out[0], "<", 50, "it does not wait for all of them");
	for (xid = 1; xid <= 100 && reply_xid(busy) == xid; xid++)
		;
	cmp_ok(xid, "==", 101, "all of them are answered in order");
	close(busy);
	close(other);
	stub_stop(&s);
}

/*
 * A host with many connections gets no more than one with one. Its own
 * connections are served by rotation.
 */
static void
test_hosts(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	int busy[HOST_CONNS], other, last, i, answered = 0;
	struct pollfd pfd[HOST_CONNS];
	uint32_t first, second, third;

	stub_start(&s);
	for (i = 0; i < HOST_CONNS; i++) {
		busy[i] = stub_tcp(&s);
		send_work(busy[i], HOST_CALLS);
		pfd[i] = (struct pollfd){ .fd = busy[i], .events = POLLIN };
	}
	other = stub_tcp_from(&s, "127.0.0.2");
	send_work(other, 3);
	last = stub_tcp(&s);
	send_work(last, 1);
	first = reply_word(other, 6);
	second = reply_word(other, 6);
	third = reply_word(other, 6);
	ok(first > 0 && second > first && third > second,
	    "calls beside %d connections of another host are answered",
	    HOST_CONNS);
	ok(second - first <= 3 && third - second <= 3,
	    "each waits for one turn of that host (%u and %u calls)",
	    second - first, third - second);
	ok(reply_word(last, 6) < first + HOST_CONNS * HOST_CALLS / 2,
	    "another connection of that host has its turn");
	(void)poll(pfd, HOST_CONNS, 0);
	for (i = 0; i < HOST_CONNS; i++)
		answered += (pfd[i].revents & POLLIN) != 0;
	cmp_ok(answered, "==", HOST_CONNS,
	    "those before it had theirs: they are served by rotation");
	for (i = 0; i < HOST_CONNS; i++)
		close(busy[i]);
	close(last);
	close(other);
	stub_stop(&s);
}

static void
test_late(void)
{
	struct stub_server s = {
		.limits = rpc_limits_default, .threads = 4, .queue = 8
	};
	uint32_t xid, seen;
	size_t len;
	int fd, gone;

	stub_start(&s);
	fd = stub_tcp(&s);
	(void)send(fd, buf, framed(1, STUB_WAIT, 0), 0);
	stub_wait_for(1);
	(void)send(fd, buf, framed(2, STUB_NULL, 0), 0);
	cmp_ok(reply_xid(fd), "==", 2, "a call overtakes a deferred one");
	gone = stub_tcp(&s);
	(void)send(gone, buf, framed(3, STUB_WAIT, 0), 0);
	stub_wait_for(2);
	close(gone);
	stub_go(2);
	cmp_ok(reply_xid(fd), "==", 1,
	    "the deferred call is answered in the end");

	/* More calls than threads and queue hold: the rest is not read yet. */
	for (xid = 10, len = 0; xid < 42; xid++) {
		uint8_t one[128];
		size_t n;

		n = stub_message(one + 4, 124, xid, STUB_WAIT, NULL, 0);
		stub_mark(one, n, true);
		memcpy(buf + len, one, n + 4);
		len += n + 4;
	}
	(void)send(fd, buf, len, 0);
	shutdown(fd, SHUT_WR);
	stub_go(32);
	for (xid = 10, seen = 0; xid < 42; xid++)
		seen |= UINT32_C(1) << ((reply_xid(fd) - 10) & 31);
	cmp_ok(seen, "==", 0xffffffff,
	    "no call is lost if threads and queue are full");
	close(fd);
	stub_stop(&s);
}

/* Lets waiting calls end until fd has a reply. Returns how many others had one. */
static unsigned int
others_before(int fd, struct pollfd *pfd, size_t n)
{
	unsigned int others = 0;
	bool mine = false;
	size_t i;

	while (!mine && others < 16 * PLACES) {
		stub_go(1);
		(void)poll(pfd, n, -1);
		for (i = 0; i < n; i++) {
			if ((pfd[i].revents & POLLIN) == 0)
				continue;
			(void)reply_xid(pfd[i].fd);
			if (pfd[i].fd == fd)
				mine = true;
			else
				others++;
		}
	}
	return others;
}

/*
 * A host has more calls than threads and places, over many connections. Another
 * host's call gets one of the next places. Leaves calls that may go on: the last.
 */
static void
test_places(void)
{
	struct stub_server s = {
		.limits = rpc_limits_default, .threads = 4, .queue = PLACES
	};
	struct pollfd pfd[PLACE_CONNS];
	size_t len = 0, n, i;
	uint32_t xid;

	stub_start(&s);
	for (xid = 1; xid <= PLACE_CALLS; xid++) {
		n = stub_message(buf + len + 4, 124, xid, STUB_WAIT, NULL, 0);
		stub_mark(buf + len, n, true);
		len += n + 4;
	}
	for (i = 0; i < PLACE_CONNS; i++) {
		pfd[i] = (struct pollfd){ .events = POLLIN };
		pfd[i].fd = i < PLACE_CONNS - 1 ?
		    stub_tcp(&s) :
		    stub_tcp_from(&s, "127.0.0.2");
		if (i == PLACE_CONNS - 1) {
			stub_wait_for(3);
			len = framed(1, STUB_WAIT, 0);
		}
		(void)send(pfd[i].fd, buf, len, 0);
	}
	cmp_ok(others_before(pfd[i - 1].fd, pfd, i), "<", 8 * PLACES,
	    "a host that fills all places keeps no other out");
	while (i > 0)
		close(pfd[--i].fd);
	stub_go(PLACE_CALLS * PLACE_CONNS);
	stub_stop(&s);
}

/* A call over UDP while another client asks for megabytes without pause. */
static void
test_fairness(const struct stub_server *s)
{
	const char *why;
	uint32_t out[1], n = htonl(8192);
	int64_t start, took, best;
	int fd, udp, i, j;
	ssize_t got;
	size_t len;

	fd = stub_tcp(s);
	udp = stub_udp(s);
	best = 1000000;
	for (i = 0; i < 20; i++) {
		len = framed(1, STUB_BYTES, 1000000);
		for (j = 0; j < 16; j++)
			(void)send(fd, buf, len, MSG_DONTWAIT);
		start = stub_ms();
		if (stub_call(udp, false, STUB_BYTES, &n, 4, out, 1, &why) < 0)
			break;
		took = stub_ms() - start;
		best = took < best ? took : best;
		while ((got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
			;
	}
	ok(i == 20 && best <= 20 * TEST_SLACK,
	    "8 KiB by UDP beside a stream: %lld ms", (long long)best);
	close(fd);
	close(udp);
}

/* Connects again as Linux does: from the same port, so that repeats are known. */
static int
connect_again(int fd)
{
	const struct linger none = { .l_onoff = 1 };
	const struct timeval limit = { .tv_sec = 20 };
	struct sockaddr_in own, server;
	socklen_t size = sizeof(own);
	int on = 1, next = socket(AF_INET, SOCK_STREAM, 0);

	(void)getsockname(fd, (struct sockaddr *)&own, &size);
	(void)getpeername(fd, (struct sockaddr *)&server, &size);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
	(void)setsockopt(next, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(next, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(next, (struct sockaddr *)&own, size) == -1 ||
	    connect(next, (struct sockaddr *)&server, size) == -1)
		tap_bail_out("no second connection from the same port");
	return next;
}

/* The connection is lost while a call that must not run twice is running. */
static void
test_connected_again(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.threads = 1,
		.queue = 8,
		.cache = 64 };
	uint8_t none;
	int fd;

	stub_start(&s);
	/* No other process uses this address, so its port is free again. */
	fd = stub_tcp_from(&s, "127.0.0.3");
	stub_executed = 0;
	(void)send(fd, buf, framed(5, STUB_SLOW_COUNT, 1), 0);
	stub_wait_for(1);
	fd = connect_again(fd);
	(void)send(fd, buf, framed(5, STUB_SLOW_COUNT, 1), 0);
	(void)send(fd, buf, framed(6, STUB_NULL, 0), 0);
	cmp_ok(reply_xid(fd), "==", 6, "a repeat does not hold up other calls");
	stub_go(1);
	cmp_ok(reply_xid(fd), "==", 5, "it gets the reply of the first call");
	cmp_ok(stub_executed, "==", 1, "which was executed once");
	ok(recv(fd, &none, 1, MSG_DONTWAIT) == -1, "one reply is sent");
	close(fd);
	stub_stop(&s);
}

int
main(void)
{
	struct stub_server s = { .limits = rpc_limits_default, .cache = 64 };

	plan(NO_PLAN);
	stub_start(&s);
	test_kinds(&s);
	test_pieces(&s);
	test_burst(&s);
	test_ends(&s);
	test_large(&s);
	test_batch(&s);
	test_noise(&s);
	test_fairness(&s);
	stub_stop(&s);
	test_late();
	test_connected_again();
	test_time();
	test_hosts();
	test_places();
	done_testing();
}
