/* SPDX-License-Identifier: ISC */
/*
 * The RPC client of the tests against servers that are slow, wrong or hostile.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "lib/rpc_client.h"
#include "rpc/msg.h"
#include "stub.h"
#include "tap.h"

/* The bytes that the other end of a socket pair sends after a call. */
struct script {
	int fd;
	bool stream;
	const char *bytes; /* sent as they are; XXXX becomes the xid */
	size_t len;
	bool close;
};

static void *
play(void *arg)
{
	struct script *s = arg;
	uint8_t call[4096], out[4096];
	ssize_t n;
	size_t i;

	n = recv(s->fd, call, sizeof(call), 0);
	memcpy(out, s->bytes, s->len);
	for (i = 0; n > 8 && i + 4 <= s->len; i++)
		if (memcmp(out + i, "XXXX", 4) == 0)
			memcpy(out + i, call + (s->stream ? 4 : 0), 4);
	if (s->len > 0)
		(void)send(s->fd, out, s->len, MSG_NOSIGNAL);
	if (s->close)
		shutdown(s->fd, SHUT_RDWR);
	return NULL;
}

/* Long enough for a busy machine; and for a reply that does not come. */
enum { PATIENT = 20000, BRIEF = 300 };

/* Makes a call to a script. Returns the reason of failure, or NULL. */
static const char *
called(int ms, bool stream, const char *bytes, size_t len, bool close_it,
    struct xdr_in *res)
{
	static uint8_t buf[256];
	struct rpc_target t = {
		.stream = stream, .prog = STUB_PROG, .vers = 2, .timeout_ms = ms
	};
	struct script s = {
		.stream = stream, .bytes = bytes, .len = len, .close = close_it
	};
	const char *why;
	pthread_t thread;
	int pair[2];

	if (socketpair(AF_UNIX, stream ? SOCK_STREAM : SOCK_DGRAM, 0, pair) ==
	    -1)
		BAIL_OUT("socketpair");
	t.fd = pair[0];
	s.fd = pair[1];
	pthread_create(&thread, NULL, play, &s);
	why = rpc_client_call(&t, 1, (const uint8_t *)"args", 4, buf,
	    sizeof(buf), res);
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
	return why;
}

static const char *
against(bool stream, const char *bytes, size_t len, bool close_it,
    struct xdr_in *res)
{
	return called(PATIENT, stream, bytes, len, close_it, res);
}

#define HEAD  "XXXX\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define OTHER "YYYY\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static void
test_replies(void)
{
	struct xdr_in res;

	is(against(false, HEAD "\0\0\0\7", 28, false, &res), NULL,
	    "a reply in a datagram");
	cmp_ok(xdr_get_u32(&res), "==", 7, "with its result");
	is(against(true, "\x80\0\0\x1c" HEAD "\0\0\0\7", 32, false, &res), NULL,
	    "a reply in a record");
	is(against(true, "\0\0\0\x18" HEAD "\x80\0\0\4\0\0\0\7", 36, false,
	       &res),
	    NULL, "a reply in two fragments");
	cmp_ok(xdr_get_u32(&res), "==", 7, "with its result");
	is(against(true, "\x80\0\0\x18" OTHER "\x80\0\0\x18" HEAD, 56, false,
	       &res),
	    NULL, "the reply to another call is skipped");
}

static void
test_failures(void)
{
	struct xdr_in res;

	is(called(BRIEF, false, "", 0, false, &res), "timed out", "no reply");
	is(called(BRIEF, true, "\x80\0", 2, false, &res), "timed out",
	    "half a record mark");
	is(against(true, "\x80\0", 2, true, &res), "connection closed",
	    "half a record mark and the end of the stream");
	is(against(true, "\x7f\xff\xff\xff", 4, false, &res), "reply too long",
	    "a record that announces 2 GiB");
	is(against(true, "\0\0\0\x18" HEAD "\0\0\1\0", 32, false, &res),
	    "reply too long", "fragments that are too long together");
	is(against(false, HEAD, 12, false, &res), "malformed reply",
	    "a truncated reply");
	is(called(BRIEF, false, OTHER, 24, false, &res), "timed out",
	    "only the reply to another call");
}

static void
test_strays(void)
{
	static char many[100 * 28];
	struct xdr_in res;
	size_t i;

	for (i = 0; i < 100; i++)
		memcpy(many + 28 * i, "\x80\0\0\x18" OTHER, 28);
	is(against(true, many, sizeof(many), false, &res), "only other replies",
	    "endless replies to other calls");
}

static void
test_sockets(void)
{
	struct rpc_target t = { .fd = -1, .timeout_ms = PATIENT };
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(1) };
	char longest[200];
	uint8_t buf[64];
	struct xdr_in res;

	is(rpc_client_call(&t, 0, NULL, 0, buf, sizeof(buf), &res),
	    "cannot send", "a bad descriptor");
	t.fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)connect(t.fd, (struct sockaddr *)&sin, sizeof(sin));
	is(rpc_client_call(&t, 0, NULL, 0, buf, sizeof(buf), &res),
	    "no process listens", "a port without a listener");
	close(t.fd);
	ok(rpc_client_unix("/nonexistent/socket") == -1 && errno == ENOENT,
	    "no such unix socket");
	memset(longest, 'x', sizeof(longest));
	longest[199] = '\0';
	ok(rpc_client_unix(longest) == -1 && errno == ENAMETOOLONG,
	    "a path too long for a unix socket");
}

/* More than the socket takes at once, to a server that reads slowly. */
static void
test_large(void)
{
	static uint32_t args[STUB_DATA / 4];
	struct stub_server s = { .limits = rpc_limits_default };
	const char *why;
	int fd, size = 4096;

	stub_start(&s);
	fd = stub_tcp(&s);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	args[0] = htonl(800000);
	cmp_ok(stub_call(fd, true, STUB_ECHO, args, 800004, NULL, 0, &why),
	    "==", 200001, "arguments of 800,000 bytes");
	close(fd);
	stub_stop(&s);
}

int
main(void)
{
	plan(NO_PLAN);
	test_replies();
	test_failures();
	test_strays();
	test_sockets();
	test_large();
	done_testing();
}
