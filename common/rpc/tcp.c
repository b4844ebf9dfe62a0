/* SPDX-License-Identifier: ISC */
/*
 * Stream sockets: accepting, and the limits over all connections. At a limit
 * the host with the most connections loses its least active idle one; only
 * when none is idle the newcomer is refused. Local peers (unix sockets) are
 * counted by user and never lose a connection, since portmapd's entries live
 * as long as theirs.
 * Runs in: the process that reads the network.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "rpc/conn.h"

#define TCP_ACCEPTS 32 /* per wake-up */
#define TCP_HOSTS   1024 /* buckets; any number of hosts */
#define TCP_PAUSE   100000 /* microseconds, when no descriptor is left */

#define RPC_TCP_NO_FILES 0x6e6f66696c6573u /* key of a log line */

/* All connections of one address, or of one local user. */
struct rpc_host {
	LIST_ENTRY(rpc_host) entry;
	struct addr addr;
	unsigned int count;
	struct rpc_conn_list conns; /* least active first */
};

LIST_HEAD(host_bucket, rpc_host);

struct rpc_tcp {
	struct rpc_server *server;
	struct rpc_limits limits;
	LIST_ENTRY(rpc_tcp) entry;
	int fd;
	int reserve; /* a descriptor to give up when there are no others */
	struct event *acceptable;
	struct event *pause;
	struct rpc_conn_list conns; /* least active first */
	unsigned int count;
	bool local; /* a unix socket */
	void (*closed)(void *, uint64_t);
	void *arg;
	bool (*make_room)(void *);
	void *room_arg;
};

static struct {
	LIST_HEAD(, rpc_tcp) listeners;
	struct host_bucket hosts[TCP_HOSTS];
	unsigned int remote; /* connections that are not local */
} all;

const struct rpc_limits *
rpc_tcp_limits(const struct rpc_tcp *t)
{
	return &t->limits;
}

struct rpc_server *
rpc_tcp_server(const struct rpc_tcp *t)
{
	return t->server;
}

unsigned int
rpc_tcp_connections(const struct rpc_tcp *t)
{
	return t->count;
}

size_t
rpc_tcp_unsent(void)
{
	return rpc_streams.owed;
}

/* One line per limit and minute, whoever it was. */
void
rpc_tcp_refused(const struct rpc_peer *peer, const char *what,
    const char *option)
{
	char from[ADDR_STRLEN];

	if (log_permit(hash_text(option)))
		log_warnx("%s: %s: closed; -o %s raises the limit",
		    addr_print(&peer->from, from), what, option);
}

/* What connections are counted by: the address, or the local user. */
static struct addr
host_key(const struct rpc_peer *peer)
{
	struct addr key = peer->from;

	key.port = 0;
	if (peer->kind == RPC_UNIX)
		key.scope = peer->uid;
	return key;
}

static struct rpc_host *
host_find(const struct rpc_peer *peer, bool make)
{
	struct host_bucket *bucket;
	struct rpc_host *h;
	struct addr key;

	key = host_key(peer);
	bucket = &all.hosts[addr_hash(&key) % TCP_HOSTS];
	LIST_FOREACH (h, bucket, entry)
		if (addr_same_host(&h->addr, &key))
			return h;
	if (!make)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->addr = key;
	TAILQ_INIT(&h->conns);
	LIST_INSERT_HEAD(bucket, h, entry);
	return h;
}

static struct rpc_conn *
host_idle(const struct rpc_host *h)
{
	struct rpc_conn *c;

	TAILQ_FOREACH (c, &h->conns, own)
		if (rpc_conn_is_idle(c))
			break;
	return c;
}

/* The remote host with most connections; of equals the least active. */
static struct rpc_host *
host_greatest(void)
{
	struct rpc_host *h, *best;
	size_t i;

	best = NULL;
	for (i = 0; i < TCP_HOSTS; i++)
		LIST_FOREACH (h, &all.hosts[i], entry) {
			if (h->addr.family == AF_UNIX || h->count == 0)
				continue;
			if (best == NULL || h->count > best->count ||
			    (h->count == best->count &&
				TAILQ_FIRST(&h->conns)->active <
				    TAILQ_FIRST(&best->conns)->active))
				best = h;
		}
	return best;
}

/* Closes an idle connection of h; false when it has none. */
static bool
evict(const struct rpc_host *h, const char *why, const char *option)
{
	struct rpc_conn *c;

	c = h == NULL ? NULL : host_idle(h);
	if (c == NULL)
		return false;
	if (option != NULL)
		rpc_tcp_refused(&c->origin.peer, why, option);
	rpc_conn_close(c);
	return true;
}

void
rpc_tcp_touch(struct rpc_tcp *t, struct rpc_conn *c)
{
	uint32_t now;

	now = (uint32_t)(clock_coarse_ms() / 1000);
	if (now == c->active)
		return;
	c->active = now;
	TAILQ_REMOVE(&t->conns, c, age);
	TAILQ_INSERT_TAIL(&t->conns, c, age);
	TAILQ_REMOVE(&c->host->conns, c, own);
	TAILQ_INSERT_TAIL(&c->host->conns, c, own);
}

void
rpc_tcp_forget(struct rpc_tcp *t, struct rpc_conn *c)
{
	struct rpc_host *h = c->host;

	TAILQ_REMOVE(&t->conns, c, age);
	TAILQ_REMOVE(&h->conns, c, own);
	t->count--;
	if (!t->local)
		all.remote--;
	if (--h->count == 0) {
		LIST_REMOVE(h, entry);
		free(h);
	}
	if (t->closed != NULL)
		t->closed(t->arg, c->origin.peer.id);
}

/* Is there room for one more of this peer, or can room be made? */
static bool
admit(struct rpc_tcp *t, const struct rpc_peer *peer)
{
	static const char one_host[] = "too many connections of one host";
	static const char in_all[] = "too many connections";
	struct rpc_host *h;
	unsigned int total;

	h = host_find(peer, false);
	if (h != NULL && h->count >= t->limits.connections_per_host &&
	    (t->local || !evict(h, one_host, "connections-per-host"))) {
		rpc_tcp_refused(peer, one_host, "connections-per-host");
		return false;
	}
	total = t->local ? t->count : all.remote;
	if (total >= t->limits.connections_max &&
	    (t->local || !evict(host_greatest(), in_all, "connections-max"))) {
		rpc_tcp_refused(peer, in_all, "connections-max");
		return false;
	}
	return true;
}

static void
get_peer(struct rpc_tcp *t, int fd, const struct sockaddr_storage *from,
    socklen_t len, struct rpc_peer *peer)
{
	struct sockaddr_storage to;
	socklen_t tolen = sizeof(to), credlen;
	struct ucred cred = { .uid = (uid_t)-1 };
	int on = 1;

	memset(peer, 0, sizeof(*peer));
	peer->max_reply = (uint32_t)t->limits.reply_max;
	peer->uid = (uint32_t)-1;
	if (t->local) {
		peer->kind = RPC_UNIX;
		peer->from.family = AF_UNIX;
		peer->to.family = AF_UNIX;
		credlen = sizeof(cred);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &credlen) ==
		    0)
			peer->uid = cred.uid;
		return;
	}
	peer->kind = RPC_TCP;
	(void)addr_from_sockaddr(&peer->from, (const struct sockaddr *)from,
	    len);
	if (getsockname(fd, (struct sockaddr *)&to, &tolen) == 0)
		(void)addr_from_sockaddr(&peer->to, (struct sockaddr *)&to,
		    tolen);
	/* Replies are collected here; waiting in the kernel helps nobody. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A client that vanished without a word is found out in the end. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void
take_in(struct rpc_tcp *t, int fd, const struct sockaddr_storage *from,
    socklen_t len)
{
	static const struct timeval second = { 1, 0 };
	struct rpc_peer peer;
	struct rpc_host *h;
	struct rpc_conn *c;

	get_peer(t, fd, from, len, &peer);
	if (!admit(t, &peer)) {
		close(fd);
		return;
	}
	h = host_find(&peer, true);
	c = h == NULL ? NULL : rpc_conn_new(t, fd, &peer);
	if (c == NULL) {
		log_warnx("tcp: no memory for a connection, or no more can be "
			  "watched (fs.epoll.max_user_watches)");
		if (h != NULL && h->count == 0) {
			LIST_REMOVE(h, entry);
			free(h);
		}
		close(fd);
		return;
	}
	c->host = h;
	h->count++;
	t->count++;
	if (!t->local)
		all.remote++;
	TAILQ_INSERT_TAIL(&t->conns, c, age);
	TAILQ_INSERT_TAIL(&h->conns, c, own);
	if (t->limits.idle_seconds != 0 && !t->local &&
	    !event_pending(rpc_streams.tick, EV_TIMEOUT, NULL))
		(void)event_add(rpc_streams.tick, &second);
}

/*
 * No descriptor left. Ask for some that others can do without; let an idle
 * connection go; without one, use the reserve to refuse the newcomer; without
 * that, rest, or the loop would spin.
 */
static void
out_of_descriptors(struct rpc_tcp *t, int error)
{
	static const struct timeval pause = { 0, TCP_PAUSE };
	int fd;

	if ((error == EMFILE || error == ENFILE) && t->make_room != NULL &&
	    t->make_room(t->room_arg))
		return;
	if (log_permit(RPC_TCP_NO_FILES))
		log_warnx("no descriptor left for a connection: one is closed; "
			  "LimitNOFILE= or ulimit -n raises the limit");
	if (evict(host_greatest(), NULL, NULL))
		return;
	if (t->reserve != -1) {
		close(t->reserve);
		fd = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd != -1)
			close(fd);
		t->reserve = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
		if (fd != -1)
			return;
	}
	(void)event_del(t->acceptable);
	(void)event_add(t->pause, &pause);
}

static void
on_acceptable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct rpc_tcp *t = arg;
	struct sockaddr_storage from;
	socklen_t len;
	unsigned int i;
	int s;

	for (i = 0; i < TCP_ACCEPTS; i++) {
		len = sizeof(from);
		s = accept4(fd, (struct sockaddr *)&from, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (s != -1)
			take_in(t, s, &from, len);
		else if (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM) {
			out_of_descriptors(t, errno);
			return;
		} else if (errno == EAGAIN)
			return;
	}
}

static void
on_pause_over(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_tcp *t = arg;

	(void)event_add(t->acceptable, NULL);
}

static void
on_again(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	rpc_conn_turn();
	rpc_conn_relieve();
}

/* Closes those that have had their time; true when there may be more. */
static bool
close_overdue(struct rpc_conn *c, uint64_t since, unsigned int seconds,
    const char *why, const char *option)
{
	if (clock_coarse_ms() - since < (uint64_t)seconds * 1000)
		return false;
	rpc_tcp_refused(&c->origin.peer, why, option);
	rpc_conn_close(c);
	return true;
}

/* Closes the idle ones that have been so for too long. */
static void
close_idle(struct rpc_tcp *t, uint32_t now)
{
	struct rpc_conn *c;

	while ((c = TAILQ_FIRST(&t->conns)) != NULL && rpc_conn_is_idle(c) &&
	    now - c->active > t->limits.idle_seconds) {
		rpc_tcp_refused(&c->origin.peer, "idle for too long",
		    "idle-seconds");
		rpc_conn_close(c);
	}
}

/* Once a second, while there is something that could be overdue. */
static void
on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	static const struct timeval second = { 1, 0 };
	struct rpc_streams *s = &rpc_streams;
	struct rpc_conn *c;
	struct rpc_tcp *t;
	bool again;

	while ((c = TAILQ_FIRST(&s->incomplete)) != NULL &&
	    close_overdue(c, c->record_since, c->tcp->limits.record_seconds,
		"record not completed in time", "record-seconds"))
		;
	while ((c = TAILQ_FIRST(&s->stalled)) != NULL &&
	    close_overdue(c, c->unsent_since, c->tcp->limits.stall_seconds,
		"replies not read in time", "stall-seconds"))
		;
	rpc_conn_relieve();
	again = !TAILQ_EMPTY(&s->incomplete) || !TAILQ_EMPTY(&s->stalled);
	LIST_FOREACH (t, &all.listeners, entry) {
		if (t->limits.idle_seconds == 0 || t->local)
			continue;
		close_idle(t, (uint32_t)(clock_coarse_ms() / 1000));
		again = again || t->count > 0;
	}
	if (again)
		(void)event_add(s->tick, &second);
}

static void
free_spares(void)
{
	while (rpc_streams.nspares > 0)
		free(rpc_streams.spares[--rpc_streams.nspares]);
}

/* The first listener brings up what all share; the largest reply counts. */
static void
streams_begin(struct event_base *base, const struct rpc_limits *limits)
{
	struct rpc_streams *s = &rpc_streams;
	size_t cap;

	cap = RPC_CONN_FLUSH + RPC_MARK_SIZE + limits->reply_max;
	if (s->users++ == 0) {
		memset(s, 0, sizeof(*s));
		s->users = 1;
		s->base = base;
		s->in = malloc(RPC_CONN_READ);
		TAILQ_INIT(&s->incomplete);
		TAILQ_INIT(&s->stalled);
		TAILQ_INIT(&s->again);
		s->again_event = evtimer_new(base, on_again, NULL);
		s->tick = evtimer_new(base, on_tick, NULL);
	}
	if (cap > s->out_cap) {
		free(s->out);
		free_spares();
		s->out = malloc(cap);
		s->out_cap = cap;
	}
	if (s->in == NULL || s->out == NULL || s->again_event == NULL ||
	    s->tick == NULL)
		fatal("tcp: shared buffers");
}

static void
streams_end(void)
{
	struct rpc_streams *s = &rpc_streams;

	if (--s->users > 0)
		return;
	event_free(s->again_event);
	event_free(s->tick);
	free(s->in);
	free(s->out);
	free_spares();
	memset(s, 0, sizeof(*s));
}

struct rpc_tcp *
rpc_tcp_new(struct event_base *base, struct rpc_server *server, int fd,
    const struct rpc_limits *limits, void (*closed)(void *, uint64_t),
    void *arg)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(ss);
	struct rpc_tcp *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		fatal("tcp socket");
	streams_begin(base, limits);
	t->server = server;
	t->limits = *limits;
	t->fd = fd;
	t->closed = closed;
	t->arg = arg;
	TAILQ_INIT(&t->conns);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1 ||
	    evutil_make_socket_nonblocking(fd) == -1)
		fatal("tcp socket");
	t->local = ss.ss_family == AF_UNIX;
	t->reserve = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	t->acceptable =
	    event_new(base, fd, EV_READ | EV_PERSIST, on_acceptable, t);
	t->pause = evtimer_new(base, on_pause_over, t);
	if (t->acceptable == NULL || t->pause == NULL ||
	    event_add(t->acceptable, NULL) == -1)
		fatalx("tcp socket: event loop");
	LIST_INSERT_HEAD(&all.listeners, t, entry);
	return t;
}

void
rpc_tcp_on_shortage(struct rpc_tcp *t, bool (*make_room)(void *), void *arg)
{
	t->make_room = make_room;
	t->room_arg = arg;
}

void
rpc_tcp_stop_accepting(struct rpc_tcp *t)
{
	if (t->fd == -1)
		return;
	(void)event_del(t->acceptable);
	(void)event_del(t->pause);
	close(t->fd);
	if (t->reserve != -1)
		close(t->reserve);
	t->fd = t->reserve = -1;
}

void
rpc_tcp_free(struct rpc_tcp *t)
{
	struct rpc_conn *c;

	if (t == NULL)
		return;
	while ((c = TAILQ_FIRST(&t->conns)) != NULL)
		rpc_conn_close(c);
	rpc_tcp_stop_accepting(t);
	event_free(t->acceptable);
	event_free(t->pause);
	LIST_REMOVE(t, entry);
	free(t);
	streams_end();
}
