/* SPDX-License-Identifier: ISC */
/*
 * Connections that go to another process: which ones go, when, and what their
 * clients notice. Both processes are this one.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/util.h"
#include "slack.h"
#include "stub.h"
#include "tap.h"
#include "transport/give.h"

#define CLIENTS (2 * RPC_GIVE_MAX + 8)
#define WINDOW	60000 /* ms */

static struct event_base *base;
static struct rpc_server *server;
static struct process {
	struct rpc_streams *streams;
	struct rpc_tcp *tcp;
} giver, taker;
static struct sockaddr_in at;
static int clients[CLIENTS], given[CLIENTS];
static unsigned int ngiven;
static bool refuses;

static int
listening(void)
{
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	memset(&at, 0, sizeof(at));
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, len) == -1 ||
	    listen(fd, CLIENTS) == -1 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) == -1)
		BAIL_OUT("no socket");
	return fd;
}

static void
process_start(struct process *p)
{
	p->streams = rpc_streams_new(base);
	p->tcp = rpc_tcp_new(p->streams, server, listening(),
	    &rpc_limits_default, NULL, NULL);
}

/* Where a call takes long, its host uses up its time and waits for more turns. */
static void
turn_around(void)
{
	unsigned int i;

	for (i = 0; i < 8 * TEST_SLACK; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static bool
give(void *arg UNUSED, int fd)
{
	if (refuses)
		return false;
	given[ngiven] = dup(fd);
	ngiven++;
	return true;
}

static void
send_call(int fd, uint32_t xid, size_t from, size_t to)
{
	uint8_t buf[256];
	size_t len =
	    stub_message(buf + 4, sizeof(buf) - 4, xid, STUB_NULL, NULL, 0);

	stub_mark(buf, len, true);
	if (to == 0)
		to = len + 4;
	if (write(fd, buf + from, to - from) != (ssize_t)(to - from))
		BAIL_OUT("write");
}

/* Does this reply lie in the socket? */
static bool
has_reply(int fd, uint32_t xid)
{
	uint32_t words[7] = { 0 };

	return recv(fd, words, sizeof(words), MSG_DONTWAIT) ==
	    (ssize_t)sizeof(words) &&
	    ntohl(words[1]) == xid;
}

/* The first n clients call once each. Returns how many are answered. */
static unsigned int
call_all(unsigned int n, uint32_t xid)
{
	unsigned int i, good = 0;

	for (i = 0; i < n; i++)
		send_call(clients[i], xid, 0, 0);
	turn_around();
	for (i = 0; i < n; i++)
		good += has_reply(clients[i], xid);
	return good;
}

static void
begin(void)
{
	unsigned int i;

	base = event_base_new();
	server = rpc_server_new(stub_progs, 1, &stub_hooks);
	process_start(&taker);
	process_start(&giver); /* the address of the clients */
	for (i = 0; i < CLIENTS; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(clients[i], (struct sockaddr *)&at, sizeof(at)) ==
		    -1)
			BAIL_OUT("connect");
	}
	turn_around();
	ngiven = 0;
	refuses = false;
}

static void
end(void)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		close(clients[i]);
	for (i = 0; i < ngiven; i++)
		if (given[i] != -1)
			close(given[i]);
	rpc_tcp_free(giver.tcp);
	rpc_tcp_free(taker.tcp);
	rpc_streams_free(giver.streams);
	rpc_streams_free(taker.streams);
	rpc_server_free(server);
	event_base_free(base);
}

/* The other process has all that was given. */
static void
take_all(void)
{
	struct sockaddr_storage ss;
	struct addr from;
	socklen_t len;
	unsigned int i;

	for (i = 0; i < ngiven; i++) {
		len = sizeof(ss);
		memset(&from, 0, sizeof(from));
		if (getpeername(given[i], (struct sockaddr *)&ss, &len) == 0)
			(void)addr_from_sockaddr(&from, (struct sockaddr *)&ss,
			    len);
		rpc_tcp_take(taker.tcp, given[i], &from);
		given[i] = -1;
	}
}

static void
test_half(void)
{
	begin();
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	cmp_ok(call_all(4, 1), "==", 4, "all that call are answered");
	cmp_ok(ngiven, "==", 2, "half of those that call go");
	cmp_ok(rpc_tcp_connections(giver.tcp), "==", CLIENTS - 2,
	    "the others stay, and the idle ones");
	send_call(clients[1], 2, 0, 0);
	turn_around();
	ok(!has_reply(clients[1], 2), "a call meanwhile waits");
	take_all();
	turn_around();
	ok(has_reply(clients[1], 2), "and is answered by the other process");
	cmp_ok(rpc_tcp_connections(taker.tcp), "==", 2, "which has them");
	cmp_ok(call_all(4, 3), "==", 4, "their clients notice nothing");
	cmp_ok(ngiven, "==", 2, "each is looked at once");
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	cmp_ok(call_all(4, 4), "==", 4, "once more");
	cmp_ok(ngiven, "==", 3, "half of the rest goes");
	end();
}

static void
test_alone(void)
{
	begin();
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	(void)call_all(1, 1);
	(void)call_all(1, 2);
	cmp_ok(ngiven, "==", 0, "one that calls alone stays");
	end();
}

static void
test_rest(void)
{
	begin();
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	(void)call_all(1, 1);
	send_call(clients[1], 2, 0, 0);
	send_call(clients[1], 3, 0, 20);
	turn_around();
	ok(has_reply(clients[1], 2), "a call and half of the next have come");
	cmp_ok(ngiven, "==", 0, "a connection with half a call stays");
	send_call(clients[1], 3, 20, 0);
	turn_around();
	ok(has_reply(clients[1], 3), "it is answered when it is whole");
	cmp_ok(ngiven, "==", 1, "and then its connection goes");
	end();
}

static void
test_limits(void)
{
	begin();
	rpc_streams_give(giver.streams, 0, give, NULL);
	usleep(2000);
	(void)call_all(CLIENTS, 1);
	cmp_ok(ngiven, "==", 0, "none goes after the time");
	refuses = true;
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	(void)call_all(CLIENTS, 2);
	cmp_ok(rpc_tcp_connections(giver.tcp), "==", CLIENTS,
	    "what cannot be given stays");
	refuses = false;
	cmp_ok(call_all(CLIENTS, 3), "==", CLIENTS, "and is served");
	cmp_ok(ngiven, "==", 0, "then no other is tried");
	rpc_streams_give(giver.streams, WINDOW, give, NULL);
	(void)call_all(CLIENTS, 4);
	cmp_ok(ngiven, "==", RPC_GIVE_MAX, "no more than so many go");
	end();
}

int
main(void)
{
	plan(NO_PLAN);
	test_half();
	test_alone();
	test_rest();
	test_limits();
	done_testing();
}
