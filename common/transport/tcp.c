/* SPDX-License-Identifier: ISC */
/*
 * Stream sockets: accepting, and the limits over all connections. At a limit,
 * transport/host.c selects the connection that is closed for the new one. The more
 * places are held by connections that wait for the rest of a record, the
 * likelier a newcomer costs one of them its place before the limit is reached.
 * Local users who may register have places of their own and never lose one.
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
#include "transport/conn.h"

#define TCP_ACCEPTS 32 /* connections accepted per wake-up */
#define TCP_PAUSE   100000 /* microseconds, when no descriptor is left */

unsigned int
rpc_tcp_connections(const struct rpc_tcp *t)
{
	return t->count;
}

size_t
rpc_streams_unsent(const struct rpc_streams *s)
{
	return s->owed;
}

/* Closes a connection to make room. Returns false if there is none. */
static bool
evict(struct rpc_conn *c, const char *why, const char *option)
{
	if (c == NULL)
		return false;
	if (option != NULL)
		rpc_conn_log_limit(&c->origin.peer, why, option);
	rpc_conn_close(c);
	return true;
}

static const char in_all[] = "too many connections";

/*
 * Above half of the places, drops a connection that waits for the rest of a
 * record, with a probability that grows to 1 at the limit.
 */
static void
drop_early(struct rpc_streams *s, struct rpc_crowd *crowd, unsigned int places)
{
	const struct rpc_host *h = rank_greatest(&crowd->by_unfinished);
	unsigned int half = places / 2;

	if (h == NULL || crowd->unfinished <= half)
		return;
	s->chance++;
	if (hash_mix(s->chance) % (places - half) < crowd->unfinished - half)
		(void)evict(TAILQ_FIRST(&h->incomplete), in_all,
		    "connections-max");
}

/*
 * Sets the places for the peers of a crowd, and for one of them. Local users
 * who may not register get a quarter.
 */
static void
get_places(const struct rpc_tcp *t, const struct rpc_crowd *crowd,
    unsigned int *all, unsigned int *of_host)
{
	unsigned int part = crowd == &t->streams->crowds[RPC_LOCAL] ? 4 : 1;

	*all = (t->limits.connections_max + part - 1) / part;
	*of_host = (t->limits.connections_per_host + part - 1) / part;
}

/* May this peer have one more connection? May close one to make room. */
static bool
admit(struct rpc_tcp *t, const struct rpc_peer *peer)
{
	static const char one_host[] = "too many connections of one host";
	struct rpc_streams *s = t->streams;
	struct rpc_crowd *crowd = rpc_crowd_of(t, peer);
	const struct rpc_host *h = rpc_host_find(s, peer);
	bool trusted = crowd == &s->crowds[RPC_TRUSTED];
	unsigned int all, of_host;

	get_places(t, crowd, &all, &of_host);
	if (h != NULL && h->count.n >= of_host &&
	    (trusted ||
		!evict(rpc_host_victim(h), one_host, "connections-per-host"))) {
		rpc_conn_log_limit(peer, one_host, "connections-per-host");
		return false;
	}
	if (!trusted)
		drop_early(s, crowd, all);
	if (crowd->count >= all &&
	    (trusted ||
		!evict(rpc_crowd_victim(s, crowd), in_all,
		    "connections-max"))) {
		rpc_conn_log_limit(peer, in_all, "connections-max");
		return false;
	}
	return true;
}

static void
get_peer(struct rpc_tcp *t, int fd, const struct addr *from,
    struct rpc_peer *peer)
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
	peer->from = *from;
	peer->since_ns = clock_ns();
	if (getsockname(fd, (struct sockaddr *)&to, &tolen) == 0)
		(void)addr_from_sockaddr(&peer->to, (struct sockaddr *)&to,
		    tolen);
	/*
	 * The transport collects replies itself; a delay in the kernel is
	 * useless.
	 */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Detects a client that has disappeared without closing. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void
take_in(struct rpc_tcp *t, int fd, const struct addr *from, bool moved)
{
	static const struct timeval second = { 1, 0 };
	struct rpc_streams *s = t->streams;
	struct rpc_peer peer;

	get_peer(t, fd, from, &peer);
	peer.moved = moved;
	if (!admit(t, &peer)) {
		close(fd);
		return;
	}
	if (rpc_conn_new(t, fd, &peer) == NULL) {
		log_warnx("tcp: a connection is refused: no memory, or "
			  "fs.epoll.max_user_watches is reached: raise it");
		close(fd);
		return;
	}
	if (t->limits.idle_seconds != 0 && !t->local &&
	    !event_pending(s->tick, EV_TIMEOUT, NULL))
		(void)event_add(s->tick, &second);
}

void
rpc_tcp_take(struct rpc_tcp *t, int fd, const struct addr *from)
{
	take_in(t, fd, from, true);
}

/*
 * No descriptor is left. First asks make_room. Then closes an idle connection.
 * Then uses the reserve to refuse the new connection. If that fails too, stops
 * accepting for a while, since the event loop would spin.
 */
static void
out_of_descriptors(struct rpc_tcp *t, int error)
{
	static const struct timeval pause = { 0, TCP_PAUSE };
	struct rpc_streams *s = t->streams;
	int fd;

	if ((error == EMFILE || error == ENFILE) && t->make_room != NULL &&
	    t->make_room(t->room_arg))
		return;
	if (log_permit("tcp descriptors", 0))
		log_warnx("no descriptor left for a connection: one is closed; "
			  "LimitNOFILE= or ulimit -n raises the limit");
	if (evict(rpc_crowd_victim(s, &s->crowds[RPC_REMOTE]), NULL, NULL) ||
	    evict(rpc_crowd_victim(s, &s->crowds[RPC_LOCAL]), NULL, NULL))
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
	struct sockaddr_storage ss;
	struct addr from;
	socklen_t len;
	unsigned int i;
	int s;

	for (i = 0; i < TCP_ACCEPTS; i++) {
		len = sizeof(ss);
		s = accept4(fd, (struct sockaddr *)&ss, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (s != -1) {
			memset(&from, 0, sizeof(from));
			(void)addr_from_sockaddr(&from, (struct sockaddr *)&ss,
			    len);
			take_in(t, s, &from, false);
		} else if (errno == EMFILE || errno == ENFILE ||
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
on_again(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	rpc_conn_turn(arg);
	rpc_conn_relieve(arg);
}

static void
on_late(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	rpc_conn_send_late(arg);
	rpc_conn_relieve(arg);
}

/* Closes c if its time is over. Returns true if there may be more of them. */
static bool
close_overdue(struct rpc_conn *c, uint64_t since, unsigned int seconds,
    const char *why, const char *option)
{
	if (clock_coarse_ms() - since < (uint64_t)seconds * 1000)
		return false;
	rpc_conn_log_limit(&c->origin.peer, why, option);
	rpc_conn_close(c);
	return true;
}

/* Closes the connections that have been idle for too long. */
static void
close_idle(struct rpc_tcp *t, uint32_t now)
{
	struct rpc_conn *c;

	while ((c = TAILQ_FIRST(&t->conns)) != NULL && rpc_conn_is_idle(c) &&
	    now - c->active > t->limits.idle_seconds) {
		rpc_conn_log_limit(&c->origin.peer, "idle for too long",
		    "idle-seconds");
		rpc_conn_close(c);
	}
}

/* Runs once a second while a connection can become overdue. */
static void
on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	static const struct timeval second = { 1, 0 };
	struct rpc_streams *s = arg;
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
	rpc_conn_relieve(s);
	again = !TAILQ_EMPTY(&s->incomplete) || !TAILQ_EMPTY(&s->stalled);
	LIST_FOREACH (t, &s->listeners, entry) {
		if (t->limits.idle_seconds == 0 || t->local)
			continue;
		close_idle(t, (uint32_t)(clock_coarse_ms() / 1000));
		again = again || t->count > 0;
	}
	if (again)
		(void)event_add(s->tick, &second);
}

void
rpc_streams_set_tls(struct rpc_streams *s, const struct rpc_tls_hooks *hooks)
{
	s->tls = *hooks;
}

void
rpc_streams_secured(struct rpc_streams *s, uint64_t id, int fd,
    struct peer_identity *identity)
{
	struct rpc_conn *c = rpc_conn_find(s, id);

	if (c != NULL && c->tls.stage == RPC_HANDED) {
		rpc_conn_secure(c, fd, identity);
		return;
	}
	peer_release(identity);
	if (fd != -1)
		close(fd);
}

const struct rpc_peer *
rpc_streams_peer(struct rpc_streams *s, uint64_t id)
{
	const struct rpc_conn *c = rpc_conn_find(s, id);

	return c == NULL ? NULL : &c->origin.peer;
}

uint32_t
rpc_streams_processor(struct rpc_streams *s, uint64_t id)
{
	const struct rpc_conn *c = rpc_conn_find(s, id);
	int cpu = -1;
	socklen_t len = sizeof(cpu);

	if (c == NULL ||
	    getsockopt(c->fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) == -1)
		return UINT32_MAX;
	return (uint32_t)cpu;
}

bool
rpc_streams_end_tls(struct rpc_streams *s, uint64_t id)
{
	struct rpc_conn *c = rpc_conn_find(s, id);

	if (c == NULL ||
	    (c->tls.stage != RPC_HANDED && c->tls.stage != RPC_SECURE))
		return false;
	rpc_conn_close(c);
	return true;
}

/*
 * Nothing more is sent when this connection to an address that left is closed. A
 * reset over IPv6 would leave all the same. The client would connect again before
 * the address is elsewhere, and then wait longer and longer between its attempts.
 */
static void
silence(struct rpc_conn *c)
{
	static const char nowhere[] = "lo";
	/* Else the kernel keeps what was not sent, and the connection with it. */
	const struct linger none = { .l_onoff = 1 };

	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)setsockopt(c->fd, SOL_SOCKET, SO_BINDTODEVICE, nowhere,
	    sizeof(nowhere));
}

/* Closes connections whose peer has this address, or that were made to it. */
static unsigned int
end_all(struct rpc_streams *s, const struct addr *at, bool local)
{
	const struct rpc_peer *peer;
	struct rpc_conn *c, *next;
	struct rpc_tcp *t;
	unsigned int n = 0;

	LIST_FOREACH (t, &s->listeners, entry)
		for (c = TAILQ_FIRST(&t->conns); c != NULL; c = next) {
			next = TAILQ_NEXT(c, age);
			peer = &c->origin.peer;
			if (!addr_same_host(local ? &peer->to : &peer->from,
				at))
				continue;
			if (local)
				silence(c);
			rpc_conn_close(c);
			n++;
		}
	return n;
}

unsigned int
rpc_streams_end_host(struct rpc_streams *s, const struct addr *from)
{
	return end_all(s, from, false);
}

unsigned int
rpc_streams_end_local(struct rpc_streams *s, const struct addr *to)
{
	return end_all(s, to, true);
}

void
rpc_streams_end_all_tls(struct rpc_streams *s)
{
	struct rpc_conn *c, *next;
	struct rpc_tcp *t;

	LIST_FOREACH (t, &s->listeners, entry)
		for (c = TAILQ_FIRST(&t->conns); c != NULL; c = next) {
			next = TAILQ_NEXT(c, age);
			if (c->tls.stage != RPC_PLAIN)
				rpc_conn_close(c);
		}
}

const struct rpc_tls_bytes *
rpc_streams_tls_bytes(const struct rpc_streams *s)
{
	return &s->tls_bytes;
}

struct rpc_streams *
rpc_streams_new(struct event_base *base)
{
	struct rpc_streams *s = calloc(1, sizeof(*s));
	struct hash_key seed;
	size_t i;

	if (s == NULL)
		fatal("tcp: shared buffers");
	hash_key_random(&seed);
	memcpy(&s->chance, seed.bytes, sizeof(s->chance));
	for (i = 0; i < RPC_CROWDS; i++) {
		rank_init(&s->crowds[i].by_count);
		rank_init(&s->crowds[i].by_unfinished);
	}
	s->base = base;
	TAILQ_INIT(&s->incomplete);
	TAILQ_INIT(&s->stalled);
	TAILQ_INIT(&s->first.conns);
	TAILQ_INIT(&s->again.conns);
	s->in = malloc(RPC_CONN_READ);
	s->again_event = evtimer_new(base, on_again, s);
	s->late_event = evtimer_new(base, on_late, s);
	s->tick = evtimer_new(base, on_tick, s);
	if (s->in == NULL || s->again_event == NULL || s->late_event == NULL ||
	    s->tick == NULL)
		fatal("tcp: shared buffers");
	return s;
}

void
rpc_streams_prove(struct rpc_streams *s, struct proofs *proofs)
{
	s->proofs = proofs;
}

static void
free_output(struct rpc_streams *s)
{
	free(s->out);
	while (s->nspares > 0)
		free(s->spares[--s->nspares]);
}

/* Makes the output buffer large enough for the replies of all listeners. */
static void
fit_output(struct rpc_streams *s, const struct rpc_limits *limits)
{
	size_t cap = RPC_CONN_FLUSH + RPC_MARK_SIZE + limits->reply_max;

	if (cap <= s->out_cap)
		return;
	free_output(s);
	s->out = malloc(cap);
	s->out_cap = cap;
	if (s->out == NULL)
		fatal("tcp: shared buffers");
}

void
rpc_streams_free(struct rpc_streams *s)
{
	if (s == NULL)
		return;
	event_free(s->again_event);
	event_free(s->late_event);
	event_free(s->tick);
	free(s->in);
	free_output(s);
	free(s);
}

struct rpc_tcp *
rpc_tcp_new(struct rpc_streams *streams, struct rpc_server *server, int fd,
    const struct rpc_limits *limits, void (*closed)(void *, uint64_t),
    void *arg)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(ss);
	struct rpc_tcp *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		fatal("tcp socket");
	fit_output(streams, limits);
	t->streams = streams;
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
	t->acceptable = event_new(streams->base, fd, EV_READ | EV_PERSIST,
	    on_acceptable, t);
	t->pause = evtimer_new(streams->base, on_pause_over, t);
	if (t->acceptable == NULL || t->pause == NULL ||
	    event_add(t->acceptable, NULL) == -1)
		fatalx("tcp socket: event loop");
	LIST_INSERT_HEAD(&streams->listeners, t, entry);
	return t;
}

void
rpc_tcp_on_shortage(struct rpc_tcp *t, bool (*make_room)(void *), void *arg)
{
	t->make_room = make_room;
	t->room_arg = arg;
}

void
rpc_tcp_trust(struct rpc_tcp *t, bool (*is_trusted)(void *, uint32_t),
    void *arg)
{
	t->is_trusted = is_trusted;
	t->trust_arg = arg;
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
}
