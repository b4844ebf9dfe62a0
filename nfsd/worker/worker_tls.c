/* SPDX-License-Identifier: ISC */
/*
 * Connections on their way to TLS: see worker_tls.h. At a limit of all clients the
 * oldest handshake gives way: an honest one is done in milliseconds.
 * Runs in: nfsd worker, event loop only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/worker/worker_tls.h"

#define MESSAGES_AT_ONCE 64 /* handled before the event loop runs others */

/* The limit of all clients: one line for all of them. */
static const char no_place[] =
    "another client needs its place (-o tls-handshakes)";

/* Logs why a client has no session: its address, its certificate, the reason. */
static void
log_failure(const struct rpc_peer *peer, const struct peer_identity *id,
    const char *what, const char *why)
{
	char from[ADDR_STRLEN], subject[PEER_TEXT * 2], reason[TLS_WHY * 2];
	uint64_t certificate = 0;

	/* Each reason and each certificate of a host gets its line. */
	if (id != NULL)
		memcpy(&certificate, id->fingerprint, sizeof(certificate));
	if (!log_permit("tls",
		(why == no_place ? 0 : addr_hash(&peer->from)) ^
		    hash_text(why) ^ certificate))
		return;
	(void)addr_print(&peer->from, from);
	(void)log_text(reason, sizeof(reason), why, strlen(why));
	if (id == NULL || id->security != PEER_MTLS)
		log_warnx("%s: %s: %s", from, what, reason);
	else
		log_warnx("%s: %s: %s: certificate of %s, serial %s", from,
		    what, reason,
		    log_text(subject, sizeof(subject), id->subject,
			strlen(id->subject)),
		    id->serial);
}

static bool
send_now(const struct worker_tls *t, uint32_t type, uint64_t id, int fd)
{
	struct tls_connection m = { .id = id };

	return ipc_send(t->channel, type, &m, sizeof(m), &fd,
		   fd == -1 ? 0 : 1) == 0;
}

static void
drop_message(struct worker_tls *t, struct worker_tls_message *m)
{
	TAILQ_REMOVE(&t->outbox, m, entry);
	free(m);
}

/*
 * Sends now, or in its turn when the role has read more: the kernel queues few
 * messages. Returns false if the role is gone.
 */
static bool
send_to_role(struct worker_tls *t, uint32_t type, uint64_t id, int fd)
{
	struct worker_tls_message *m;

	if (t->channel == -1)
		return false;
	if (TAILQ_EMPTY(&t->outbox) && send_now(t, type, id, fd))
		return true;
	if (TAILQ_EMPTY(&t->outbox) && errno != EAGAIN && errno != ETOOMANYREFS)
		return false;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return false;
	*m = (struct worker_tls_message){ .type = type, .id = id, .fd = fd };
	TAILQ_INSERT_TAIL(&t->outbox, m, entry);
	(void)event_add(t->on_room, NULL);
	return true;
}

static void
on_room(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker_tls *t = arg;
	struct worker_tls_message *m;

	while ((m = TAILQ_FIRST(&t->outbox)) != NULL) {
		if (!send_now(t, m->type, m->id, m->fd) &&
		    (errno == EAGAIN || errno == ETOOMANYREFS))
			return;
		drop_message(t, m);
	}
	(void)event_del(t->on_room);
}

/* Tells the role that a connection has ended, unless it never heard of it. */
static void
send_ended(struct worker_tls *t, uint64_t id)
{
	struct worker_tls_message *m;

	TAILQ_FOREACH (m, &t->outbox, entry)
		if (m->type == TLS_BEGIN && m->id == id) {
			drop_message(t, m); /* its descriptor closes now */
			return;
		}
	(void)send_to_role(t, TLS_ENDED, id, -1);
}

/* Ends a handshake for a reason of the worker's own. */
static void
give_up(struct worker_tls *t, const struct handshake *w,
    enum tls_failure failure, const char *why)
{
	t->failures[failure]++;
	log_failure(&w->peer, NULL, "TLS handshake failed", why);
	(void)rpc_streams_end_tls(t->streams, w->peer.id); /* frees w */
}

static bool
forget(struct worker_tls *t, uint64_t id)
{
	struct handshake *w = handshakes_find(&t->waiting, id);

	if (w != NULL)
		handshakes_remove(&t->waiting, w);
	return w != NULL;
}

/* The hooks of the transport: a connection is handed over. */
static bool
tls_begin(void *arg, const struct rpc_peer *peer, int fd)
{
	static const struct timeval second = { 1, 0 };
	struct worker_tls *t = arg;
	uint64_t now = clock_coarse_ms();
	const char *why =
	    handshakes_refuse(&t->waiting, t->limits, &peer->from, now);

	t->handshakes++;
	if (why != NULL) {
		t->failures[TLS_BAD_LIMIT]++;
		log_failure(peer, NULL, "TLS handshake refused", why);
		return false;
	}
	if (t->waiting.count >= t->limits->handshakes)
		give_up(t, TAILQ_FIRST(&t->waiting.waiting), TLS_BAD_LIMIT,
		    no_place);
	if (!handshakes_add(&t->waiting, peer, now) ||
	    !send_to_role(t, TLS_BEGIN, peer->id, fd)) {
		t->failures[TLS_BAD_HERE]++;
		log_failure(peer, NULL, "TLS handshake failed",
		    "the tls process does not take it");
		(void)forget(t, peer->id);
		return false;
	}
	if (!event_pending(t->on_second, EV_TIMEOUT, NULL))
		(void)event_add(t->on_second, &second);
	return true;
}

static void
tls_ended(void *arg, const struct rpc_peer *peer)
{
	struct worker_tls *t = arg;

	if (peer->identity != NULL)
		t->sessions--;
	(void)forget(t, peer->id);
	send_ended(t, peer->id);
}

/* A connection with TLS is in use. */
static void
tls_used(void *arg, const struct rpc_peer *peer)
{
	const struct worker_tls *t = arg;

	proven_note(t->proven, &peer->from, peer->identity, clock_coarse_ms());
}

static void
on_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	static const struct timeval second = { 1, 0 };
	struct worker_tls *t = arg;
	const struct handshake *w;

	while ((w = TAILQ_FIRST(&t->waiting.waiting)) != NULL &&
	    clock_coarse_ms() - w->since_ms >=
		(uint64_t)t->limits->seconds * 1000)
		give_up(t, w, TLS_BAD_TIME,
		    "not done in time (-o tls-seconds)");
	if (w != NULL)
		(void)event_add(t->on_second, &second);
}

/* Ends every connection of this role, and offers TLS no more. */
static void
disconnect(struct worker_tls *t)
{
	int channel = t->channel;

	if (channel == -1)
		return;
	t->channel = -1;
	if (t->on_message != NULL) {
		event_free(t->on_message);
		event_free(t->on_room);
	}
	t->on_message = t->on_room = NULL;
	while (!TAILQ_EMPTY(&t->outbox))
		drop_message(t, TAILQ_FIRST(&t->outbox));
	if (t->base != NULL) {
		rpc_server_offer_tls(t->server, false);
		rpc_streams_end_all_tls(t->streams);
	}
	close(channel);
}

const char *
worker_tls_judge(const struct worker_tls *t, const struct tls_verdict *v,
    size_t nfds, struct peer_identity **id)
{
	const struct peer_identity *in = &v->identity;

	*id = NULL;
	if (v->failure >= TLS_BAD_TIME ||
	    nfds != (v->failure == TLS_DONE && !t->limits->kernel))
		return "a verdict that cannot be";
	if (memchr(v->why, '\0', sizeof(v->why)) == NULL ||
	    !proven_is_sound(in))
		return "a malformed identity";
	if (v->failure != TLS_DONE)
		return NULL;
	*id = malloc(sizeof(**id));
	if (*id == NULL)
		return NULL;
	**id = *in;
	(*id)->users = 1;
	(*id)->key = 0;
	/* Without the padding at its end. 0 is for plain connections. */
	(*id)->key = hash_bytes(&t->secret, &(*id)->security,
			 offsetof(struct peer_identity, names) + PEER_NAMES -
			     offsetof(struct peer_identity, security)) |
	    1;
	return NULL;
}

/* The role broke a rule: it may be compromised. */
static void
refuse_role(struct worker_tls *t, const char *why)
{
	log_warnx("tls: broke the rules: %s", why);
	disconnect(t);
	(void)ipc_send(t->parent, NFSD_BAD_TLS, NULL, 0, NULL, 0);
}

/* There is no session: ends the connection that asked for one. */
static void
refuse_client(struct worker_tls *t, const struct handshake *w,
    const struct tls_verdict *v)
{
	bool here = v->failure == TLS_DONE; /* no memory for the identity */

	t->failures[here ? TLS_BAD_HERE : v->failure]++;
	log_failure(&w->peer, &v->identity, "TLS handshake failed",
	    here ? "out of memory" : v->why);
	(void)rpc_streams_end_tls(t->streams, v->id); /* frees w */
}

static void
log_session(const struct rpc_peer *peer, const struct peer_identity *id)
{
	char from[ADDR_STRLEN], subject[PEER_TEXT * 2];

	if (log_verbose() > 0)
		log_debug("%s: TLS, %s", addr_print(&peer->from, from),
		    id->security != PEER_MTLS ?
			"no certificate" :
			log_text(subject, sizeof(subject), id->subject,
			    strlen(id->subject)));
}

static void
on_verdict(void *arg, struct ipc_message *m)
{
	struct worker_tls *t = arg;
	struct handshake *w;
	struct tls_verdict v;
	struct peer_identity *id;
	const char *why;
	int fd = -1;

	memcpy(&v, m->data, sizeof(v));
	why = worker_tls_judge(t, &v, m->nfds, &id);
	if (why != NULL) {
		refuse_role(t, why);
		return;
	}
	w = handshakes_find(&t->waiting, v.id);
	if (w == NULL) { /* the connection has ended meanwhile */
		peer_release(id);
		return;
	}
	if (id == NULL) {
		refuse_client(t, w, &v);
		return;
	}
	if (m->nfds > 0) {
		fd = m->fds[0];
		m->fds[0] = -1;
	}
	log_session(&w->peer, id);
	t->sessions++;
	proven_note(t->proven, &w->peer.from, id, clock_coarse_ms());
	handshakes_remove(&t->waiting, w);
	rpc_streams_secured(t->streams, v.id, fd, id);
}

static void
on_revoked(void *arg, struct ipc_message *m)
{
	struct worker_tls *t = arg;
	const struct rpc_peer *peer;
	struct tls_revoked in;

	memcpy(&in, m->data, sizeof(in));
	in.why[sizeof(in.why) - 1] = '\0';
	peer = rpc_streams_peer(t->streams, in.id);
	if (peer == NULL || peer->identity == NULL)
		return;
	log_failure(peer, peer->identity, "TLS connection ended", in.why);
	proven_forget(t->proven, &peer->from, peer->identity);
	(void)rpc_streams_end_tls(t->streams, in.id);
}

/* clang-format off */
static const struct ipc_row rows[TLS_MESSAGES] = {
	[TLS_VERDICT] = { "verdict", sizeof(struct tls_verdict), sizeof(struct tls_verdict), 0, 1, on_verdict },
	[TLS_REVOKED] = { "revoked", sizeof(struct tls_revoked), sizeof(struct tls_revoked), 0, 0, on_revoked },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
on_message(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct worker_tls *t = arg;
	const char *why = NULL;
	int i, r = 1;

	for (i = 0; i < MESSAGES_AT_ONCE && t->channel == (int)fd; i++) {
		r = ipc_serve((int)fd, &messages, t, &why);
		if (r == 1)
			continue;
		if (r == -1 && errno == EAGAIN)
			return;
		if (why != NULL)
			refuse_role(t, why);
		else
			disconnect(t);
		return;
	}
}

/* Watches the channel and offers TLS. */
static void
offer(struct worker_tls *t)
{
	if (t->channel == -1 || t->base == NULL)
		return;
	t->on_message =
	    event_new(t->base, t->channel, EV_READ | EV_PERSIST, on_message, t);
	t->on_room =
	    event_new(t->base, t->channel, EV_WRITE | EV_PERSIST, on_room, t);
	if (t->on_message == NULL || t->on_room == NULL ||
	    event_add(t->on_message, NULL) == -1)
		fatalx("event: out of memory");
	rpc_server_offer_tls(t->server, true);
}

void
worker_tls_connect(struct worker_tls *t, int channel)
{
	disconnect(t);
	t->channel = channel;
	offer(t);
}

void
worker_tls_init(struct worker_tls *t, int parent,
    const struct nfsd_tls_limits *limits)
{
	t->parent = parent;
	t->channel = -1;
	t->limits = limits;
	handshakes_init(&t->waiting);
	TAILQ_INIT(&t->outbox);
}

void
worker_tls_start(struct worker_tls *t, struct event_base *base,
    struct rpc_server *server, struct rpc_streams *streams,
    struct proven *proven)
{
	const struct rpc_tls_hooks hooks = { tls_begin, tls_used, tls_ended,
		t };

	t->base = base;
	t->server = server;
	t->streams = streams;
	t->proven = proven;
	t->on_second = evtimer_new(base, on_second, t);
	if (t->on_second == NULL)
		fatalx("event: out of memory");
	rpc_streams_set_tls(streams, &hooks);
	offer(t);
}

void
worker_tls_stats(const struct worker_tls *t, struct stats *stats)
{
	static const enum stats_gauge failures[TLS_FAILURES] = {
		[TLS_BAD_PROTOCOL] = STATS_TLS_BAD_PROTOCOL,
		[TLS_BAD_CERTIFICATE] = STATS_TLS_BAD_CERTIFICATE,
		[TLS_BAD_PEER] = STATS_TLS_BAD_PEER,
		[TLS_BAD_HERE] = STATS_TLS_BAD_HERE,
		[TLS_BAD_TIME] = STATS_TLS_BAD_TIME,
		[TLS_BAD_LIMIT] = STATS_TLS_BAD_LIMIT,
	};
	const struct rpc_tls_bytes *bytes = rpc_streams_tls_bytes(t->streams);
	size_t i;

	stats_set(stats, STATS_TLS_HANDSHAKES, t->handshakes);
	stats_set(stats, STATS_TLS_SESSIONS, t->sessions);
	stats_set(stats, STATS_TLS_IN, bytes->in);
	stats_set(stats, STATS_TLS_OUT, bytes->out);
	for (i = TLS_DONE + 1; i < TLS_FAILURES; i++)
		stats_set(stats, failures[i], t->failures[i]);
}
