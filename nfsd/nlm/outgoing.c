/* SPDX-License-Identifier: ISC */
/*
 * Calls to clients: see nlm/outgoing.h. A call waits in a table under its xid,
 * for a port or for an answer. Hosts are kept in a hash table and in the order
 * of their last use. All memory is bounded.
 * Runs in: nfsd nlm (event loop).
 */
#include <sys/queue.h>

#include <netinet/in.h>

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/nlm.h"
#include "nfsd/nlm/outgoing.h"
#include "nfsd/nlm/ports.h"
#include "process/listen.h"
#include "rpc/msg.h"

#define HOST_BUCKETS 1024
#define XID_TRIES    8
#define PROVEN_MS    600000

struct host;

/* A call that waits for a port or for an answer. */
struct waiting {
	uint32_t xid;
	struct host *host; /* NULL: the slot is free */
	TAILQ_ENTRY(waiting)
	entry; /* of the host's queue: it has no port yet */
	bool queued;
	bool lookup; /* a question to the portmapper */
	uint16_t port; /* that it was sent to */
	uint64_t until_ms;
	struct outgoing_call call;
	uint8_t *args; /* NULL once it is sent */
	size_t len;
};

TAILQ_HEAD(waiting_list, waiting);

/* One client. */
struct host {
	LIST_ENTRY(host) bucket;
	TAILQ_ENTRY(host) used;
	TAILQ_ENTRY(host) due; /* if is_due: it has new calls */
	bool is_due;
	struct addr at; /* without port */
	struct ports ports;
	struct waiting_list queue;
	unsigned int calls; /* in the table */
	uint64_t asked_ms; /* the lookup without an answer; 0: none */
	uint64_t proven_ms;
	bool told; /* that it cannot be called */
};

struct sender {
	uint32_t prog;
	struct rpc_udp *udp;
	struct addr at;
};

struct outgoing {
	struct event *on_turn, *on_second;
	struct proofs *proofs;
	struct locks_stats *stats;
	struct meter *each;
	struct bucket all;
	struct hash_key key;
	LIST_HEAD(, host) buckets[HOST_BUCKETS];
	TAILQ_HEAD(, host) used; /* the first was not used for longest */
	TAILQ_HEAD(, host) due;
	size_t nhosts;
	struct waiting calls[OUTGOING_CALLS_MAX];
	size_t ncalls;
	struct sender senders[LISTEN_SOCKETS_MAX * 2];
	size_t nsenders;
};

static const struct bucket_rate each_rate = { OUTGOING_PER_SECOND,
	OUTGOING_PER_SECOND };
static const struct bucket_rate all_rate = { OUTGOING_ALL_SECOND,
	OUTGOING_ALL_SECOND };

static void
count(struct outgoing *o, enum locks_count what)
{
	if (o->stats != NULL)
		o->stats->counts[what]++;
}

static size_t
bucket_of(const struct outgoing *o, const struct addr *at)
{
	struct addr key;

	memset(&key, 0, sizeof(key)); /* its padding, too */
	memcpy(key.bytes, at->bytes, sizeof(key.bytes));
	key.scope = at->scope;
	key.family = at->family;
	return hash_bytes(&o->key, &key, sizeof(key)) % HOST_BUCKETS;
}

static struct host *
find_host(struct outgoing *o, const struct addr *at)
{
	struct host *h;

	LIST_FOREACH (h, &o->buckets[bucket_of(o, at)], bucket)
		if (addr_same_host(&h->at, at))
			break;
	return h;
}

/* Forgets the host that was not used for longest and has no call. */
static bool
drop_host(struct outgoing *o)
{
	struct host *h;

	TAILQ_FOREACH (h, &o->used, used)
		if (h->calls == 0 && !h->is_due)
			break;
	if (h == NULL)
		return false;
	LIST_REMOVE(h, bucket);
	TAILQ_REMOVE(&o->used, h, used);
	free(h);
	o->nhosts--;
	return true;
}

/* Returns NULL if there is no room. */
static struct host *
use_host(struct outgoing *o, const struct addr *at)
{
	struct host *h = find_host(o, at);

	if (h != NULL) {
		TAILQ_REMOVE(&o->used, h, used);
		TAILQ_INSERT_TAIL(&o->used, h, used);
		return h;
	}
	if (o->nhosts == OUTGOING_HOSTS_MAX && !drop_host(o))
		return NULL;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->at = *at;
	h->at.port = 0;
	TAILQ_INIT(&h->queue);
	LIST_INSERT_HEAD(&o->buckets[bucket_of(o, at)], h, bucket);
	TAILQ_INSERT_TAIL(&o->used, h, used);
	o->nhosts++;
	return h;
}

/* One line for each client that cannot be called. */
static void
log_silent(struct outgoing *o, struct host *h, uint32_t prog, const char *why)
{
	char text[ADDR_STRLEN];

	if (!h->told)
		count(o, LOCKS_COUNT_SILENT);
	if (h->told || !log_permit("call back", addr_hash(&h->at)))
		return;
	h->told = true;
	if (prog == NLM_PROGRAM)
		log_warnx("locks: %s cannot be called back (%s); it waits "
			  "until it asks again",
		    addr_print(&h->at, text), why);
	else
		log_warnx("locks: %s cannot be asked or told about a restart "
			  "(%s); nfsd -L drop=%s frees what it held",
		    addr_print(&h->at, text), why, text);
}

static void
release(struct outgoing *o, struct waiting *w)
{
	if (w->queued)
		TAILQ_REMOVE(&w->host->queue, w, entry);
	w->host->calls--;
	o->ncalls--;
	free(w->args);
	memset(w, 0, sizeof(*w));
}

static bool
is_proven(struct outgoing *o, const struct host *h, uint64_t now)
{
	return (h->proven_ms != 0 && now - h->proven_ms < PROVEN_MS) ||
	    (o->proofs != NULL && proofs_have(o->proofs, &h->at, now));
}

/* May one more datagram be sent to this host? Logs its own limit. */
static bool
may_send(struct outgoing *o, struct host *h, uint32_t prog, uint64_t now)
{
	if (is_proven(o, h, now))
		return true;
	if (!meter_take(o->each, &h->at, 1, now)) {
		log_silent(o, h, prog,
		    "it has neither answered nor connected, and more than 4 "
		    "datagrams a second would be sent to it");
		return false;
	}
	if (bucket_take(&o->all, &all_rate, 1, now))
		return true;
	meter_give(o->each, &h->at, 1);
	return false;
}

/* The host has answered: that datagram does not count. */
static void
give_back(struct outgoing *o, const struct host *h)
{
	meter_give(o->each, &h->at, 1);
	bucket_give(&o->all, 1);
}

/* Returns a socket of the program that can send from this address. */
static const struct sender *
find_sender(const struct outgoing *o, uint32_t prog, const struct addr *from)
{
	static const struct addr any4 = { .family = AF_INET };
	static const struct addr any6 = { .family = AF_INET6 };
	const struct sender *s, *best = NULL;
	unsigned int fit, best_fit = 0;

	for (s = o->senders; s < o->senders + o->nsenders; s++) {
		if (addr_same_host(&s->at, from))
			fit = 4;
		else if (addr_same_host(&s->at,
			     from->family == AF_INET ? &any4 : &any6))
			fit = 3;
		else if (addr_same_host(&s->at, &any6))
			fit = 1; /* it may serve IPv4, too */
		else
			continue;
		fit = 2 * fit + (s->prog == prog);
		if (fit > best_fit) {
			best = s;
			best_fit = fit;
		}
	}
	return best;
}

/* Sends a message under this xid. Returns false if it cannot be sent. */
static bool
transmit(struct outgoing *o, const struct outgoing_call *c, uint32_t xid,
    uint16_t port, const uint8_t *args, size_t len)
{
	static const struct rpc_cred root = { .flavor = AUTH_SYS };
	struct rpc_head head = {
		.xid = xid, .prog = c->prog, .vers = c->vers, .proc = c->proc
	};
	struct rpc_peer peer = { .from = c->to, .to = c->from };
	const struct sender *s;
	uint8_t msg[OUTGOING_MAX];
	struct xdr_out x;

	/* A lookup is sent from the socket of the program it is for. */
	s = find_sender(o,
	    c->prog == PORTS_PROGRAM ? (uint32_t)c->tag : c->prog, &c->from);
	xdr_out_init(&x, msg, sizeof(msg));
	rpc_put_call(&x, &head, c->prog == PORTS_PROGRAM ? NULL : &root);
	xdr_put_fixed(&x, args, len);
	if (x.failed || s == NULL || (c->max != 0 && x.len > c->max))
		return false;
	peer.from.port = port;
	if (!rpc_udp_send(s->udp, &peer, x.base, x.len))
		return false;
	count(o, LOCKS_COUNT_CALLBACKS);
	return true;
}

/* Reserves a place in the table under a new xid. NULL: there is none. */
static struct waiting *
reserve(struct outgoing *o, struct host *h, const struct outgoing_call *c,
    uint64_t now)
{
	struct waiting *w;
	uint32_t xid;
	int i;

	if (h->calls >= OUTGOING_PER_HOST)
		return NULL;
	for (i = 0; i < XID_TRIES; i++) {
		xid = randombytes_random();
		w = &o->calls[xid % OUTGOING_CALLS_MAX];
		if (w->host != NULL)
			continue;
		w->xid = xid;
		w->host = h;
		w->call = *c;
		w->until_ms = now + OUTGOING_ANSWER_MS;
		h->calls++;
		o->ncalls++;
		return w;
	}
	return NULL;
}

/* Asks the portmapper of the host for the port of this program. */
static void
look_up(struct outgoing *o, struct host *h, const struct outgoing_call *c,
    uint64_t now)
{
	struct outgoing_call ask = { .to = c->to,
		.from = c->from,
		.prog = PORTS_PROGRAM,
		.max = c->max,
		.tag = (uint64_t)c->vers << 32 | c->prog };
	uint8_t args[PORTS_ARGS_MAX];
	struct waiting *w;
	struct xdr_out x;

	if (h->asked_ms != 0 && now - h->asked_ms < PORTS_ASK_MS)
		return;
	xdr_out_init(&x, args, sizeof(args));
	ports_put_question(&x, h->at.family, c->prog, c->vers, &ask.vers,
	    &ask.proc);
	if (!may_send(o, h, c->prog, now))
		return;
	w = reserve(o, h, &ask, now);
	if (w == NULL)
		return;
	h->asked_ms = now;
	w->lookup = true;
	w->port = PORTS_PORT;
	if (!transmit(o, &w->call, w->xid, PORTS_PORT, args, x.len))
		release(o, w);
}

/*
 * Sends what waits for a port, as far as ports are known, and asks for the
 * others.
 */
static void
advance(struct outgoing *o, struct host *h)
{
	uint64_t now = clock_ms();
	struct waiting *w, *next;
	uint16_t port;

	for (w = TAILQ_FIRST(&h->queue); w != NULL; w = next) {
		next = TAILQ_NEXT(w, entry);
		switch (ports_find(&h->ports, w->call.prog, w->call.vers, now,
		    &port)) {
		case PORTS_UNKNOWN:
			look_up(o, h, &w->call, now);
			continue;
		case PORTS_NONE:
			log_silent(o, h, w->call.prog,
			    "its portmapper names no UDP port");
			release(o, w);
			continue;
		case PORTS_KNOWN:
			break;
		}
		if (!transmit(o, &w->call, w->xid, port, w->args, w->len) ||
		    w->call.answered == NULL) {
			release(o, w);
			continue;
		}
		TAILQ_REMOVE(&h->queue, w, entry);
		w->queued = false;
		w->port = port;
		free(w->args);
		w->args = NULL;
	}
}

static void
take_turn(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct outgoing *o = arg;
	struct host *h;

	while ((h = TAILQ_FIRST(&o->due)) != NULL) {
		TAILQ_REMOVE(&o->due, h, due);
		h->is_due = false;
		advance(o, h);
	}
}

static void
make_due(struct outgoing *o, struct host *h)
{
	if (!h->is_due)
		TAILQ_INSERT_TAIL(&o->due, h, due);
	h->is_due = true;
}

/* Drops the calls whose time is over. A limit may permit the others now. */
static void
each_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct timeval second = { .tv_sec = 1 };
	struct outgoing *o = arg;
	uint64_t now = clock_ms();
	struct waiting *w;

	for (w = o->calls; w < o->calls + OUTGOING_CALLS_MAX; w++) {
		if (w->host != NULL && w->queued && now < w->until_ms)
			make_due(o, w->host);
		if (w->host == NULL || now < w->until_ms)
			continue;
		if (w->lookup)
			log_silent(o, w->host, (uint32_t)w->call.tag,
			    "its portmapper is silent");
		release(o, w);
	}
	take_turn(-1, 0, o);
	if (o->ncalls > 0)
		(void)event_add(o->on_second, &second);
}

struct outgoing *
outgoing_new(struct event_base *base, struct proofs *proofs,
    struct locks_stats *stats)
{
	struct outgoing *o = calloc(1, sizeof(*o));

	if (o == NULL)
		fatal("calls to clients");
	o->proofs = proofs;
	o->stats = stats;
	o->each = meter_new(&each_rate);
	hash_key_random(&o->key);
	TAILQ_INIT(&o->used);
	TAILQ_INIT(&o->due);
	o->on_turn = event_new(base, -1, 0, take_turn, o);
	o->on_second = event_new(base, -1, 0, each_second, o);
	if (o->on_turn == NULL || o->on_second == NULL)
		fatalx("event: out of memory");
	return o;
}

void
outgoing_free(struct outgoing *o)
{
	struct waiting *w;

	if (o == NULL)
		return;
	for (w = o->calls; w < o->calls + OUTGOING_CALLS_MAX; w++)
		if (w->host != NULL)
			release(o, w);
	take_turn(-1, 0, o); /* nothing is left to do for them */
	while (drop_host(o))
		continue;
	event_free(o->on_turn);
	event_free(o->on_second);
	meter_free(o->each);
	free(o);
}

void
outgoing_add_socket(struct outgoing *o, uint32_t prog, struct rpc_udp *udp,
    const struct addr *at)
{
	if (o->nsenders == nitems(o->senders))
		fatalx("too many sockets");
	o->senders[o->nsenders++] = (struct sender){ prog, udp, *at };
	rpc_udp_on_reply(udp, outgoing_reply, o);
}

bool
outgoing_send(struct outgoing *o, const struct outgoing_call *c,
    const uint8_t *args, size_t len)
{
	const struct timeval now_then = { .tv_sec = 0 },
			     second = { .tv_sec = 1 };
	struct host *h = use_host(o, &c->to);
	uint64_t now = clock_ms();
	struct waiting *w;

	if (h == NULL || !may_send(o, h, c->prog, now))
		return false;
	w = reserve(o, h, c, now);
	if (w == NULL) {
		log_silent(o, h, c->prog, "it leaves calls unanswered");
		return false;
	}
	w->args = malloc(len + 1);
	if (w->args == NULL) {
		release(o, w);
		return false;
	}
	memcpy(w->args, args, len);
	w->len = len;
	w->queued = true;
	TAILQ_INSERT_TAIL(&h->queue, w, entry);
	make_due(o, h);
	(void)event_add(o->on_turn, &now_then);
	if (!evtimer_pending(o->on_second, NULL))
		(void)event_add(o->on_second, &second);
	return true;
}

void
outgoing_forget_port(struct outgoing *o, const struct addr *at, uint32_t prog,
    uint32_t vers)
{
	struct host *h = find_host(o, at);

	if (h != NULL)
		ports_forget(&h->ports, prog, vers, clock_ms() - PORTS_ASK_MS);
}

void
outgoing_prove(struct outgoing *o, const struct addr *at)
{
	struct host *h = use_host(o, at);

	if (h == NULL)
		return;
	h->proven_ms = clock_ms();
	h->told = false;
}

bool
outgoing_is_proven(struct outgoing *o, const struct addr *at)
{
	struct host *h = use_host(o, at);

	return h != NULL && is_proven(o, h, clock_ms());
}

/* The portmapper of the host has answered. */
static void
take_port(struct outgoing *o, struct waiting *w, struct xdr_in *results)
{
	struct host *h = w->host;
	uint16_t port = 0;

	if (results != NULL)
		port = ports_get_answer(results, h->at.family);
	ports_add(&h->ports, (uint32_t)w->call.tag,
	    (uint32_t)(w->call.tag >> 32), port, clock_ms());
	h->asked_ms = 0;
	release(o, w);
	advance(o, h);
}

void
outgoing_reply(void *out, const struct rpc_peer *peer, const uint8_t *msg,
    size_t len)
{
	struct outgoing *o = out;
	struct xdr_in x;
	struct outgoing_call call;
	struct waiting *w;
	uint32_t xid;
	bool good;

	xdr_in_init(&x, msg, len);
	good = rpc_get_reply(&x, &xid) == NULL;
	w = &o->calls[xid % OUTGOING_CALLS_MAX];
	if (w->host == NULL || w->xid != xid || w->queued ||
	    !addr_same_host(&w->host->at, &peer->from) ||
	    w->port != peer->from.port)
		return; /* also replies to calls that need none */
	give_back(o, w->host);
	w->host->told = false;
	if (w->lookup) {
		take_port(o, w, good ? &x : NULL);
		return;
	}
	call = w->call;
	release(o, w);
	call.answered(call.arg, call.tag, good ? &x : NULL);
}
