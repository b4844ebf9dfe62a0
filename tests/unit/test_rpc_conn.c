/* SPDX-License-Identifier: ISC */
/*
 * The limits of stream connections: one reaches its limit, and the others are
 * served.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "stub.h"
#include "tap.h"

#define MANY 300

static atomic_int accepts_fail; /* calls of accept(2) to fail */

/* The transport under test calls this one instead of libc's. */
int
accept4(int fd, __SOCKADDR_ARG sa, socklen_t *len, int flags)
{
	if (atomic_load(&accepts_fail) > 0) {
		atomic_fetch_sub(&accepts_fail, 1);
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_accept4, fd, sa.__sockaddr__, len, flags);
}

/* Does the server close fd within some seconds? */
static bool
is_closed(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	static char in[1 << 18];
	ssize_t n;

	do {
		if (poll(&pfd, 1, 10000 * TEST_SLACK) != 1)
			return false;
		n = recv(fd, in, sizeof(in), MSG_DONTWAIT);
	} while (n > 0);
	return n == 0 || errno == ECONNRESET;
}

static bool
is_alive(int fd)
{
	const char *why;

	return stub_call(fd, true, STUB_NULL, NULL, 0, NULL, 0, &why) == 0;
}

/* Is fd open so far? Nothing may be left to read. */
static bool
is_open(int fd)
{
	char in;

	return recv(fd, &in, 1, MSG_DONTWAIT | MSG_PEEK) == -1 &&
	    errno == EAGAIN;
}

/* Waits until the server has n connections. */
static bool
has_connections(const struct stub_server *s, unsigned int n)
{
	int64_t deadline = stub_ms() + 60000;

	while (stub_connections(s) != n)
		if (stub_ms() >= deadline)
			return false;
	return true;
}

static long
resident_kib(void)
{
	long pages = 0;
	FILE *f;

	f = fopen("/proc/self/statm", "r");
	if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
		pages = 0;
	if (f != NULL)
		(void)fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Records that are too long, or never end. */
static void
test_framing(void)
{
	static uint8_t zeros[65536 + 4];
	struct stub_server s = { .limits = rpc_limits_default };
	int fds[MANY], other, fd, i, closed;
	long before;

	s.limits.record_max = 300000;
	s.limits.fragments_max = 64;
	stub_start(&s);
	other = stub_tcp(&s);
	(void)is_alive(other);
	fd = stub_tcp(&s);
	(void)send(fd, "\x80\x04\x93\xe1", 4, 0);
	ok(is_closed(fd), "a record one byte too long is closed at its mark");
	close(fd);

	before = resident_kib();
	for (i = 0; i < MANY; i++) {
		fds[i] = stub_tcp(&s);
		(void)send(fds[i], "\xff\xff\xff\xff", 4, 0);
	}
	for (i = closed = 0; i < MANY; i++)
		closed += is_closed(fds[i]);
	cmp_ok(closed, "==", MANY, "all that announce 2 GiB are closed");
	cmp_ok(resident_kib() - before, "<", 1024 * TEST_SLACK,
	    "they take no memory");
	for (i = 0; i < MANY; i++)
		close(fds[i]);

	fd = stub_tcp(&s);
	(void)send(fd, zeros, 4000, MSG_NOSIGNAL);
	ok(is_closed(fd), "endless empty fragments are closed");
	close(fd);
	fd = stub_tcp(&s);
	for (i = 0; i < 70 && send(fd, "\0\0\0\1x", 5, MSG_NOSIGNAL) == 5;)
		i++;
	ok(is_closed(fd), "endless fragments of one byte are closed");
	close(fd);
	fd = stub_tcp(&s);
	zeros[1] = 1;
	for (i = 0; i < 6 && send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL) > 0;)
		i++;
	ok(is_closed(fd), "an endless record is closed at its maximum");
	close(fd);
	ok(is_alive(other), "another connection is served meanwhile");
	close(other);
	ok(has_connections(&s, 0), "all of them are closed");
	stub_stop(&s);
}

static void
test_connections(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	int fds[10], i, alive;

	s.limits.connections_max = 64;
	s.limits.connections_per_host = 6;
	stub_start(&s);
	for (i = 0; i < 6; i++) {
		fds[i] = stub_tcp(&s);
		(void)is_alive(fds[i]);
	}
	fds[6] = stub_tcp(&s);
	ok(is_alive(fds[6]),
	    "a connection beyond the limit of a host is accepted");
	ok(is_closed(fds[0]),
	    "the host's longest idle connection is closed for it");
	for (i = 1; i < 7; i++)
		(void)send(fds[i], "\x80", 1, 0);
	close(fds[0]);
	fds[0] = stub_tcp(&s);
	ok(is_alive(fds[0]),
	    "a connection is accepted if all others are halfway into a record");
	ok(has_connections(&s, 6), "one of them makes room");
	for (i = 0; i < 7; i++)
		close(fds[i]);
	(void)has_connections(&s, 0);

	for (i = 0; i < 6; i++) {
		fds[i] = stub_unix(&s);
		(void)is_alive(fds[i]);
	}
	fds[6] = stub_unix(&s);
	ok(is_closed(fds[6]), "a local peer beyond the limit is refused");
	for (i = alive = 0; i < 6; i++)
		alive += is_alive(fds[i]);
	cmp_ok(alive, "==", 6, "no other local connection is closed");
	for (i = 0; i < 7; i++)
		close(fds[i]);
	stub_stop(&s);

	s.limits.connections_max = 4;
	stub_start(&s);
	for (i = 0; i < 5; i++) {
		fds[i] = stub_tcp(&s);
		(void)is_alive(fds[i]);
	}
	ok(is_closed(fds[0]) && has_connections(&s, 4),
	    "the limit of all connections closes the longest idle one");
	for (i = 0; i < 5; i++)
		close(fds[i]);
	stub_stop(&s);
}

/* Replies that the client does not read. */
static void
test_unread(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	uint8_t msg[128];
	uint32_t arg = htonl(1000000);
	int fds[8], other, i, j;
	long before;
	size_t len;

	s.limits.queue_max = 64 * 1024;
	s.limits.unsent_max = 4 * 1024 * 1024;
	s.limits.stall_seconds = 1;
	stub_start(&s);
	other = stub_tcp(&s);
	before = resident_kib();
	len = stub_message(msg + 4, 124, 1, STUB_BYTES, &arg, 4);
	stub_mark(msg, len, true);
	for (i = 0; i < 8; i++) {
		fds[i] = stub_tcp(&s);
		for (j = 0; j < 50; j++)
			(void)send(fds[i], msg, len + 4, MSG_NOSIGNAL);
	}
	ok(is_alive(other), "another connection is served");
	cmp_ok(resident_kib() - before, "<", 32 * 1024 * TEST_SLACK,
	    "8 clients ask for 50 MiB each: memory is bounded");
	ok(has_connections(&s, 1), "connections that do not read are closed");
	ok(is_alive(other), "a connection that reads is not");
	for (i = 0; i < 8; i++)
		close(fds[i]);
	close(other);
	stub_stop(&s);
}

static void
test_unsent_total(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	uint8_t msg[128];
	uint32_t arg = htonl(1000000);
	int64_t deadline;
	int fds[16], i, j;
	size_t len;

	s.limits.unsent_max = 1024 * 1024;
	stub_start(&s);
	len = stub_message(msg + 4, 124, 1, STUB_BYTES, &arg, 4);
	stub_mark(msg, len, true);
	for (i = 0; i < 16; i++) {
		fds[i] = stub_tcp(&s);
		for (j = 0; j < 10; j++)
			(void)send(fds[i], msg, len + 4, MSG_NOSIGNAL);
	}
	deadline = stub_ms() + 60000;
	while (stub_closed(&s) == 0 && stub_ms() < deadline)
		usleep(1000);
	cmp_ok(stub_closed(&s), ">", 0,
	    "too much unsent data: the connection that waits longest is closed");
	for (i = 0; i < 16; i++)
		close(fds[i]);
	ok(has_connections(&s, 0), "all of them are closed");
	stub_stop(&s);
}

static void
test_incomplete(void)
{
	static uint8_t half[40000];
	struct stub_server s = { .limits = rpc_limits_default };
	int fds[16], other, late, i;
	int64_t started;

	s.limits.partial_max = 100000;
	stub_start(&s);
	other = stub_tcp(&s);
	stub_mark(half, 80000, true);
	for (i = 0; i < 16; i++) {
		fds[i] = stub_tcp(&s);
		(void)send(fds[i], half, sizeof(half), MSG_NOSIGNAL);
	}
	started = stub_ms();
	late = stub_tcp(&s);
	ok(is_alive(other) && is_alive(late) &&
		stub_ms() - started < 500 * TEST_SLACK,
	    "short calls are served at once beside too many incomplete records");
	ok(is_closed(fds[0]), "the oldest incomplete record is closed first");
	close(late);
	for (i = 0; i < 16; i++)
		close(fds[i]);
	close(other);
	stub_stop(&s);

	/* Exactly at the limit other connections wait, so one is closed. */
	s.limits = rpc_limits_default;
	s.limits.partial_max = 4 * 1024;
	stub_start(&s);
	for (i = 0; i < 4; i++) {
		fds[i] = stub_tcp(&s);
		(void)send(fds[i], half, 4 + 1024, MSG_NOSIGNAL);
	}
	ok(is_closed(fds[0]), "the oldest is closed at the limit itself");
	for (i = 0; i < 4; i++)
		close(fds[i]);
	stub_stop(&s);

	s.limits = rpc_limits_default;
	s.limits.record_seconds = 1;
	stub_start(&s);
	fds[0] = stub_tcp(&s);
	(void)send(fds[0], "\x80\0", 2, 0);
	ok(is_closed(fds[0]),
	    "a record that is incomplete for too long is closed");
	close(fds[0]);
	stub_stop(&s);
}

static void
test_idle(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	int fd, local;

	s.limits.idle_seconds = 1;
	stub_start(&s);
	fd = stub_tcp(&s);
	local = stub_unix(&s);
	ok(is_alive(fd), "a connection is served");
	ok(is_closed(fd), "it is closed after it was idle for too long");
	ok(is_alive(local), "an idle local connection is not");
	close(fd);
	close(local);
	stub_stop(&s);
}

static void
test_late_max(void)
{
	struct stub_server s = {
		.limits = rpc_limits_default, .threads = 8, .queue = 64
	};
	uint8_t msg[128];
	int fd, i, n;
	size_t len;

	s.limits.deferred_max = 3;
	stub_start(&s);
	fd = stub_tcp(&s);
	len = stub_message(msg + 4, 124, 1, STUB_WAIT, NULL, 0);
	stub_mark(msg, len, true);
	for (i = 0; i < 8; i++)
		(void)send(fd, msg, len + 4, 0);
	stub_wait_for(3);
	for (i = n = 0; i < 20; i++) {
		usleep(1000);
		n = stub_waiting() > n ? stub_waiting() : n;
	}
	cmp_ok(n, "==", 3,
	    "one connection occupies no more file threads than the limit");
	stub_go(8);
	for (i = 0; i < 8 && recv(fd, msg, 32, MSG_WAITALL) == 32;)
		i++;
	cmp_ok(i, "==", 8, "its other calls run afterwards");
	close(fd);
	stub_stop(&s);
}

/* A client that reads nothing has few large replies made for it. */
static void
test_awaited(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.sockbuf = 4096,
		.threads = 4,
		.queue = 64 };
	uint8_t msg[128];
	uint32_t bytes = htonl(1000000);
	int fd, other, i;
	size_t len;

	stub_start(&s);
	stub_late = 0;
	fd = stub_tcp(&s);
	len = stub_message(msg + 4, 124, 1, STUB_LATE_BYTES, &bytes, 4);
	stub_mark(msg, len, true);
	for (i = 0; i < 40; i++)
		(void)send(fd, msg, len + 4, 0);
	while (stub_late == 0)
		usleep(1000);
	other = stub_tcp(&s);
	for (i = 0; i < 20; i++) {
		(void)is_alive(other);
		usleep(1000);
	}
	/* 8 MiB are awaited at once; none is when 1 MiB is not yet sent. */
	cmp_ok(stub_late, "<=", 18, "large replies that nobody reads are few");
	close(other);
	close(fd);
	stub_stop(&s);
}

/* What was answered is awaited no more, whatever the answer was. */
static void
test_awaited_no_more(void)
{
	struct stub_server s = {
		.limits = rpc_limits_default, .threads = 4, .queue = 64
	};
	const uint32_t wants[] = { 1000000, STUB_DATA };
	uint32_t bytes, got;
	const char *why;
	int fd, i;

	stub_start(&s);
	fd = stub_tcp(&s);
	for (i = 0; i < 40; i++) {
		bytes = htonl(wants[i % 2]);
		got = 0;
		(void)stub_call(fd, true, STUB_LATE_BYTES, &bytes, 4, &got, 1,
		    &why);
		if ((why == NULL) != (i % 2 == 0) ||
		    got != (i % 2 == 0 ? wants[0] : 0))
			break;
	}
	cmp_ok(i, "==", 40, "20 large replies and 20 errors, one by one (%s)",
	    why == NULL ? "the last is good" : why);
	close(fd);
	stub_stop(&s);
}

static atomic_int spare; /* descriptors that the cache can give up */

static bool
give_one(void *arg UNUSED)
{
	return atomic_fetch_sub(&spare, 1) > 0;
}

/*
 * The server remembers the second in which a connection was used last. So a call
 * changes which one is idle for longest only if a second has begun since.
 */
static void
test_make_room(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.make_room = give_one };
	int first, second, late;

	stub_start(&s);
	first = stub_tcp(&s);
	(void)is_alive(first);
	atomic_store(&spare, 1);
	atomic_store(&accepts_fail, 1);
	second = stub_tcp(&s);
	ok(is_alive(second) && is_open(first),
	    "a descriptor from the cache saves a connection from closing");
	usleep(1100000);
	(void)is_alive(first);
	atomic_store(&accepts_fail, 1);
	late = stub_tcp(&s);
	ok(is_alive(late) && is_closed(second),
	    "without one the connection is closed that is idle for longest");
	ok(is_open(first), "one that came before it and was used since is not");
	close(first);
	close(second);
	close(late);
	stub_stop(&s);
}

/* A lack of descriptors must not make the loop spin or crash. */
static void
test_descriptors(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	uint64_t before;
	int idle, fd, late;

	stub_start(&s);
	idle = stub_tcp(&s);
	(void)is_alive(idle);
	atomic_store(&accepts_fail, 1);
	fd = stub_tcp(&s);
	ok(is_alive(fd),
	    "a new connection is accepted without a free descriptor");
	ok(is_closed(idle), "an idle connection is closed for it");
	(void)send(fd, "\x80", 1, 0); /* no longer idle */
	usleep(20000);
	atomic_store(&accepts_fail, 1);
	late = stub_tcp(&s);
	ok(is_alive(late) && is_closed(fd),
	    "a connection halfway into a record is closed if none is idle");
	close(late);
	(void)has_connections(&s, 0);
	before = clock_ms();
	atomic_store(&accepts_fail, 4);
	late = stub_tcp(&s);
	ok(is_alive(late), "accept is tried again after a pause");
	ok(clock_ms() - before >= 100, "the loop pauses between two tries");
	close(idle);
	close(fd);
	close(late);
	stub_stop(&s);
}

int
main(void)
{
	plan(NO_PLAN);
	log_init("test");
	test_framing();
	test_connections();
	test_unread();
	test_unsent_total();
	test_incomplete();
	test_idle();
	test_late_max();
	test_awaited();
	test_awaited_no_more();
	test_descriptors();
	test_make_room();
	done_testing();
}
