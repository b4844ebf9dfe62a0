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
		addr_hash(&peer->from) ^ hash_text(why) ^ certificate))
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

static struct worker_tls_wait *
find_waiting(struct worker_tls *t, uint64_t id)
{
	struct worker_tls_wait *w;

	TAILQ_FOREACH (w, &t->waiting, entry)
		if (w->peer.id == id)
			break;
	return w;
}

static void
stop_waiting(struct worker_tls *t, struct worker_tls_wait *w)
{
	TAILQ_REMOVE(&t->waiting, w, entry);
	t->nwaiting--;
	free(w);
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
give_up(struct worker_tls *t, const struct worker_tls_wait *w,
    enum tls_failure failure, const char *why)
{
	t->failures[failure]++;
	log_failure(&w->peer, NULL, "TLS handshake failed", why);
	(void)rpc_streams_end_tls(t->streams, w->peer.id); /* frees w */
}

/* Counts the handshakes of a host in this second. Are they too many? */
static bool
is_too_often(struct worker_tls *t, const struct addr *from)
{
	uint64_t host = addr_hash(from), second = clock_coarse_ms() / 1000;
	struct worker_tls_rate *r = &t->rates[host % WORKER_TLS_RATES];

	if (r->host != host || r->second != second)
		*r = (struct worker_tls_rate){ .host = host, .second = second };
	return ++r->count > t->limits->per_second;
}

/* An IPv6 client has as many addresses as it likes: its /64 counts. */
static const char *
over_limit(struct worker_tls *t, const struct addr *from)
{
	struct addr client = addr_client(from), other;
	const struct worker_tls_wait *w;
	unsigned int n = 0;

	if (is_too_often(t, &client))
		return "too many of one host (-o tls-handshakes-per-second)";
	TAILQ_FOREACH (w, &t->waiting, entry) {
		other = addr_client(&w->peer.from);
		n += addr_same_host(&other, &client);
	}
	if (n >= t->limits->per_host)
		return "too many of one host (-o tls-handshakes-per-host)";
	return NULL;
}

/* The hooks of the transport: a connection is handed over. */
static bool
tls_begin(void *arg, const struct rpc_peer *peer, int fd)
{
	static const struct timeval second = { 1, 0 };
	struct worker_tls *t = arg;
	const char *why = over_limit(t, &peer->from);
	struct worker_tls_wait *w;

	t->handshakes++;
	if (why != NULL) {
		t->failures[TLS_BAD_LIMIT]++;
		log_failure(peer, NULL, "TLS handshake refused", why);
		return false;
	}
	if (t->nwaiting >= t->limits->handshakes)
		give_up(t, TAILQ_FIRST(&t->waiting), TLS_BAD_LIMIT,
		    "another client needs its place (-o tls-handshakes)");
	w = calloc(1, sizeof(*w));
	if (w == NULL || !send_to_role(t, TLS_BEGIN, peer->id, fd)) {
		t->failures[TLS_BAD_HERE]++;
		log_failure(peer, NULL, "TLS handshake failed",
		    "the tls process does not take it");
		free(w);
		return false;
	}
	w->peer = *peer;
	w->since_ms = clock_coarse_ms();
	TAILQ_INSERT_TAIL(&t->waiting, w, entry);
	t->nwaiting++;
	if (!event_pending(t->on_second, EV_TIMEOUT, NULL))
		(void)event_add(t->on_second, &second);
	return true;
}

static void
tls_ended(void *arg, const struct rpc_peer *peer, bool kernel)
{
	struct worker_tls *t = arg;
	struct worker_tls_wait *w = find_waiting(t, peer->id);

	if (peer->identity != NULL)
		t->sessions--;
	if (w != NULL || kernel)
		send_ended(t, peer->id);
	if (w != NULL)
		stop_waiting(t, w);
}

static void
on_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	static const struct timeval second = { 1, 0 };
	struct worker_tls *t = arg;
	const struct worker_tls_wait *w;

	while ((w = TAILQ_FIRST(&t->waiting)) != NULL &&
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

static bool
is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* It is logged as it is. */
static bool
is_serial(const char *text, size_t size)
{
	return is_text(text, size) &&
	    text[strspn(text, "0123456789abcdef")] == '\0';
}

/* Are there nnames names, each with its end? */
static bool
has_names(const struct peer_identity *id)
{
	const char *at = id->names, *end = id->names + sizeof(id->names);
	uint32_t n;

	for (n = 0; n < id->nnames; n++) {
		at = memchr(at, '\0', (size_t)(end - at));
		if (at == NULL || (++at == end && n + 1 < id->nnames))
			return false;
	}
	return true;
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
	if (!is_text(v->why, sizeof(v->why)) ||
	    !is_serial(in->serial, sizeof(in->serial)) ||
	    !is_text(in->subject, sizeof(in->subject)) ||
	    !is_text(in->issuer, sizeof(in->issuer)) ||
	    !is_text(in->user, sizeof(in->user)) || !has_names(in) ||
	    (in->security != PEER_TLS && in->security != PEER_MTLS))
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

static void
on_verdict(void *arg, struct ipc_message *m)
{
	struct worker_tls *t = arg;
	struct worker_tls_wait *w;
	struct tls_verdict v;
	struct peer_identity *id;
	const char *why;
	int fd = m->nfds > 0 ? m->fds[0] : -1;

	memcpy(&v, m->data, sizeof(v));
	why = worker_tls_judge(t, &v, m->nfds, &id);
	if (why != NULL) {
		refuse_role(t, why);
		return;
	}
	w = find_waiting(t, v.id);
	if (w == NULL) { /* the connection has ended meanwhile */
		peer_release(id);
		return;
	}
	if (id == NULL) {
		t->failures[v.failure]++;
		log_failure(&w->peer, &v.identity, "TLS handshake failed",
		    v.why);
		(void)rpc_streams_end_tls(t->streams, v.id);
		return;
	}
	if (log_verbose() > 0) {
		char from[ADDR_STRLEN], subject[PEER_TEXT * 2];

		log_debug("%s: TLS, %s", addr_print(&w->peer.from, from),
		    id->security != PEER_MTLS ?
			"no certificate" :
			log_text(subject, sizeof(subject), id->subject,
			    strlen(id->subject)));
	}
	stop_waiting(t, w);
	t->sessions++;
	if (fd != -1)
		m->fds[0] = -1;
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
	TAILQ_INIT(&t->waiting);
	TAILQ_INIT(&t->outbox);
	hash_key_random(&t->secret);
}

void
worker_tls_start(struct worker_tls *t, struct event_base *base,
    struct rpc_server *server, struct rpc_streams *streams)
{
	const struct rpc_tls_hooks hooks = { tls_begin, tls_ended, t };

	t->base = base;
	t->server = server;
	t->streams = streams;
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
