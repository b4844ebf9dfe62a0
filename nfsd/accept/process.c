/* SPDX-License-Identifier: ISC */
/*
 * The accept role as a process. It accepts TCP connections and passes each to the
 * worker that place.h chooses. It reads no byte of a client, so nothing that a
 * client sends can take it over. It has the listening sockets and a channel to
 * each worker: no file, no key, no exports, no capability and no way to connect.
 * Runs in: nfsd accept.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/accept/place.h"
#include "nfsd/accept/proto.h"
#include "nfsd/nfsd.h"

#define ACCEPTS	     32 /* connections accepted per wake-up */
#define NEWS_AT_ONCE 64 /* messages of one worker per wake-up */
#define WAITING_MAX  1024 /* connections that no worker has taken yet */
#define DESCRIPTORS  (WAITING_MAX + 512)
#define ACCEPT_PAUSE 100000 /* microseconds, when the kernel has no memory */

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_accept4, false, "connections" },
	{ SYS_recvmsg, false, "messages from the parent and the workers" },
	{ SYS_sendmsg, false, "connections for the workers" },
};

static const struct sandbox_limit limits[] = {
	{ RLIMIT_NPROC, 0, "no new process" },
	{ RLIMIT_NOFILE, DESCRIPTORS, "connections that wait are bounded" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "accept",
	.calls = calls,
	.ncalls = nitems(calls),
	.dies_with_parent = true,
	.limits = limits,
	.nlimits = nitems(limits),
};

struct accept_worker {
	struct accept_role *role;
	unsigned int index;
	int channel; /* -1: it does not run */
	struct event *on_news, *on_room;
};

struct accept_role {
	struct role *role;
	struct accept_setup setup;
	bool has_setup;
	struct event_base *base;
	struct place *place;
	struct accept_worker workers[NFSD_WORKERS_MAX];
	struct event *listeners[ROLE_FDS_MAX];
	struct event *on_pause;
};

static void
disconnect(struct accept_worker *w)
{
	if (w->channel == -1)
		return;
	event_free(w->on_news);
	event_free(w->on_room);
	close(w->channel);
	w->channel = -1;
	place_worker(w->role->place, w->index, false, clock_coarse_ms());
}

/* Sends what waits for a worker, as much as its channel takes. */
static void
send_waiting(struct accept_worker *w)
{
	struct place *place = w->role->place;
	struct place_conn *c;
	struct accept_take m;

	while (w->channel != -1 && (c = place_next(place, w->index)) != NULL) {
		m.id = c->id;
		if (ipc_send(w->channel, ACCEPT_TAKE, &m, sizeof(m), &c->fd,
			1) == 0)
			place_sent(place, c, clock_coarse_ms());
		else if (errno == EAGAIN || errno == ETOOMANYREFS) {
			(void)event_add(w->on_room, NULL);
			return;
		} else
			disconnect(w);
	}
}

static void
on_room(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	send_waiting(arg);
}

/* Returns false if the worker says what cannot be. */
static bool
hear(struct accept_worker *w, const struct accept_news *news)
{
	struct place *place = w->role->place;
	uint64_t now = clock_coarse_ms();
	int fd;

	if (news->what >= ACCEPT_WHATS)
		return false;
	if (news->what == ACCEPT_ENDED) {
		place_end(place, w->index, news->id, now);
		return true;
	}
	fd = place_answer(place, w->index, news->id, news->what == ACCEPT_TAKEN,
	    now);
	if (fd != -1)
		close(fd);
	return fd != -1;
}

static void
accuse(struct accept_worker *w, const char *why)
{
	const uint32_t index = w->index;

	log_warnx("worker %u: broke the rules: %s", w->index, why);
	disconnect(w);
	if (ipc_send(w->role->role->channel, NFSD_BAD_WORKER, &index,
		sizeof(index), NULL, 0) == -1)
		fatal("parent");
}

static void
on_news_message(void *arg, struct ipc_message *m)
{
	struct accept_worker *w = arg;
	struct accept_news news;
	size_t i;
	bool good = m->len % sizeof(news) == 0;

	for (i = 0; good && i < m->len / sizeof(news); i++) {
		memcpy(&news, m->data + i * sizeof(news), sizeof(news));
		good = hear(w, &news);
	}
	if (!good)
		accuse(w, "news that cannot be");
}

/* clang-format off */
static const struct ipc_row news_rows[ACCEPT_MESSAGES] = {
	[ACCEPT_NEWS] = { "news", sizeof(struct accept_news), ACCEPT_NEWS_MAX * sizeof(struct accept_news), 0, 0, on_news_message },
};
/* clang-format on */

static const struct ipc_table news_table = { news_rows, nitems(news_rows) };

static void
on_news(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct accept_worker *w = arg;
	const char *why = NULL;
	int i, r;

	for (i = 0; i < NEWS_AT_ONCE && w->channel != -1; i++) {
		r = ipc_serve(w->channel, &news_table, w, &why);
		if (r == 1)
			continue;
		if (r == -1 && errno == EAGAIN)
			return;
		if (why != NULL)
			accuse(w, why);
		else
			disconnect(w);
	}
}

/* A worker runs, for the first time or again. */
static void
on_channel(void *arg, struct ipc_message *m)
{
	struct accept_role *r = arg;
	struct accept_worker *w;
	uint32_t index;

	memcpy(&index, m->data, sizeof(index));
	if (!r->has_setup || index >= r->setup.workers)
		fatalx("parent: unexpected worker");
	w = &r->workers[index];
	disconnect(w);
	w->channel = m->fds[0];
	m->fds[0] = -1;
	w->on_news =
	    event_new(r->base, w->channel, EV_READ | EV_PERSIST, on_news, w);
	w->on_room = event_new(r->base, w->channel, EV_WRITE, on_room, w);
	if (w->on_news == NULL || w->on_room == NULL ||
	    event_add(w->on_news, NULL) == -1)
		fatalx("event: out of memory");
	place_worker(r->place, index, true, clock_coarse_ms());
	send_waiting(w);
}

static void
on_setup(void *arg, struct ipc_message *m)
{
	struct accept_role *r = arg;
	unsigned int i;

	memcpy(&r->setup, m->data, sizeof(r->setup));
	if (r->has_setup || r->setup.workers > NFSD_WORKERS_MAX)
		fatalx("parent: unexpected setup");
	r->has_setup = true;
	/* Numbers of a role before this one are lower. */
	r->place = place_new(r->setup.workers,
	    r->setup.connections_max + WAITING_MAX, clock_ns());
	if (r->place == NULL)
		fatal("table of connections");
	for (i = 0; i < r->setup.workers; i++)
		r->workers[i] = (struct accept_worker){
			.role = r, .index = i, .channel = -1
		};
}

static void
on_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct accept_role *r = arg;

	role_pong(r->role->channel, ROLE_PONG);
}

/* The workers finish what they have. */
static void
on_stop(void *arg UNUSED, struct ipc_message *m UNUSED)
{
	exit(0);
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[ROLE_SETUP]          = { "setup",   sizeof(struct accept_setup), sizeof(struct accept_setup), 0, 0, on_setup },
	[ROLE_PING]           = { "ping",    0, 0, 0, 0, on_ping },
	[NFSD_ACCEPT_CHANNEL] = { "channel", sizeof(uint32_t), sizeof(uint32_t), 1, 1, on_channel },
	[NFSD_STOP]           = { "stop",    0, 0, 0, 0, on_stop },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

/* The parent is trusted: a malformed message is a bug. */
static void
receive(struct accept_role *r)
{
	const char *why = NULL;
	int got = ipc_serve(r->role->channel, &messages, r, &why);

	if (why != NULL)
		fatalx("parent: %s", why);
	if (got != 1)
		exit(0);
}

static void
on_parent(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	receive(arg);
}

/* Begins to accept, or stops for a while. */
static void
listen_now(struct accept_role *r, bool now)
{
	static const struct timeval pause = { 0, ACCEPT_PAUSE };
	size_t i;

	for (i = 0; i < r->role->nfds; i++)
		if (!now)
			(void)event_del(r->listeners[i]);
		else if (event_add(r->listeners[i], NULL) == -1)
			fatalx("event: out of memory");
	if (!now)
		(void)event_add(r->on_pause, &pause);
}

static void
on_pause_over(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	listen_now(arg, true);
}

static void
take_in(struct accept_role *r, int fd, const struct sockaddr_storage *ss,
    socklen_t len)
{
	struct place_conn *c = NULL;
	char text[ADDR_STRLEN];
	struct addr from;

	if (addr_from_sockaddr(&from, (const struct sockaddr *)ss, len) &&
	    place_waiting(r->place) < WAITING_MAX)
		c = place_add(r->place, &from, fd, clock_coarse_ms());
	if (c != NULL) {
		send_waiting(&r->workers[c->worker]);
		return;
	}
	if (log_permit("accept", 0))
		log_warnx("%s: closed: no worker takes the connection in time, "
			  "or -o connections-max is reached",
		    addr_print(&from, text));
	close(fd);
}

static void
on_acceptable(evutil_socket_t listener, short what UNUSED, void *arg)
{
	struct accept_role *r = arg;
	struct sockaddr_storage from;
	socklen_t len;
	int fd, i;

	for (i = 0; i < ACCEPTS; i++) {
		len = sizeof(from);
		fd = accept4((int)listener, (struct sockaddr *)&from, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd != -1)
			take_in(r, fd, &from, len);
		else if (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM) {
			if (log_permit("accept memory", 0))
				log_warn("accept: waiting a moment");
			listen_now(r, false);
			return;
		} else if (errno == EAGAIN)
			return;
	}
}

static void
enter_sandbox(const struct accept_role *r, struct sandbox *box)
{
	struct jail_view view;

	jail_enter_empty(&view, NULL);
	sandbox_begin(box, &policy, r->setup.strict);
	sandbox_set_root(box, view.mounts, view.root);
	if (!r->setup.rootless)
		daemon_drop(r->setup.uid, r->setup.gid);
	sandbox_enter(box);
}

static void
watch_sockets(struct accept_role *r)
{
	struct event *parent = event_new(r->base, r->role->channel,
	    EV_READ | EV_PERSIST, on_parent, r);
	size_t i;

	r->on_pause = evtimer_new(r->base, on_pause_over, r);
	if (parent == NULL || r->on_pause == NULL ||
	    event_add(parent, NULL) == -1)
		fatalx("event: out of memory");
	for (i = 0; i < r->role->nfds; i++) {
		r->listeners[i] = event_new(r->base, r->role->fds[i],
		    EV_READ | EV_PERSIST, on_acceptable, r);
		if (r->listeners[i] == NULL)
			fatalx("event: out of memory");
	}
	listen_now(r, true);
}

int
nfsd_accept(struct role *role)
{
	static struct accept_role r;
	struct sandbox box;

	r.role = role;
	r.base = daemon_events();
	while (!r.has_setup)
		receive(&r);
	enter_sandbox(&r, &box);
	watch_sockets(&r);
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	(void)event_base_dispatch(r.base);
	return 0;
}
