/* SPDX-License-Identifier: ISC */
/*
 * Overload by correct clients: all are slowed down, none is closed, every byte
 * arrives.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"
#include "tap.h"

#define CLIENTS                                                                \
	(TEST_SLACK > 1 ? 6 : 12) /* a slow machine serves fewer in time */
#define CALLS 4
#define BYTES 1000000
#define STEP  65536
#define TRIES 5

struct client {
	int fd;
	size_t sent, got; /* bytes */
};

static struct client clients[CLIENTS];
static uint8_t request[CALLS * (BYTES + 64)], in[STEP];

/* Sends and reads a little. False if the server closed the connection. */
static bool
step(struct client *c, size_t to_send, size_t to_get)
{
	ssize_t n;

	if (c->sent < to_send) {
		n = to_send - c->sent < STEP ? (ssize_t)(to_send - c->sent) :
					       STEP;
		n = send(c->fd, request + c->sent, (size_t)n,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			c->sent += (size_t)n;
	}
	if (c->got < to_get) {
		n = recv(c->fd, in, sizeof(in), MSG_DONTWAIT);
		if (n == 0)
			return false;
		if (n > 0)
			c->got += (size_t)n;
	}
	return true;
}

/* Serves all clients in turn until each is done. Returns how many finished. */
static unsigned int
run(const struct stub_server *s, size_t to_send, size_t to_get)
{
	unsigned int i, done, closed;
	int64_t deadline;

	for (i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ .fd = -1 };
		clients[i].fd = stub_tcp(s);
	}
	deadline = stub_ms() + 60000;
	closed = 0;
	do {
		for (i = done = 0; i < CLIENTS; i++) {
			if (!step(&clients[i], to_send, to_get))
				closed++;
			done += clients[i].got == to_get;
		}
	} while (done < CLIENTS && closed == 0 && stub_ms() < deadline);
	for (i = 0; i < CLIENTS; i++)
		close(clients[i].fd);
	return done;
}

/*
 * On a busy machine the clients may not run for a second, and are closed
 * because they did not read. Such an attempt is repeated.
 */
static unsigned int
run_all(const struct stub_server *s, size_t to_send, size_t to_get)
{
	unsigned int done = 0;
	int i;

	for (i = 0; i < TRIES && done < CLIENTS; i++)
		done = run(s, to_send, to_get);
	return done;
}

static void
test_replies(enum stub_proc proc, unsigned int threads, const char *what)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.sockbuf = 100000,
		.threads = threads,
		.queue = 2 };
	uint32_t arg = htonl(BYTES);
	size_t len, i;

	s.limits.unsent_max = 2 * 1024 * 1024;
	stub_start(&s);
	for (i = len = 0; i < CALLS; i++) {
		size_t n =
		    stub_message(request + len + 4, 128, 1, proc, &arg, 4);

		stub_mark(request + len, n, true);
		len += 4 + n;
	}
	cmp_ok(run_all(&s, len, CALLS * (4 + 24 + 4 + BYTES)), "==", CLIENTS,
	    "%s", what);
	stub_stop(&s);
}

static void
test_requests(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.sockbuf = 100000 };
	static uint8_t args[4 + BYTES];
	uint32_t count = htonl(BYTES);
	size_t len, i;

	s.limits.partial_max = 1024 * 1024;
	stub_start(&s);
	memcpy(args, &count, 4);
	for (i = len = 0; i < CALLS; i++) {
		size_t n = stub_message(request + len + 4, BYTES + 60, 1,
		    STUB_LENGTH, args, sizeof(args));

		stub_mark(request + len, n, true);
		len += 4 + n;
	}
	cmp_ok(run_all(&s, len, CALLS * 32), "==", CLIENTS,
	    "long requests of many slow writers");
	stub_stop(&s);
}

/* Clients pipeline more than every limit: all get replies, in little memory. */
static void
test_pipelines(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.sockbuf = 100000 };
	size_t len, n;

	s.limits.unsent_max = 256 * 1024;
	s.limits.queue_max = 16 * 1024;
	stub_start(&s);
	for (len = 0; len + 44 <= 440000; len += 4 + n) {
		n = stub_message(request + len + 4, 60, 1, STUB_NULL, NULL, 0);
		stub_mark(request + len, n, true);
	}
	cmp_ok(run_all(&s, len, len / 44 * 28), "==", CLIENTS,
	    "10,000 calls at once from each of many clients");
	stub_stop(&s);
}

int
main(void)
{
	plan(NO_PLAN);
	test_replies(STUB_BYTES, 0, "long replies to many slow readers");
	test_replies(STUB_LATE_BYTES, 2, "the same from file threads");
	test_requests();
	test_pipelines();
	done_testing();
}
