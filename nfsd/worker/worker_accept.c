/* SPDX-License-Identifier: ISC */
/*
 * Takes connections from the accept role: see worker_accept.h. News are sent
 * together at the end of a turn. The kernel queues few messages, so news may have
 * to wait. The role is a process of nfsd, but not believed: the kernel says whose
 * connection it is.
 * Runs in: nfsd worker, event loop only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/ipc.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/worker/worker_accept.h"

#define TAKES_AT_ONCE 32 /* handled before the event loop runs others */
#define NEWS_FIRST    64

static void
disconnect(struct worker_accept *a)
{
	if (a->channel == -1)
		return;
	if (a->on_message != NULL) {
		event_free(a->on_message);
		event_free(a->on_room);
	}
	a->on_message = a->on_room = NULL;
	close(a->channel);
	a->channel = -1;
	a->n = 0; /* its successor knows none of them */
}

/* Without memory the role counts one connection too many. */
static void
tell(struct worker_accept *a, uint64_t id, enum accept_what what)
{
	size_t room = a->room == 0 ? NEWS_FIRST : a->room * 2;
	struct accept_news *more;

	if (a->channel == -1 || a->on_room == NULL)
		return;
	if (a->n == a->room) {
		more = reallocarray(a->news, room, sizeof(*more));
		if (more == NULL)
			return;
		a->news = more;
		a->room = room;
	}
	a->news[a->n++] = (struct accept_news){ .id = id, .what = what };
	if (a->n == 1)
		(void)event_add(a->on_room, NULL);
}

/* The channel has room: sends the oldest news. */
static void
on_room(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker_accept *a = arg;
	size_t n = a->n < ACCEPT_NEWS_MAX ? a->n : ACCEPT_NEWS_MAX;

	if (ipc_send(a->channel, ACCEPT_NEWS, a->news, n * sizeof(*a->news),
		NULL, 0) == 0) {
		a->n -= n;
		memmove(a->news, a->news + n, a->n * sizeof(*a->news));
	} else if (errno != EAGAIN) {
		disconnect(a);
		return;
	}
	if (a->n > 0)
		(void)event_add(a->on_room, NULL);
}

static void
on_take(void *arg, struct ipc_message *m)
{
	struct worker_accept *a = arg;
	struct accept_take take;
	int fd = m->fds[0];

	memcpy(&take, m->data, sizeof(take));
	m->fds[0] = -1;
	/* Before it can end. */
	tell(a, take.id, ACCEPT_TAKEN);
	if (!rpc_tcp_take(a->tcp, fd, take.id))
		tell(a, take.id, ACCEPT_ENDED);
}

/* clang-format off */
static const struct ipc_row rows[ACCEPT_MESSAGES] = {
	[ACCEPT_TAKE] = { "take", sizeof(struct accept_take), sizeof(struct accept_take), 1, 1, on_take },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
on_message(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct worker_accept *a = arg;
	const char *why = NULL;
	int i, r;

	for (i = 0; i < TAKES_AT_ONCE && a->channel == (int)fd; i++) {
		r = ipc_serve((int)fd, &messages, a, &why);
		if (r == 1)
			continue;
		if (r == -1 && errno == EAGAIN)
			return;
		if (r == -1 && why != NULL) {
			/* The descriptor did not fit: the kernel closed it. */
			tell(a, 0, ACCEPT_REFUSED);
			rpc_tcp_shortage(a->tcp);
		} else
			disconnect(a);
		return;
	}
}

static void
watch(struct worker_accept *a)
{
	if (a->channel == -1 || a->base == NULL)
		return;
	a->on_message =
	    event_new(a->base, a->channel, EV_READ | EV_PERSIST, on_message, a);
	a->on_room = event_new(a->base, a->channel, EV_WRITE, on_room, a);
	if (a->on_message == NULL || a->on_room == NULL ||
	    event_add(a->on_message, NULL) == -1)
		fatalx("event: out of memory");
}

void
worker_accept_init(struct worker_accept *a)
{
	*a = (struct worker_accept){ .channel = -1 };
}

void
worker_accept_connect(struct worker_accept *a, int channel)
{
	disconnect(a);
	a->channel = channel;
	watch(a);
}

void
worker_accept_start(struct worker_accept *a, struct event_base *base,
    struct rpc_tcp *tcp)
{
	a->base = base;
	a->tcp = tcp;
	watch(a);
}

void
worker_accept_ended(void *arg, uint64_t id)
{
	tell(arg, id, ACCEPT_ENDED);
}

void
worker_accept_stop(struct worker_accept *a)
{
	disconnect(a);
	a->base = NULL;
}
