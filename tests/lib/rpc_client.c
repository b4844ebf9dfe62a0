/* SPDX-License-Identifier: ISC */
/*
 * One call and its reply: see lib/rpc_client.h.
 * Runs in: tests.
 */
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "lib/rpc_client.h"
#include "rpc/msg.h"
#include "transport/record.h"

#define CLIENT_HEADER_MAX (RPC_HEADER_MIN + RPC_AUTH_BODY_MAX)
#define CLIENT_STRAYS_MAX 64 /* replies to other calls that are skipped */

/* Waits until fd is ready; false when the deadline has passed. */
static bool
wait_for(int fd, short events, int64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int64_t left;

	do {
		left = deadline - (int64_t)clock_ms();
		if (left <= 0)
			return false;
	} while (poll(&pfd, 1, (int)left) == -1 && errno == EINTR);
	return pfd.revents != 0;
}

static const char *
send_all(int fd, struct iovec *iov, int n, int64_t deadline)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	ssize_t sent;

	while (msg.msg_iovlen > 0) {
		sent = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent == -1 && errno == EAGAIN) {
			if (!wait_for(fd, POLLOUT, deadline))
				return "timed out";
			continue;
		}
		if (sent == -1 && errno != EINTR)
			return "cannot send";
		for (; sent > 0 && msg.msg_iovlen > 0;) {
			size_t step = msg.msg_iov->iov_len;

			if (step > (size_t)sent)
				step = (size_t)sent;
			msg.msg_iov->iov_base =
			    (uint8_t *)msg.msg_iov->iov_base + step;
			msg.msg_iov->iov_len -= step;
			sent -= (ssize_t)step;
			if (msg.msg_iov->iov_len > 0)
				break;
			msg.msg_iov++;
			msg.msg_iovlen--;
		}
		while (msg.msg_iovlen > 0 && msg.msg_iov->iov_len == 0) {
			msg.msg_iov++;
			msg.msg_iovlen--;
		}
	}
	return NULL;
}

/* Exactly len bytes of a stream. */
static const char *
get_bytes(int fd, uint8_t *buf, size_t len, int64_t deadline)
{
	ssize_t n;

	while (len > 0) {
		if (!wait_for(fd, POLLIN, deadline))
			return "timed out";
		n = recv(fd, buf, len, MSG_DONTWAIT);
		if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
			return "connection closed";
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
	return NULL;
}

/* One record into buf, however it was cut into fragments. */
static const char *
get_record(int fd, uint8_t *buf, size_t size, size_t *len, int64_t deadline)
{
	const char *why;
	uint8_t bytes[RPC_MARK_SIZE];
	struct rpc_mark mark;

	*len = 0;
	do {
		why = get_bytes(fd, bytes, sizeof(bytes), deadline);
		if (why != NULL)
			return why;
		mark = rpc_mark_get(bytes);
		if (mark.len > size - *len)
			return "reply too long";
		why = get_bytes(fd, buf + *len, mark.len, deadline);
		if (why != NULL)
			return why;
		*len += mark.len;
	} while (!mark.last);
	return NULL;
}

static const char *
get_message(const struct rpc_target *t, uint8_t *buf, size_t size, size_t *len,
    int64_t deadline)
{
	ssize_t n;

	if (t->stream)
		return get_record(t->fd, buf, size, len, deadline);
	if (!wait_for(t->fd, POLLIN, deadline))
		return "timed out";
	n = recv(t->fd, buf, size, MSG_DONTWAIT | MSG_TRUNC);
	if (n == -1)
		return errno == ECONNREFUSED ? "no process listens" :
					       "cannot receive";
	if ((size_t)n > size)
		return "reply too long";
	*len = (size_t)n;
	return NULL;
}

static const char *
call(const struct rpc_target *t, struct rpc_head *head, const uint8_t *args,
    size_t args_len, int64_t deadline)
{
	uint8_t header[RPC_MARK_SIZE + CLIENT_HEADER_MAX];
	struct iovec iov[2];
	struct xdr_out x;

	xdr_out_init(&x, header, sizeof(header));
	xdr_put_u32(&x, 0); /* the mark, for streams */
	rpc_put_call(&x, head, t->cred);
	rpc_mark_put(header, x.len - RPC_MARK_SIZE + args_len);
	iov[0].iov_base = t->stream ? header : header + RPC_MARK_SIZE;
	iov[0].iov_len = t->stream ? x.len : x.len - RPC_MARK_SIZE;
	memcpy(&iov[1].iov_base, &args, sizeof(args)); /* only read */
	iov[1].iov_len = args_len;
	return send_all(t->fd, iov, 2, deadline);
}

const char *
rpc_client_call(const struct rpc_target *t, uint32_t procnum,
    const uint8_t *args, size_t args_len, uint8_t *buf, size_t buf_size,
    struct xdr_in *res)
{
	struct rpc_head head = {
		.prog = t->prog, .vers = t->vers, .proc = procnum
	};
	const char *why;
	unsigned int strays;
	int64_t deadline;
	uint32_t xid;
	size_t len;

	head.xid = t->xid != 0 ? t->xid : arc4random();
	deadline = (int64_t)clock_ms() + t->timeout_ms;
	why = call(t, &head, args, args_len, deadline);
	for (strays = 0; why == NULL; strays++) {
		why = get_message(t, buf, buf_size, &len, deadline);
		if (why != NULL)
			break;
		xdr_in_init(res, buf, len);
		why = rpc_get_reply(res, &xid);
		if (xid == head.xid)
			return why;
		why = strays < CLIENT_STRAYS_MAX ? NULL : "only other replies";
	}
	return why;
}

int
rpc_client_unix(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	if (strlcpy(un.sun_path, path, sizeof(un.sun_path)) >=
	    sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
		close_keep_errno(fd);
		return -1;
	}
	return fd;
}
