/* SPDX-License-Identifier: ISC */
/*
 * The limits of stream connections: each is filled, and the others go on.
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

#include "base/log.h"
#include "stub.h"
#include "tap.h"

#define MANY 300

static atomic_int accepts_fail; /* so many accept(2) find no descriptor */

/* Instead of libc's: the transport under test calls this one. */
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

/* Did the server close fd, or does it within some seconds? */
static bool
is_closed(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	static char in[1 << 18];
	ssize_t n;

	do {
		if (poll(&pfd, 1, 10000) != 1)
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

/* Waits until the server has n connections. */
static bool
has_connections(const struct stub_server *s, unsigned int n)
{
	int64_t deadline;

	deadline = stub_ms() + 60000;
	while (stub_connections(s) != n && stub_ms() < deadline)
		usleep(1000);
	return stub_connections(s) == n;
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

/* ABUSE 1, 2, 3, 4, 6: framing that has no end. */
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
	cmp_ok(resident_kib() - before, "<", 1024 * STUB_SLACK,
	    "and cost no memory");
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
	ok(is_alive(other), "meanwhile another connection works");
	close(other);
	ok(has_connections(&s, 0), "nothing is left behind");
	stub_stop(&s);
}

static void
test_connections(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	int fds[10], i, alive;

	s.limits.connections_max = 8;
	s.limits.connections_per_host = 6;
	stub_start(&s);
	for (i = 0; i < 6; i++) {
		fds[i] = stub_tcp(&s);
		(void)is_alive(fds[i]);
	}
	fds[6] = stub_tcp(&s);
	ok(is_alive(fds[6]), "one more of a host is let in");
	ok(is_closed(fds[0]), "at the cost of its oldest idle one");
	for (i = 1; i < 7; i++)
		(void)send(fds[i], "\x80", 1, 0);
	for (i = 1, alive = 0; i < 7; i++)
		alive += stub_connections(&s) == 6;
	close(fds[0]);
	fds[0] = stub_tcp(&s);
	ok(is_closed(fds[0]), "when none is idle the newcomer is refused");
	ok(has_connections(&s, 6), "and the others stay");
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
	cmp_ok(alive, "==", 6, "and never costs another its connection");
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
	    "the limit over all works in the same way");
	for (i = 0; i < 5; i++)
		close(fds[i]);
	stub_stop(&s);
}

/* ABUSE 8: replies that nobody reads. */
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
	ok(is_alive(other), "another connection works");
	cmp_ok(resident_kib() - before, "<", 32 * 1024 * STUB_SLACK,
	    "50 MiB asked by each of 8: memory is bounded");
	ok(has_connections(&s, 1), "who does not read is closed");
	ok(is_alive(other), "who does is not");
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
	    "too much unread in all: who waits longest goes");
	for (i = 0; i < 16; i++)
		close(fds[i]);
	ok(has_connections(&s, 0), "and nothing is left behind");
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
		stub_ms() - started < 500 * STUB_SLACK,
	    "too many incomplete records: short calls are served at once");
	ok(is_closed(fds[0]), "the oldest goes first");
	close(late);
	for (i = 0; i < 16; i++)
		close(fds[i]);
	close(other);
	stub_stop(&s);

	/* Exactly at the limit others wait, so somebody has to go. */
	s.limits = rpc_limits_default;
	s.limits.partial_max = 4 * 1024;
	stub_start(&s);
	for (i = 0; i < 4; i++) {
		fds[i] = stub_tcp(&s);
		(void)send(fds[i], half, 4 + 1024, MSG_NOSIGNAL);
	}
	ok(is_closed(fds[0]), "as many as are allowed: the oldest goes too");
	for (i = 0; i < 4; i++)
		close(fds[i]);
	stub_stop(&s);

	s.limits = rpc_limits_default;
	s.limits.record_seconds = 1;
	stub_start(&s);
	fds[0] = stub_tcp(&s);
	(void)send(fds[0], "\x80\0", 2, 0);
	ok(is_closed(fds[0]), "a record must be complete in time");
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
	ok(is_alive(fd), "a connection works");
	ok(is_closed(fd), "when idle for too long it is closed");
	ok(is_alive(local), "a local one is not");
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
	cmp_ok(n, "==", 3, "one connection may occupy so many file threads");
	stub_go(8);
	for (i = 0; i < 8 && recv(fd, msg, 32, MSG_WAITALL) == 32;)
		i++;
	cmp_ok(i, "==", 8, "its other calls follow when they are done");
	close(fd);
	stub_stop(&s);
}

static atomic_int spare; /* descriptors that others can do without */

static bool
give_one(void *arg UNUSED)
{
	return atomic_fetch_sub(&spare, 1) > 0;
}

static void
test_make_room(void)
{
	struct stub_server s = { .limits = rpc_limits_default,
		.make_room = give_one };
	int idle, fd, late;

	stub_start(&s);
	idle = stub_tcp(&s);
	(void)is_alive(idle);
	atomic_store(&spare, 1);
	atomic_store(&accepts_fail, 1);
	fd = stub_tcp(&s);
	ok(is_alive(fd) && is_alive(idle),
	    "others give a descriptor: no connection is closed");
	atomic_store(&accepts_fail, 1);
	late = stub_tcp(&s);
	ok(is_alive(late) && is_closed(idle), "when they have none one is");
	close(idle);
	close(fd);
	close(late);
	stub_stop(&s);
}

/* ABUSE 1.1: no descriptors left must not make the loop spin or crash. */
static void
test_descriptors(void)
{
	struct stub_server s = { .limits = rpc_limits_default };
	struct rusage before, after;
	int idle, fd, late;

	stub_start(&s);
	idle = stub_tcp(&s);
	(void)is_alive(idle);
	atomic_store(&accepts_fail, 1);
	fd = stub_tcp(&s);
	ok(is_alive(fd), "without a descriptor a new one is let in");
	ok(is_closed(idle), "at the cost of an idle one");
	(void)send(fd, "\x80", 1, 0); /* not idle any more */
	usleep(20000);
	atomic_store(&accepts_fail, 1);
	late = stub_tcp(&s);
	ok(is_closed(late), "when none is idle the newcomer is refused");
	close(late);
	getrusage(RUSAGE_SELF, &before);
	atomic_store(&accepts_fail, 4);
	late = stub_tcp(&s);
	ok(is_alive(late), "after a pause it is tried again");
	getrusage(RUSAGE_SELF, &after);
	cmp_ok(after.ru_utime.tv_sec - before.ru_utime.tv_sec, "<=", 1,
	    "without spinning");
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
	test_descriptors();
	test_make_room();
	done_testing();
}
