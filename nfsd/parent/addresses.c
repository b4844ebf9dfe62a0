/* SPDX-License-Identifier: ISC */
/*
 * See addresses.h. Only the kernel's messages count: a process of this machine
 * could send to the socket as well.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/addr.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/parent/addresses.h"

#define NEWS_MAX 16384 /* bytes of one message of the kernel */

/* The address of a message; false: it has none. */
static bool
address_of(struct nlmsghdr *h, struct addr *out)
{
	struct ifaddrmsg *m = NLMSG_DATA(h);
	struct rtattr *a = IFA_RTA(m);
	int64_t left = (int64_t)IFA_PAYLOAD(h);
	size_t size = m->ifa_family == AF_INET ? 4 : 16;
	bool found = false;

	memset(out, 0, sizeof(*out));
	out->family = m->ifa_family;
	if (m->ifa_family != AF_INET && m->ifa_family != AF_INET6)
		return false;
	/* IFA_LOCAL counts; IFA_ADDRESS may be that of the other end. */
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (RTA_PAYLOAD(a) != size ||
		    (a->rta_type != IFA_LOCAL &&
			(a->rta_type != IFA_ADDRESS || found)))
			continue;
		memcpy(out->bytes, RTA_DATA(a), size);
		found = true;
	}
	/* Link-local addresses are equal on several interfaces. */
	if (m->ifa_family == AF_INET6 && out->bytes[0] == 0xfe &&
	    (out->bytes[1] & 0xc0) == 0x80)
		out->scope = m->ifa_index;
	return found;
}

static void
read_news(struct addresses *a, struct nlmsghdr *h, size_t len)
{
	char text[ADDR_STRLEN];
	struct addr at;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if ((h->nlmsg_type != RTM_DELADDR &&
			h->nlmsg_type != RTM_NEWADDR) ||
		    h->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifaddrmsg)) ||
		    !address_of(h, &at))
			continue;
		log_debug("address %s: %s", addr_print(&at, text),
		    h->nlmsg_type == RTM_NEWADDR ? "here" :
						   "left this machine");
		a->moved(a->arg, &at, h->nlmsg_type == RTM_NEWADDR);
	}
}

static void
on_news(evutil_socket_t fd, short what UNUSED, void *arg)
{
	_Alignas(struct nlmsghdr) uint8_t news[NEWS_MAX];
	struct sockaddr_nl from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom((int)fd, news, sizeof(news), 0,
		    (struct sockaddr *)&from, &size)) > 0) {
		if (size == sizeof(from) && from.nl_pid == 0)
			read_news(arg, (struct nlmsghdr *)(void *)news,
			    (size_t)n);
		size = sizeof(from);
	}
	if (n == -1 && errno == ENOBUFS)
		log_warnx("addresses: the kernel told too much at once; "
			  "connections to one that left may stay a while");
}

/* The kernel answers with every address, as if it came now. */
static bool
ask_for_all(int fd)
{
	struct {
		struct nlmsghdr h;
		struct ifaddrmsg m;
	} ask = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(ask.m)),
		      .nlmsg_type = RTM_GETADDR,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	return send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask);
}

void
addresses_start(struct addresses *a, struct event_base *base)
{
	const struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };

	a->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    NETLINK_ROUTE);
	if (a->fd == -1 ||
	    bind(a->fd, (const struct sockaddr *)&groups, sizeof(groups)) ==
		-1 ||
	    !ask_for_all(a->fd)) {
		log_info("addresses: the kernel does not tell when one comes "
			 "or leaves: %s",
		    strerror(errno));
		return;
	}
	a->on_news = event_new(base, a->fd, EV_READ | EV_PERSIST, on_news, a);
	if (a->on_news == NULL || event_add(a->on_news, NULL) == -1)
		fatalx("event: out of memory");
}

void
addresses_free(struct addresses *a)
{
	if (a->on_news != NULL)
		event_free(a->on_news);
	if (a->fd != -1)
		close(a->fd);
}
