/* SPDX-License-Identifier: ISC */
/*
 * Datagrams in batches. Every reply is sent from the address that the call was
 * sent to. If that address exists on several interfaces, the reply uses the
 * interface of the call. While the socket cannot send, no more is read.
 * Runs in: the process that reads the network.
 */
#include <sys/socket.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "transport/transport.h"

#define UDP_BATCH 32 /* datagrams per wake-up */
#define UDP_BURST 8 /* seconds of bytes that a client saves up */
#define UDP_ARENA (256 * 1024) /* bytes of replies sent with one call */

#define UDP_CONTROL                                                            \
	(CMSG_SPACE(sizeof(struct in_pktinfo)) +                               \
	    CMSG_SPACE(sizeof(struct in6_pktinfo)))

/* One slot of a batch, for a request or a reply. */
struct udp_slot {
	struct sockaddr_storage name;
	_Alignas(struct cmsghdr) uint8_t control[UDP_CONTROL];
	struct iovec iov;
};

struct rpc_udp {
	struct rpc_server *server;
	struct rpc_limits limits;
	int fd;
	int family;
	uint16_t port;
	struct event *readable;
	struct event *writable;
	struct mmsghdr in[UDP_BATCH], out[UDP_BATCH];
	struct udp_slot in_slots[UDP_BATCH], out_slots[UDP_BATCH];
	unsigned int in_n, in_next; /* received; next to serve */
	unsigned int out_n, out_next; /* to send; next to send */
	uint8_t *requests; /* UDP_BATCH times request_max */
	size_t request_max;
	uint8_t *replies; /* memory of the replies of a batch */
	size_t replies_cap, replies_len;
	struct meter *calls, *bytes; /* of each client; NULL: no limit */
	struct proofs *proofs; /* addresses without a limit of bytes */
	rpc_reply_fn *on_reply; /* NULL: replies are dropped */
	void *on_reply_arg;
};

/* Gets the local address of the call, and the interface. */
static void
get_pktinfo(struct msghdr *msg, struct addr *to, uint32_t *ifindex)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct in6_pktinfo info6;
	struct in_pktinfo info;
	struct cmsghdr *c;
	uint16_t port;

	port = to->port;
	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			/*
			 * For a broadcast, this is the address of the
			 * interface.
			 */
			memcpy(&info, CMSG_DATA(c), sizeof(info));
			sin.sin_addr = info.ipi_spec_dst;
			(void)addr_from_sockaddr(to, (struct sockaddr *)&sin,
			    sizeof(sin));
			*ifindex = (uint32_t)info.ipi_ifindex;
			break;
		}
		if (c->cmsg_level == IPPROTO_IPV6 &&
		    c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&info6, CMSG_DATA(c), sizeof(info6));
			sin6.sin6_addr = info6.ipi6_addr;
			sin6.sin6_scope_id = info6.ipi6_ifindex;
			(void)addr_from_sockaddr(to, (struct sockaddr *)&sin6,
			    sizeof(sin6));
			*ifindex = info6.ipi6_ifindex;
		}
	}
	to->port = port;
}

/* 169.254/16 exists on every interface, so routing cannot choose. */
static bool
is_ambiguous(const struct addr *a)
{
	return a->family == AF_INET && a->bytes[0] == 169 && a->bytes[1] == 254;
}

static void
put_cmsg(struct msghdr *msg, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c;

	msg->msg_controllen = CMSG_SPACE(len);
	memset(msg->msg_control, 0, msg->msg_controllen);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
}

static void
put_pktinfo(struct msghdr *msg, const struct rpc_peer *peer, uint32_t ifindex)
{
	struct in6_pktinfo info6 = { .ipi6_ifindex = 0 };
	struct in_pktinfo info = { .ipi_ifindex = 0 };

	if (peer->to.family == AF_INET) {
		memcpy(&info.ipi_spec_dst, peer->to.bytes, 4);
		if (is_ambiguous(&peer->from))
			info.ipi_ifindex = (int)ifindex;
		put_cmsg(msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
		return;
	}
	memcpy(&info6.ipi6_addr, peer->to.bytes, 16);
	info6.ipi6_ifindex = peer->to.scope;
	/*
	 * The call was sent to a multicast address: the kernel selects the
	 * source.
	 */
	if (IN6_IS_ADDR_MULTICAST(&info6.ipi6_addr))
		info6.ipi6_addr = in6addr_any;
	put_cmsg(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
}

/* Adds the reply at the end of the arena to the batch. */
static void
enqueue(struct rpc_udp *u, const struct rpc_origin *origin, size_t len)
{
	struct udp_slot *slot = &u->out_slots[u->out_n];
	struct msghdr *msg = &u->out[u->out_n].msg_hdr;

	slot->iov.iov_base = u->replies + u->replies_len;
	slot->iov.iov_len = len;
	msg->msg_name = &slot->name;
	msg->msg_namelen =
	    addr_to_sockaddr(&origin->peer.from, u->family, &slot->name);
	msg->msg_iov = &slot->iov;
	msg->msg_iovlen = 1;
	msg->msg_control = slot->control;
	msg->msg_flags = 0;
	put_pktinfo(msg, &origin->peer, (uint32_t)origin->ticket);
	u->replies_len += len;
	u->out_n++;
}

/* Sends the batch. Returns false if the socket is not writable. */
static bool
udp_flush(struct rpc_udp *u)
{
	int n;

	while (u->out_next < u->out_n) {
		n = sendmmsg(u->fd, u->out + u->out_next,
		    u->out_n - u->out_next, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			u->out_next += (unsigned int)n;
		else if (errno == EAGAIN || errno == ENOBUFS)
			return false;
		else if (errno != EINTR)
			u->out_next++; /* this reply cannot be sent: drop it */
	}
	u->out_n = u->out_next = 0;
	u->replies_len = 0;
	return true;
}

/* Has this client sent more calls than it may? */
static bool
is_over_rate(struct rpc_udp *u, const struct addr *from)
{
	return u->calls != NULL && !addr_is_loopback(from) &&
	    !meter_take(u->calls, from, 1, clock_coarse_ms());
}

static void
log_over_rate(const struct rpc_udp *u, const struct addr *from)
{
	char text[ADDR_STRLEN];

	if (log_permit("udp rate", addr_hash(from)))
		log_warnx("udp %s: more than %u calls a second, dropped; "
			  "-o datagrams-per-second raises the limit",
		    addr_print(from, text), u->limits.datagrams_per_second);
}

/*
 * May a reply of this length be sent? A datagram's sender can be forged, so that
 * the reply hits another machine. A reply that is not much longer than its call
 * is no gain for an attacker.
 */
static bool
may_send(struct rpc_udp *u, const struct rpc_origin *origin, size_t len)
{
	const struct addr *from = &origin->peer.from;
	size_t free = RPC_UDP_FREE((size_t)(origin->ticket >> 32));
	uint64_t now;
	char text[ADDR_STRLEN];

	if (u->bytes == NULL || len <= free || addr_is_loopback(from))
		return true;
	now = clock_coarse_ms();
	if (meter_take(u->bytes, from, len - free, now) ||
	    (u->proofs != NULL && proofs_have(u->proofs, from, now)))
		return true;
	if (log_permit("udp bytes", addr_hash(from)))
		log_warnx("udp %s: replies exceed their calls by more than %u "
			  "bytes a second, dropped; TCP has no such limit, "
			  "-o datagram-bytes-per-second raises it",
		    addr_print(from, text),
		    u->limits.datagram_bytes_per_second);
	return false;
}

/* Sets the origin of a call. Returns false if no reply could be sent. */
static bool
get_origin(struct rpc_udp *u, struct mmsghdr *mm, struct rpc_origin *origin)
{
	struct rpc_peer *peer = &origin->peer;
	size_t max, ratio;
	uint32_t ifindex;

	memset(peer, 0, sizeof(*peer));
	if (!addr_from_sockaddr(&peer->from, mm->msg_hdr.msg_name,
		mm->msg_hdr.msg_namelen) ||
	    peer->from.port == 0 || (mm->msg_hdr.msg_flags & MSG_TRUNC) != 0)
		return false;
	if (is_over_rate(u, &peer->from)) {
		log_over_rate(u, &peer->from);
		return false;
	}
	peer->to.family = (uint8_t)u->family;
	peer->to.port = u->port;
	ifindex = 0;
	get_pktinfo(&mm->msg_hdr, &peer->to, &ifindex);
	origin->ticket = (uint64_t)mm->msg_len << 32 | ifindex;
	max = u->limits.datagram_reply_max;
	ratio = u->limits.amplification_percent;
	if (ratio != 0 && !addr_is_loopback(&peer->from) &&
	    mm->msg_len * ratio / 100 < max)
		max = mm->msg_len * ratio / 100;
	peer->max_reply = (uint32_t)max;
	peer->kind = RPC_UDP;
	return true;
}

/* Adds a message to the batch and sends it. False: there is no room. */
static bool
send_copy(struct rpc_udp *u, const struct rpc_origin *origin,
    const uint8_t *msg, size_t len)
{
	if (u->out_n == UDP_BATCH || len > u->replies_cap - u->replies_len)
		return false;
	memcpy(u->replies + u->replies_len, msg, len);
	enqueue(u, origin, len);
	if (!udp_flush(u)) {
		(void)event_del(u->readable);
		(void)event_add(u->writable, NULL);
	}
	return true;
}

/* A reply without room is dropped: the client repeats the call. */
static void
deferred_reply(const struct rpc_origin *origin, const uint8_t *reply,
    size_t len)
{
	struct rpc_udp *u = origin->transport;

	if (len != 0 && may_send(u, origin, len))
		(void)send_copy(u, origin, reply, len);
}

/* Logs that a call is dropped because the queue of the file threads is full. */
static void
log_busy(const struct addr *from)
{
	char text[ADDR_STRLEN];

	if (log_permit("udp busy", 0))
		log_warnx("udp %s: too many calls wait for a disk, dropped; "
			  "more file threads (nfsd -t) raise the limit",
		    addr_print(from, text));
}

/* Is this a reply to a call of ours? */
static bool
is_reply(const uint8_t *msg, size_t len)
{
	struct xdr_in in;

	xdr_in_init(&in, msg, len);
	(void)xdr_get_u32(&in); /* xid */
	return xdr_get_u32(&in) == RPC_REPLY && !in.failed;
}

static void
serve_one(struct rpc_udp *u, struct mmsghdr *mm)
{
	struct rpc_origin origin = { .reply = deferred_reply, .transport = u };
	const uint8_t *msg = mm->msg_hdr.msg_iov->iov_base;
	enum rpc_verdict verdict;
	size_t len;

	if (!get_origin(u, mm, &origin))
		return;
	if (u->on_reply != NULL && is_reply(msg, mm->msg_len)) {
		u->on_reply(u->on_reply_arg, &origin.peer, msg, mm->msg_len);
		return;
	}
	verdict = rpc_serve(u->server, &origin, msg, mm->msg_len,
	    u->replies + u->replies_len, u->replies_cap - u->replies_len, &len);
	if (verdict == RPC_ANSWERED && may_send(u, &origin, len))
		enqueue(u, &origin, len);
	else if (verdict == RPC_BUSY)
		log_busy(&origin.peer.from);
}

/* Serves the batch. Returns false if it must wait for the socket. */
static bool
serve_batch(struct rpc_udp *u)
{
	while (u->in_next < u->in_n) {
		if ((u->out_n == UDP_BATCH ||
			u->replies_cap - u->replies_len <
			    u->limits.datagram_reply_max) &&
		    !udp_flush(u))
			return false;
		serve_one(u, &u->in[u->in_next++]);
	}
	return udp_flush(u);
}

static void
udp_on_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct rpc_udp *u = arg;
	unsigned int i;
	int n;

	for (i = 0; i < UDP_BATCH; i++) {
		u->in[i].msg_hdr.msg_namelen = sizeof(u->in_slots[i].name);
		u->in[i].msg_hdr.msg_controllen =
		    sizeof(u->in_slots[i].control);
	}
	n = recvmmsg(fd, u->in, UDP_BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return; /* no datagram, or an error of an earlier reply */
	u->in_n = (unsigned int)n;
	u->in_next = 0;
	if (!serve_batch(u)) {
		(void)event_del(u->readable);
		(void)event_add(u->writable, NULL);
	}
}

static void
udp_on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_udp *u = arg;

	if (!udp_flush(u) || !serve_batch(u))
		return;
	(void)event_del(u->writable);
	(void)event_add(u->readable, NULL);
}

static void
set_options(struct rpc_udp *u)
{
	struct sockaddr_storage ss;
	struct addr at = { .port = 0 };
	socklen_t len = sizeof(ss);
	int on = 1, size = 4 * 1024 * 1024;

	if (getsockname(u->fd, (struct sockaddr *)&ss, &len) == -1)
		fatal("udp socket");
	(void)addr_from_sockaddr(&at, (struct sockaddr *)&ss, len);
	u->family = ss.ss_family;
	u->port = at.port;
	/* Also on an IPv6 socket: it may receive IPv4 datagrams. */
	if (setsockopt(u->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == -1 &&
	    u->family == AF_INET)
		fatal("udp socket: IP_PKTINFO");
	if (u->family == AF_INET6 &&
	    setsockopt(u->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on,
		sizeof(on)) == -1)
		fatal("udp socket: IPV6_RECVPKTINFO");
	/* The kernel limits it to net.core.rmem_max; less is no error. */
	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	(void)setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static void
set_up_batch(struct rpc_udp *u)
{
	unsigned int i;

	for (i = 0; i < UDP_BATCH; i++) {
		struct udp_slot *slot = &u->in_slots[i];
		struct msghdr *msg = &u->in[i].msg_hdr;

		slot->iov.iov_base = u->requests + i * u->request_max;
		slot->iov.iov_len = u->request_max;
		msg->msg_name = &slot->name;
		msg->msg_iov = &slot->iov;
		msg->msg_iovlen = 1;
		msg->msg_control = slot->control;
	}
}

/* Returns NULL if there is no limit. */
static struct meter *
new_meter(unsigned int per_second, unsigned int seconds)
{
	struct bucket_rate rate = { per_second,
		(uint64_t)per_second * seconds };

	return per_second == 0 ? NULL : meter_new(&rate);
}

struct rpc_udp *
rpc_udp_new(struct event_base *base, struct rpc_server *server, int fd,
    const struct rpc_limits *limits)
{
	struct rpc_udp *u;

	u = calloc(1, sizeof(*u));
	if (u == NULL)
		fatal("udp socket");
	u->server = server;
	u->limits = *limits;
	u->fd = fd;
	set_options(u);
	u->request_max =
	    limits->record_max < 65536 ? limits->record_max : 65536;
	u->replies_cap = UDP_ARENA + limits->datagram_reply_max;
	u->requests = malloc(UDP_BATCH * u->request_max);
	u->replies = malloc(u->replies_cap);
	u->calls = new_meter(limits->datagrams_per_second, 1);
	u->bytes = new_meter(limits->datagram_bytes_per_second, UDP_BURST);
	if (u->requests == NULL || u->replies == NULL)
		fatal("udp socket: buffers");
	set_up_batch(u);
	u->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, udp_on_readable, u);
	u->writable =
	    event_new(base, fd, EV_WRITE | EV_PERSIST, udp_on_writable, u);
	if (u->readable == NULL || u->writable == NULL ||
	    event_add(u->readable, NULL) == -1)
		fatalx("udp socket: event loop");
	return u;
}

void
rpc_udp_on_reply(struct rpc_udp *u, rpc_reply_fn *on_reply, void *arg)
{
	u->on_reply = on_reply;
	u->on_reply_arg = arg;
}

bool
rpc_udp_send(struct rpc_udp *u, const struct rpc_peer *peer, const uint8_t *msg,
    size_t len)
{
	struct rpc_origin origin = { .peer = *peer };

	return send_copy(u, &origin, msg, len);
}

void
rpc_udp_prove(struct rpc_udp *u, struct proofs *proofs)
{
	u->proofs = proofs;
}

void
rpc_udp_free(struct rpc_udp *u)
{
	if (u == NULL)
		return;
	event_free(u->readable);
	event_free(u->writable);
	close(u->fd);
	free(u->requests);
	free(u->replies);
	meter_free(u->calls);
	meter_free(u->bytes);
	free(u);
}
