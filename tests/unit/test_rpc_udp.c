/* SPDX-License-Identifier: ISC */
/*
 * Datagrams: replies come from the address that the client asked, in batches,
 * and within the limits. The test uses its own network namespace if it can,
 * since limits do not apply to loopback.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "pool/pool.h"
#include "stub.h"
#include "tap.h"

#define CLIENTS 16

static struct event_base *base;
static struct rpc_server *server;
static struct rpc_udp *udp;
static struct rpc_limits limits;
static uint16_t port;
static uint8_t msg[66000], in[66000];
static int sends_fail, sends_error;

/* The transport under test calls this one instead of libc's. */
int
sendmmsg(int fd, struct mmsghdr *mm, unsigned int n, int flags)
{
	if (sends_fail > 0) {
		sends_fail--;
		errno = sends_error;
		return -1;
	}
	/* Sends three at a time, as a full socket may. */
	return (int)syscall(SYS_sendmmsg, fd, mm, n > 3 ? 3 : n, flags);
}

static void
begin(const char *at)
{
	struct sockaddr_storage ss;
	struct addr a = { .family = 0 };
	socklen_t len = sizeof(ss);
	int fd, off = 0;

	(void)addr_parse(&a, at);
	fd = socket(a.family, SOCK_DGRAM, 0);
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&ss,
		addr_to_sockaddr(&a, a.family, &ss)) == -1 ||
	    getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		BAIL_OUT("bind");
	(void)addr_from_sockaddr(&a, (struct sockaddr *)&ss, len);
	port = a.port;
	udp = rpc_udp_new(base, server, fd, &limits);
}

/* A connected client socket: it gets replies from the asked address only. */
static int
client(const char *to)
{
	struct sockaddr_storage ss;
	struct addr a = { .family = 0 };
	int fd;

	(void)addr_parse(&a, to);
	a.port = port;
	fd = socket(a.family, SOCK_DGRAM, 0);
	if (connect(fd, (struct sockaddr *)&ss,
		addr_to_sockaddr(&a, a.family, &ss)) == -1)
		BAIL_OUT("connect");
	return fd;
}

/* Waits a second for a reply. Returns its length, or -1. */
static ssize_t
reply(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int i;

	for (i = 0; i < 1000; i++) {
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		if (poll(&pfd, 1, 1) == 1)
			return recv(fd, in, sizeof(in), 0);
	}
	return -1;
}

static void
call(int fd, uint32_t xid, enum stub_proc proc, uint32_t arg)
{
	arg = htonl(arg);
	(void)send(fd, msg, stub_message(msg, sizeof(msg), xid, proc, &arg, 4),
	    0);
}

static uint32_t
word(size_t i)
{
	uint32_t v;

	memcpy(&v, in + 4 * i, sizeof(v));
	return ntohl(v);
}

static void
test_addresses(void)
{
	static const char *const v4[] = { "127.0.0.1", "127.0.0.2",
		"127.9.9.9" };
	size_t i;
	int fd;

	begin("0.0.0.0");
	for (i = 0; i < 3; i++) {
		fd = client(v4[i]);
		call(fd, 1, STUB_WHO, 0);
		cmp_ok(reply(fd), "==", 48, "%s answers from that address",
		    v4[i]);
		cmp_ok(word(10), "==", ntohl(inet_addr(v4[i])),
		    "the operation knows the asked address");
		close(fd);
	}
	rpc_udp_free(udp);
	begin("::");
	fd = client("::1");
	call(fd, 1, STUB_WHO, 0);
	cmp_ok(reply(fd), "==", 48, "::1 answers");
	close(fd);
	fd = client("127.0.0.3");
	call(fd, 1, STUB_WHO, 0);
	cmp_ok(reply(fd), "==", 48, "127.0.0.3 answers on the same socket");
	cmp_ok(word(10), "==", 0x7f000003,
	    "the operation sees an IPv4 address");
	close(fd);
	rpc_udp_free(udp);
}

/* Datagrams that are empty, too long or not a call get no reply. */
static void
test_noise(void)
{
	int fd;

	limits.record_max = 60000;
	begin("127.0.0.1");
	limits.record_max = rpc_limits_default.record_max;
	fd = client("127.0.0.1");
	(void)send(fd, "", 0, 0);
	(void)send(fd, "x", 1, 0);
	memset(msg, 0, sizeof(msg));
	(void)stub_message(msg, sizeof(msg), 2, STUB_NULL, NULL, 0);
	(void)send(fd, msg, 65507, 0);
	(void)stub_message(msg + 4, 100, 3, STUB_NULL, NULL, 0);
	stub_mark(msg, 40, true);
	(void)send(fd, msg, 44, 0);
	(void)stub_message(msg, 100, 4, STUB_NULL, NULL, 0);
	msg[7] = RPC_REPLY;
	(void)send(fd, msg, 40, 0);
	call(fd, 5, STUB_NULL, 0);
	cmp_ok(reply(fd), "==", 24, "a call after noise is answered");
	cmp_ok(word(0), "==", 5, "its reply is the first: the noise got none");
	close(fd);
	rpc_udp_free(udp);
}

static void
test_batches(void)
{
	unsigned int i, bad;
	int fd, many[CLIENTS];

	begin("127.0.0.1");
	fd = client("127.0.0.1");
	for (i = 0; i < 100; i++)
		call(fd, i, STUB_BYTES, 100);
	for (i = bad = 0; i < 100; i++)
		if (reply(fd) != 128 || word(0) != i)
			bad++;
	cmp_ok(bad, "==", 0, "100 datagrams at once are answered");
	for (i = 0; i < CLIENTS; i++)
		many[i] = client("127.0.0.1");
	for (i = 0; i < 4 * CLIENTS; i++)
		call(many[i % CLIENTS], i, STUB_BYTES, 9000);
	sends_fail = 5;
	sends_error = EAGAIN;
	for (i = bad = 0; i < 4 * CLIENTS; i++) {
		if (reply(many[i % CLIENTS]) != 9028 || word(0) != i)
			bad++;
		sends_fail = i < 8 ? 1 : 0;
	}
	cmp_ok(bad, "==", 0, "a full socket loses no reply");
	for (i = 0; i < CLIENTS; i++)
		close(many[i]);
	call(fd, 1, STUB_NULL, 0);
	call(fd, 2, STUB_NULL, 0);
	sends_fail = 1;
	sends_error = EPERM;
	ok(reply(fd) == 24 && word(0) == 2,
	    "a reply that cannot be sent is skipped");
	close(fd);
	rpc_udp_free(udp);
}

static void
test_late(void)
{
	struct rpc_pool *pool;
	int fd, i;

	pool = rpc_pool_new(base, 1, 4, NULL, NULL);
	rpc_server_set_pool(server, pool);
	begin("127.0.0.1");
	fd = client("127.0.0.1");
	call(fd, 1, STUB_WAIT, 0);
	call(fd, 2, STUB_NULL, 0);
	ok(reply(fd) == 24 && word(0) == 2, "a call overtakes a deferred one");
	stub_go(1);
	ok(reply(fd) == 28 && word(0) == 1,
	    "the deferred call is answered in the end");
	sends_error = EAGAIN;
	for (i = 0; i < 3; i++) {
		sends_fail = 2;
		stub_go(1);
		call(fd, 7, STUB_WAIT, 0);
		ok(reply(fd) == 28,
		    "a deferred call is answered after the socket was full");
	}
	close(fd);
	while (rpc_server_in_flight(server) > 0)
		(void)event_base_loop(base, EVLOOP_ONCE);
	rpc_udp_free(udp);
	rpc_server_set_pool(server, NULL);
	rpc_pool_free(pool);
}

/* Makes a network namespace with an address that is not loopback. */
static bool
own_network(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	static const char *const addresses[] = { "192.0.2.1", "169.254.7.7" };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	bool good;
	int fd, i;

	if (unshare(CLONE_NEWNET) == -1 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ifr.ifr_flags = IFF_UP | IFF_LOOPBACK;
	good = ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;
	for (i = 0; i < 2; i++) {
		(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "lo:%d", i);
		sin.sin_addr.s_addr = inet_addr(addresses[i]);
		memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
		good = good && ioctl(fd, SIOCSIFADDR, &ifr) == 0;
	}
	close(fd);
	return good;
}

/* A player without DHCP, and ports that reflection attacks use. */
static void
test_odd_sources(void)
{
	static const uint16_t ports[] = { 7, 19, 53, 111, 2049 };
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	size_t i;
	int fd;

	begin("0.0.0.0");
	fd = client("169.254.7.7");
	call(fd, 1, STUB_WHO, 0);
	cmp_ok(reply(fd), "==", 48, "a link-local address is answered");
	close(fd);
	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		sin.sin_port = htons(ports[i]);
		if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == -1)
			BAIL_OUT("bind");
		sin.sin_port = htons(port);
		(void)connect(fd, (struct sockaddr *)&sin, sizeof(sin));
		call(fd, 1, STUB_NULL, 0);
		(void)reply(fd);
		(void)send(fd, in, 24, 0); /* the reply, back to the server */
		call(fd, 2, STUB_NULL, 0);
		(void)reply(fd);
		ok(word(0) == 2 && recv(fd, in, sizeof(in), MSG_DONTWAIT) == -1,
		    "port %u: one reply to a call, none to a reply", ports[i]);
		close(fd);
	}
	rpc_udp_free(udp);
}

static void
test_amplification(void)
{
	int fd;

	limits.amplification_percent = 150;
	begin("0.0.0.0");
	fd = client("192.0.2.1");
	call(fd, 1, STUB_BYTES, 30);
	ok(reply(fd) == 60 && word(5) == RPC_SUCCESS,
	    "a call of 44 bytes may get a reply of 60");
	call(fd, 1, STUB_BYTES, 40);
	ok(reply(fd) == 24 && word(5) == RPC_SYSTEM_ERR, "but not of 72");
	close(fd);
	fd = client("127.0.0.1");
	call(fd, 1, STUB_BYTES, 1000);
	cmp_ok(reply(fd), "==", 1028, "loopback may get more");
	close(fd);
	rpc_udp_free(udp);
	limits.amplification_percent = 0;
}

/* Replies that exceed their calls, to a sender that may be forged. */
static void
test_bytes(void)
{
	static struct proofs proofs;
	struct addr proven;
	unsigned int i, long_ones = 0, short_ones = 0;
	int fd;

	limits.datagram_bytes_per_second = 1000;
	begin("0.0.0.0");
	hash_key_random(&proofs.key);
	rpc_udp_prove(udp, &proofs);
	fd = client("192.0.2.1");
	/* Each exceeds 1.5 times its call of 44 bytes by 962. */
	for (i = 0; i < 100; i++)
		call(fd, 1, STUB_BYTES, 1000);
	for (i = 0; i < 100; i++)
		call(fd, 2, STUB_BYTES, 30);
	while (short_ones < 100 && reply(fd) > 0) {
		long_ones += word(0) == 1;
		short_ones += word(0) == 2;
	}
	cmp_ok(short_ones, "==", 100, "short replies are not limited");
	ok(long_ones >= 8 && long_ones <= 50,
	    "of 100 long replies at once %u are sent", long_ones);
	(void)addr_parse(&proven, "192.0.2.1");
	proofs_add(&proofs, &proven, clock_coarse_ms());
	for (i = 0; i < 20; i++)
		call(fd, 1, STUB_BYTES, 1000);
	for (i = 0; i < 20 && reply(fd) == 1028;)
		i++;
	cmp_ok(i, "==", 20, "an address that TCP has proven is not limited");
	close(fd);
	fd = client("127.0.0.1");
	for (i = 0; i < 20; i++)
		call(fd, 1, STUB_BYTES, 1000);
	for (i = 0; i < 20 && reply(fd) == 1028;)
		i++;
	cmp_ok(i, "==", 20, "loopback is not limited");
	close(fd);
	rpc_udp_free(udp);
	limits.datagram_bytes_per_second = 0;
}

static void
test_rate(void)
{
	unsigned int i, n;
	int fd, local;

	limits.datagrams_per_second = 20;
	begin("0.0.0.0");
	fd = client("192.0.2.1");
	for (i = 0; i < 90; i++)
		call(fd, i, STUB_NULL, 0);
	local = client("127.0.0.1");
	call(local, 1, STUB_NULL, 0);
	cmp_ok(reply(local), "==", 24, "another source is not limited");
	for (n = 0; recv(fd, in, sizeof(in), MSG_DONTWAIT) > 0;)
		n++;
	ok(n >= 20 && n <= 40,
	    "the rate is limited: of 90 calls at once %u are answered", n);
	close(fd);
	close(local);
	rpc_udp_free(udp);
}

static struct rpc_peer replied;
static size_t replied_len;

static void
on_reply(void *arg, const struct rpc_peer *peer, const uint8_t *data,
    size_t len)
{
	if (arg == &replied && len >= 8 && data[7] == 1) {
		replied = *peer;
		replied_len = len;
	}
}

/* A call of the server to its client, from the served socket. */
static void
test_outgoing(void)
{
	static const uint8_t ours[] = "a call of the server";
	static const uint8_t theirs[24] = { 0, 0, 0, 9, 0, 0, 0, 1 };
	struct rpc_peer peer = { .kind = RPC_UDP };
	struct sockaddr_storage ss;
	socklen_t size = sizeof(ss);
	int fd;

	begin("0.0.0.0");
	fd = client("127.0.0.3");
	(void)getsockname(fd, (struct sockaddr *)&ss, &size);
	(void)addr_from_sockaddr(&peer.from, (struct sockaddr *)&ss, size);
	(void)addr_parse(&peer.to, "127.0.0.3");
	ok(rpc_udp_send(udp, &peer, ours, sizeof(ours)), "a message is sent");
	cmp_ok(reply(fd), "==", (int)sizeof(ours),
	    "it comes from the address and port that the client knows");
	(void)send(fd, theirs, sizeof(theirs), 0);
	call(fd, 1, STUB_NULL, 0);
	cmp_ok(reply(fd), "==", 24, "without a reader replies are dropped");
	rpc_udp_on_reply(udp, on_reply, &replied);
	(void)send(fd, theirs, sizeof(theirs), 0);
	(void)send(fd, theirs, 7, 0);
	call(fd, 2, STUB_NULL, 0);
	cmp_ok(reply(fd), "==", 24, "calls are still served");
	ok(replied_len == sizeof(theirs) &&
		addr_equal(&replied.from, &peer.from) &&
		addr_same_host(&replied.to, &peer.to),
	    "a reply is passed on, with its sender");
	sends_fail = 1;
	sends_error = EAGAIN;
	ok(rpc_udp_send(udp, &peer, ours, sizeof(ours)),
	    "what a full socket cannot take waits");
	cmp_ok(reply(fd), "==", (int)sizeof(ours), "and is sent later");
	close(fd);
	rpc_udp_free(udp);
}

int
main(void)
{
	bool own;

	plan(NO_PLAN);
	log_init("test");
	own = own_network();
	base = event_base_new();
	server = rpc_server_new(stub_progs, 1, &stub_hooks);
	limits = rpc_limits_default;
	test_addresses();
	test_noise();
	test_batches();
	test_late();
	test_outgoing();
	skip(!own, 11, "no network namespace");
	test_odd_sources();
	test_amplification();
	test_bytes();
	test_rate();
	end_skip;
	rpc_udp_free(NULL);
	rpc_server_free(server);
	event_base_free(base);
	done_testing();
}
