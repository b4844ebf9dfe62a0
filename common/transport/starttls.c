/* SPDX-License-Identifier: ISC */
/*
 * Question, answer and hand-over: see transport/starttls.h. A client may send nothing
 * between its question and the answer. So whatever is in the socket when the
 * connection is handed over belongs to the handshake, to the byte.
 * Runs in: the process that reads the network.
 */
#include <sys/socket.h>

#include <errno.h>
#include <linux/tls.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "transport/conn.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#define TLS_ALERT  21 /* the record type */
#define TLS_RECORD (16 * 1024) /* bytes of a whole one */
#define SEND	   (MSG_NOSIGNAL | MSG_DONTWAIT)

bool
rpc_starttls_ask(struct rpc_conn *c, const uint8_t *answer, size_t len)
{
	if (c->tcp->streams->tls.begin == NULL ||
	    len + RPC_MARK_SIZE > RPC_ANSWER_MAX)
		return false;
	c->tls.answer = malloc(sizeof(*c->tls.answer));
	if (c->tls.answer == NULL)
		return false;
	rpc_mark_put(c->tls.answer->bytes, len);
	memcpy(c->tls.answer->bytes + RPC_MARK_SIZE, answer, len);
	c->tls.answer->len = RPC_MARK_SIZE + len;
	c->tls.stage = RPC_ASKED;
	return true;
}

/* Has the client sent more, or ended the connection? */
static bool
has_input(const struct rpc_conn *c)
{
	uint8_t byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(c->fd, &msg, MSG_PEEK | MSG_DONTWAIT) != -1 ||
	    (errno != EAGAIN && errno != EINTR);
}

bool
rpc_starttls_step(struct rpc_conn *c)
{
	const struct rpc_tls_hooks *tls = &c->tcp->streams->tls;
	struct rpc_answer *answer = c->tls.answer;
	bool sent;

	if (c->deferred > 0 || c->unsent.buf != NULL)
		return true;
	if (has_input(c)) {
		if (log_permit("early TLS", addr_hash(&c->origin.peer.from))) {
			char from[ADDR_STRLEN];

			log_warnx("%s: asked for TLS and did not wait for the "
				  "answer: closed",
			    addr_print(&c->origin.peer.from, from));
		}
		return false;
	}
	/* All replies were accepted by the kernel, so it accepts this one. */
	sent = send(c->fd, answer->bytes, answer->len, SEND) ==
	    (ssize_t)answer->len;
	free(answer);
	c->tls.answer = NULL;
	if (!sent || tls->begin == NULL ||
	    !tls->begin(tls->arg, &c->origin.peer, c->fd))
		return false;
	c->tls.stage = RPC_HANDED;
	return true;
}

/*
 * The kernel has TCP send each record by itself, unless it knows that more
 * follows. So whole records go first, with MSG_MORE.
 */
static ssize_t
send_records(int fd, struct iovec iov[2])
{
	const size_t head = iov[0].iov_len, len = head + iov[1].iov_len;
	const size_t whole = (len - 1) / TLS_RECORD * TLS_RECORD;
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (whole == 0)
		return sendmsg(fd, &msg, SEND);
	iov[1].iov_len = whole - head;
	n = sendmsg(fd, &msg, SEND | MSG_MORE);
	if (n != (ssize_t)whole)
		return n;
	n = send(fd, (uint8_t *)iov[1].iov_base + (whole - head), len - whole,
	    SEND);
	return (ssize_t)whole + (n == -1 ? 0 : n);
}

ssize_t
rpc_starttls_send(struct rpc_conn *c, const uint8_t *mark, const uint8_t *data,
    size_t len)
{
	struct iovec iov[2] = { { NULL, mark == NULL ? 0 : RPC_MARK_SIZE },
		{ NULL, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	memcpy(&iov[0].iov_base, &mark, sizeof(mark)); /* only read */
	memcpy(&iov[1].iov_base, &data, sizeof(data));
	if (c->tls.kernel)
		n = send_records(c->fd, iov);
	else if (mark == NULL)
		n = send(c->fd, data, len, SEND);
	else
		n = sendmsg(c->fd, &msg, SEND);
	if (c->tls.stage == RPC_SECURE && n > 0)
		c->tcp->streams->tls_bytes.out += (size_t)n;
	return n;
}

/* Tells the client of the end, where the kernel has the keys (RFC 8446, 6.1). */
static void
send_close_notify(const struct rpc_conn *c)
{
	union {
		char bytes[CMSG_SPACE(1)];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	uint8_t alert[2] = { 1, 0 }; /* warning, close_notify */
	struct iovec iov = { alert, sizeof(alert) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_TLS;
	cmsg->cmsg_type = TLS_SET_RECORD_TYPE;
	cmsg->cmsg_len = CMSG_LEN(1);
	*CMSG_DATA(cmsg) = TLS_ALERT;
	(void)!sendmsg(c->fd, &msg, SEND);
}

void
rpc_starttls_end(struct rpc_conn *c)
{
	const struct rpc_tls_hooks *tls = &c->tcp->streams->tls;

	free(c->tls.answer);
	c->tls.answer = NULL;
	if (c->tls.stage == RPC_SECURE && c->tls.kernel)
		send_close_notify(c);
	if (c->tls.stage != RPC_HANDED && c->tls.stage != RPC_SECURE)
		return;
	if (tls->ended != NULL)
		tls->ended(tls->arg, &c->origin.peer);
}
