/* SPDX-License-Identifier: ISC */
/*
 * Sends, receives and dispatches all messages between processes. A handler
 * takes each descriptor that a message carries, or it is closed before the
 * function returns.
 * Runs in: every role of mountd and nfsd.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"

#define IPC_TRIES 3

/* Precedes every payload. len detects a truncated message. */
struct ipc_header {
	uint32_t type;
	uint32_t len;
};

/* Room for descriptors, aligned as cmsg(3) requires. */
union ipc_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
};

int
ipc_pair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd);
}

/*
 * Should the call be tried again? The kernel was interrupted, or had no memory.
 * The message was sent or received completely, or not at all.
 */
static bool
passes(unsigned int tries)
{
	return errno == EINTR ||
	    ((errno == ENOMEM || errno == ENOBUFS) && tries < IPC_TRIES);
}

int
ipc_send(int fd, uint32_t type, const void *data, size_t len, const int *fds,
    size_t nfds)
{
	struct ipc_header head = { .type = type, .len = (uint32_t)len };
	union ipc_control control = { .bytes = { 0 } };
	char empty = 0;
	/* sendmsg(2) does not change the payload, but iovec has no const */
	union {
		const void *in;
		void *out;
	} payload = { .in = len > 0 ? data : &empty };
	struct iovec iov[2] = { { &head, sizeof(head) }, { payload.out, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *c;
	unsigned int tries;

	if (len > IPC_MESSAGE_MAX || nfds > IPC_FDS_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (nfds > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	for (tries = 0; sendmsg(fd, &msg, MSG_NOSIGNAL) == -1; tries++)
		if (!passes(tries))
			return -1;
	return 0;
}

static void
close_fds(int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (fds[i] != -1)
			close(fds[i]);
}

/*
 * Collects the descriptors of SCM_RIGHTS. The size of the control buffer bounds
 * their number.
 */
static size_t
take_fds(struct msghdr *msg, int fds[IPC_FDS_MAX])
{
	struct cmsghdr *c;
	size_t n = 0, more;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		more = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (more > IPC_FDS_MAX - n)
			more = IPC_FDS_MAX - n;
		memcpy(fds + n, CMSG_DATA(c), more * sizeof(int));
		n += more;
	}
	return n;
}

/*
 * Receives one datagram: header and payload. Returns 1 if all is filled, 0 at
 * the end, -1 and errno on an error. If the message is invalid, errno is
 * EBADMSG, *why is set, and no descriptor stays open.
 */
static int
receive(int fd, struct ipc_header *head, void *buf, size_t size,
    int fds[IPC_FDS_MAX], size_t *nfds, const char **why)
{
	union ipc_control control;
	struct iovec iov[2] = { { head, sizeof(*head) }, { buf, size } };
	struct msghdr msg = { .msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	unsigned int tries = 0;
	ssize_t n;

	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n == -1 && passes(tries++));
	if (n == -1) {
		if (errno == EBADMSG) /* reserved for invalid messages */
			errno = EIO;
		return -1;
	}
	*nfds = take_fds(&msg, fds);
	*why = NULL;
	if (n == 0 && *nfds == 0)
		return 0;
	if ((msg.msg_flags & MSG_CTRUNC) != 0)
		*why = "too many descriptors";
	else if ((msg.msg_flags & MSG_TRUNC) != 0)
		*why = "message too long";
	else if ((size_t)n < sizeof(*head))
		*why = "message without header";
	else if ((size_t)n - sizeof(*head) != head->len)
		*why = "length does not match";
	if (*why == NULL)
		return 1;
	close_fds(fds, *nfds);
	errno = EBADMSG;
	return -1;
}

/* Returns the error of this message, or NULL. */
static const char *
check_row(const struct ipc_table *table, const struct ipc_message *m)
{
	const struct ipc_row *row;

	if (m->type >= table->n || table->rows[m->type].run == NULL)
		return "unknown message";
	row = &table->rows[m->type];
	if (m->len < row->min)
		return "message too short";
	if (m->len > row->max)
		return "message too long";
	if (m->nfds < row->min_fds)
		return "descriptor missing";
	if (m->nfds > row->max_fds)
		return "unexpected descriptor";
	return NULL;
}

const char *
ipc_run(const struct ipc_table *table, void *arg, struct ipc_message *m)
{
	const char *bad = check_row(table, m);

	if (bad == NULL)
		table->rows[m->type].run(arg, m);
	return bad;
}

int
ipc_serve(int fd, const struct ipc_table *table, void *arg, const char **why)
{
	_Alignas(16) uint8_t buf[IPC_MESSAGE_MAX];
	struct ipc_message m = { .data = buf };
	struct ipc_header head;
	int fds[IPC_FDS_MAX], r;
	const char *bad = NULL;

	r = receive(fd, &head, buf, sizeof(buf), fds, &m.nfds, &bad);
	if (r == 1) {
		m.type = head.type;
		m.len = head.len;
		m.fds = fds;
		bad = ipc_run(table, arg, &m);
		close_fds(fds, m.nfds);
	}
	if (bad == NULL)
		return r;
	if (why != NULL)
		*why = bad;
	errno = EBADMSG;
	return -1;
}

ssize_t
ipc_receive(int fd, uint32_t *type, void *buf, size_t size, int *fds,
    size_t *nfds)
{
	struct ipc_header head;
	int got[IPC_FDS_MAX], r;
	size_t n = 0, room = nfds != NULL ? *nfds : 0;
	const char *why;

	r = receive(fd, &head, buf, size, got, &n, &why);
	if (r == 0)
		errno = ECONNRESET;
	if (r != 1)
		return -1;
	if (n > room) {
		close_fds(got, n);
		errno = EBADMSG;
		return -1;
	}
	if (n > 0)
		memcpy(fds, got, n * sizeof(int));
	if (nfds != NULL)
		*nfds = n;
	*type = head.type;
	return (ssize_t)head.len;
}
