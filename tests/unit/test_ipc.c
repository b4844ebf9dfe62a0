/* SPDX-License-Identifier: ISC */
/*
 * The message pump against a correct peer and a hostile one. A hostile message
 * reaches no handler and leaves no descriptor open.
 * Runs in: tests only.
 */
#include <sys/socket.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/util.h"
#include "tap.h"

static int calls;
static struct ipc_message last;
static char last_data[64];
static int taken = -1;

static void
on_hello(void *arg, struct ipc_message *m)
{
	calls++;
	last = *m;
	memcpy(last_data, m->data, m->len < sizeof(last_data) ? m->len : 0);
	if (arg != NULL && m->nfds > 0) {
		taken = m->fds[0];
		m->fds[0] = -1;
	}
}

enum { MSG_NONE, MSG_HELLO, MSG_FILES, MSG_COUNT };

static const struct ipc_row rows[MSG_COUNT] = {
	[MSG_HELLO] = { "HELLO", 2, 8, 0, 0, on_hello },
	[MSG_FILES] = { "FILES", 0, IPC_MESSAGE_MAX, 1, 2, on_hello },
};
static const struct ipc_table table = { rows, nitems(rows) };

static size_t
open_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* Raw bytes with n copies of descriptor 0, past ipc_send's own checks. */
static void
send_raw(int fd, const void *bytes, size_t len, size_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control = { .bytes = { 0 } };
	char copy[128];
	struct iovec iov = { copy, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int zeros[253] = { 0 };
	struct cmsghdr *c;

	memcpy(copy, bytes, len);
	if (n > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), zeros, n * sizeof(int));
	}
	if (sendmsg(fd, &msg, 0) == -1)
		diag("sendmsg: %s", strerror(errno));
}

static void
test_good(int pair[2])
{
	const char *why = NULL;
	int files[2] = { 0, 1 };
	size_t before;

	ok(ipc_send(pair[0], MSG_HELLO, "moin", 4, NULL, 0) == 0, "sends");
	cmp_ok(ipc_serve(pair[1], &table, NULL, &why), "==", 1, "serves");
	cmp_ok(last.type, "==", MSG_HELLO, "type arrives");
	cmp_mem(last_data, "moin", 4, "payload arrives");
	before = open_count();
	(void)ipc_send(pair[0], MSG_FILES, NULL, 0, files, 2);
	(void)ipc_serve(pair[1], &table, NULL, &why);
	cmp_ok(last.nfds, "==", 2, "descriptors arrive");
	cmp_ok(open_count(), "==", before,
	    "a descriptor that the handler leaves is closed");
	(void)ipc_send(pair[0], MSG_FILES, NULL, 0, files, 2);
	(void)ipc_serve(pair[1], &table, &taken, &why);
	cmp_ok(open_count(), "==", before + 1,
	    "a descriptor that the handler takes stays open");
	ok((fcntl(taken, F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec");
	close(taken);
}

static void
test_limits(int pair[2])
{
	static char big[IPC_MESSAGE_MAX + 1];
	const char *why = NULL;

	ok(ipc_send(pair[0], MSG_FILES, big, sizeof(big), NULL, 0) == -1 &&
		errno == EMSGSIZE,
	    "refuses to send more than IPC_MESSAGE_MAX");
	ok(ipc_send(pair[0], MSG_HELLO, "x", 1, (int[1]){ 0 },
	       IPC_FDS_MAX + 1) == -1 &&
		errno == EMSGSIZE,
	    "refuses to send more than IPC_FDS_MAX descriptors");
	ok(ipc_send(pair[0], MSG_FILES, big, IPC_MESSAGE_MAX, (int[1]){ 0 },
	       1) == 0 &&
		ipc_serve(pair[1], &table, NULL, &why) == 1 &&
		last.len == IPC_MESSAGE_MAX,
	    "carries IPC_MESSAGE_MAX bytes");
}

/* Messages of a hostile peer, and the reason given for each refusal. */
static const struct {
	const char *name;
	const char *why;
	uint32_t words[4];
	size_t len;
	size_t fds;
} bad[] = {
	{ "type out of range", "unknown message", { MSG_COUNT, 0 }, 8, 0 },
	{ "type 2^32-1", "unknown message", { 0xffffffff, 0 }, 8, 0 },
	{ "type without handler", "unknown message", { MSG_NONE, 0 }, 8, 0 },
	{ "payload too short", "message too short", { MSG_HELLO, 0 }, 8, 0 },
	{ "header cut", "message without header", { MSG_HELLO, 0 }, 5, 0 },
	{ "length lies", "length does not match", { MSG_HELLO, 9 }, 12, 0 },
	{ "length 2^32-1", "length does not match", { MSG_HELLO, ~0U }, 12, 0 },
	{ "descriptor missing", "descriptor missing", { MSG_FILES, 0 }, 8, 0 },
	{ "unexpected one", "unexpected descriptor", { MSG_HELLO, 4 }, 12, 1 },
	{ "three for two", "unexpected descriptor", { MSG_FILES, 0 }, 8, 3 },
	{ "253 of them", "too many descriptors", { MSG_FILES, 0 }, 8, 253 },
	{ "253 with junk", "too many descriptors", { 77, 0 }, 8, 253 },
};

static void
test_bad(int pair[2])
{
	size_t i, before = open_count();
	const char *why;
	int r;

	for (i = 0; i < nitems(bad); i++) {
		why = NULL;
		calls = 0;
		send_raw(pair[0], bad[i].words, bad[i].len, bad[i].fds);
		r = ipc_serve(pair[1], &table, NULL, &why);
		ok(r == -1 && errno == EBADMSG && calls == 0, "refuses: %s",
		    bad[i].name);
		is(why, bad[i].why, "says why: %s", bad[i].name);
	}
	cmp_ok(open_count(), "==", before, "no descriptor stays open");
}

static void
test_receive(int pair[2])
{
	int fds[2] = { 0, 1 };
	size_t n = 1, before = open_count();
	uint32_t type = 0;
	char buf[16];

	(void)ipc_send(pair[0], 7, "abc", 3, NULL, 0);
	cmp_ok(ipc_receive(pair[1], &type, buf, sizeof(buf), NULL, NULL),
	    "==", 3, "receives a payload");
	cmp_ok(type, "==", 7, "receives the type");
	(void)ipc_send(pair[0], 7, "abc", 3, fds, 2);
	ok(ipc_receive(pair[1], &type, buf, sizeof(buf), fds, &n) == -1 &&
		errno == EBADMSG,
	    "refuses more descriptors than there is room for");
	(void)ipc_send(pair[0], 7, "0123456789abcdefg", 17, NULL, 0);
	ok(ipc_receive(pair[1], &type, buf, sizeof(buf), NULL, NULL) == -1 &&
		errno == EBADMSG,
	    "refuses more bytes than there is room for");
	cmp_ok(open_count(), "==", before, "no descriptor stays open");
	(void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
	ok(ipc_receive(pair[1], &type, buf, sizeof(buf), NULL, NULL) == -1 &&
		errno == EAGAIN,
	    "does not block if told so");
}

int
main(void)
{
	const char *why = NULL;
	uint32_t type;
	int pair[2];
	char c;

	plan(NO_PLAN);
	if (ipc_pair(pair) == -1)
		BAIL_OUT("socketpair: %s", strerror(errno));
	test_good(pair);
	test_limits(pair);
	test_bad(pair);
	test_receive(pair);
	close(pair[0]);
	cmp_ok(ipc_serve(pair[1], &table, NULL, &why), "==", 0,
	    "a peer that closes is no error");
	ok(ipc_receive(pair[1], &type, &c, 1, NULL, NULL) == -1 &&
		errno == ECONNRESET,
	    "it ends a pending question");
	close(pair[1]);
	done_testing();
}
