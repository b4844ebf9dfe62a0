/* SPDX-License-Identifier: ISC */
/*
 * Serves one stream connection: see transport/conn.h. All complete records of one
 * read are served and answered with one send. A budget per wake-up keeps a busy
 * connection from delaying the others of its host. The host's time of a turn
 * (transport/host.h) keeps all of them from delaying other hosts. Operations write
 * replies directly into the send buffer.
 * Runs in: the process that reads the network.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/conn.h"

#define CONN_SHORT    4096 /* bytes read per wake-up when memory is short */
#define CONN_RECORDS  128 /* records served per wake-up */
#define CONN_BYTES    (1024 * 1024) /* reply bytes per wake-up */
#define CONN_PAUSE    2000 /* microseconds, when a connection must wait */
#define CONN_PATIENCE 3000 /* ms without progress, beyond a limit */
#define CONN_HASTE    1000 /* the same, far beyond a limit */
#define CONN_LATE     (16 * 1024) /* late replies up to this size are collected */
#define CONN_AWAITED  (8 * 1024 * 1024) /* replies that file threads make */
#define CONN_SWAP     (256 * 1024) /* unsent: keep the buffer, no copy */

/* Logs one line per limit and minute, for all peers together. */
void
rpc_conn_log_limit(const struct rpc_peer *peer, const char *what,
    const char *option)
{
	char from[ADDR_STRLEN];

	if (log_permit(option, 0))
		log_warnx("%s: %s: closed; -o %s raises the limit",
		    addr_print(&peer->from, from), what, option);
}

/* Frees the bytes. A buffer of the common size is kept for reuse. */
static void
bytes_clear(struct rpc_streams *s, struct rpc_bytes *b)
{
	if (b->cap == s->out_cap && s->nspares < RPC_CONN_SPARES)
		s->spares[s->nspares++] = b->buf;
	else
		free(b->buf);
	memset(b, 0, sizeof(*b));
}

/* Moves the rest of a large buffer to a small one. */
static void
bytes_shrink(struct rpc_streams *s, struct rpc_bytes *b)
{
	struct rpc_bytes small = { .buf = NULL };

	if (!rpc_bytes_add(&small, b->buf + b->at, b->len - b->at))
		return;
	bytes_clear(s, b);
	*b = small;
}

/* Updates sums and lists to the memory that c owns. */
static void
account(struct rpc_conn *c)
{
	struct rpc_streams *s = c->tcp->streams;
	bool partial = rpc_record_partial(&c->record);

	s->partial += c->record.cap - c->partial;
	c->partial = c->record.cap;
	s->owed += c->unsent.cap + c->held.cap - c->owed;
	c->owed = c->unsent.cap + c->held.cap;
	if (partial && c->record_since == 0) {
		c->record_since = clock_coarse_ms();
		TAILQ_INSERT_TAIL(&s->incomplete, c, incomplete);
		rpc_host_unfinished(c, true);
	} else if (!partial && c->record_since != 0) {
		c->record_since = 0;
		TAILQ_REMOVE(&s->incomplete, c, incomplete);
		rpc_host_unfinished(c, false);
	}
}

/* Records progress in sending, or that nothing is left to send. */
static void
set_stalled(struct rpc_conn *c, bool unsent)
{
	struct rpc_streams *s = c->tcp->streams;

	if (c->unsent_since != 0)
		TAILQ_REMOVE(&s->stalled, c, stalled);
	c->unsent_since = unsent ? clock_coarse_ms() : 0;
	if (unsent)
		TAILQ_INSERT_TAIL(&s->stalled, c, stalled);
}

/*
 * Adds or removes an event. Returns false if the kernel watches no more
 * descriptors.
 */
static bool
set_event(struct event *ev, bool want, bool *have)
{
	if (want == *have)
		return true;
	*have = want;
	if (want)
		return event_add(ev, NULL) == 0;
	(void)event_del(ev);
	return true;
}

/* Must c wait until its own replies are sent? */
static bool
is_blocked(const struct rpc_conn *c)
{
	const struct rpc_limits *limits = &c->tcp->limits;
	size_t unsent = c->unsent.len - c->unsent.at;

	return unsent >= limits->queue_max ||
	    c->deferred >= limits->deferred_max || c->awaited >= CONN_AWAITED ||
	    (unsent > 0 && c->tcp->streams->owed >= limits->unsent_max);
}

/* Is the memory of unsent replies twice the limit or more? */
static bool
is_flooded(const struct rpc_conn *c)
{
	return c->tcp->streams->owed / 2 >= c->tcp->limits.unsent_max;
}

/*
 * Must c stop reading to save memory? Above the limit, connections with an
 * incomplete record wait. The oldest one does not: its completion frees memory.
 */
static bool
is_paused(const struct rpc_conn *c)
{
	const struct rpc_streams *s = c->tcp->streams;
	bool more =
	    c->record_since != 0 && s->partial >= c->tcp->limits.partial_max;

	return is_flooded(c) || (more && c != TAILQ_FIRST(&s->incomplete));
}

/*
 * May c begin a record? Far above the limit, only a record that has arrived
 * completely is served. Short calls are then served at once, long ones wait.
 */
static bool
may_begin(const struct rpc_conn *c)
{
	return rpc_record_partial(&c->record) ||
	    c->tcp->streams->partial / 2 < c->tcp->limits.partial_max;
}

static void
call_turn(struct rpc_streams *s)
{
	static const struct timeval now = { 0, 0 };

	(void)event_add(s->again_event, &now);
}

/*
 * Queues c to continue at the next turn, or after a pause. Places among the calls
 * that wait for file threads go to those first whose host got none in this turn.
 */
static void
go_on_later(struct rpc_conn *c, bool pause)
{
	static const struct timeval soon = { 0, CONN_PAUSE };
	struct rpc_streams *s = c->tcp->streams;

	if (c->turn == NULL)
		rpc_host_queue(c,
		    c->busy && c->host->got != s->turn ? &s->first : &s->again);
	if (!pause)
		call_turn(s);
	else if (!event_pending(s->again_event, EV_TIMEOUT, NULL))
		(void)event_add(s->again_event, &soon);
}

/*
 * Keeps what send(2) did not accept. If much is left, keeps the whole buffer
 * instead of a copy.
 */
static void
keep_unsent(struct rpc_conn *c, size_t sent)
{
	struct rpc_streams *s = c->tcp->streams;
	uint8_t *fresh;
	size_t left;

	left = s->out_len - sent;
	if (c->unsent.buf == NULL || sent > 0)
		set_stalled(c, true);
	if (c->unsent.buf == NULL && left > CONN_SWAP) {
		fresh = s->nspares > 0 ? s->spares[--s->nspares] :
					 malloc(s->out_cap);
		if (fresh != NULL) {
			c->unsent.buf = s->out;
			c->unsent.at = sent;
			c->unsent.len = s->out_len;
			c->unsent.cap = s->out_cap;
			s->out = fresh;
			account(c);
			return;
		}
	}
	if (!rpc_bytes_add(&c->unsent, s->out + sent, left))
		c->dead = true;
	account(c);
}

/* Sends the replies collected for c. */
static void
conn_flush(struct rpc_conn *c)
{
	struct rpc_streams *s = c->tcp->streams;
	ssize_t n;

	if (s->out_len == 0)
		return;
	n = 0;
	if (c->unsent.buf == NULL && !c->dead) {
		n = rpc_starttls_send(c, NULL, s->out, s->out_len);
		if (n == -1 && errno != EAGAIN && errno != EINTR)
			c->dead = true;
		if (n == -1)
			n = 0;
	}
	if ((size_t)n < s->out_len && !c->dead)
		keep_unsent(c, (size_t)n);
	s->out_len = 0;
}

void
rpc_conn_update(struct rpc_conn *c)
{
	static const struct timeval second = { 1, 0 };
	struct event *tick = c->tcp->streams->tick;
	bool blocked, input, paused;

	if (c == c->tcp->streams->late)
		conn_flush(c);
	if (c->dead || (c->eof && rpc_conn_is_idle(c)) ||
	    (c->tls.stage == RPC_ASKED && !rpc_starttls_step(c)) ||
	    (c->tcp->streams->giving.left > 0 && rpc_give(c))) {
		rpc_conn_close(c);
		return;
	}
	account(c);
	input = c->held.buf != NULL;
	blocked = is_blocked(c);
	paused = !input && !c->eof && is_paused(c);
	if (!set_event(&c->readable,
		!c->eof && !input && !blocked && !paused && !c->skipped &&
		    rpc_starttls_is_open(&c->tls),
		&c->reading) ||
	    !set_event(&c->writable, c->unsent.buf != NULL, &c->writing)) {
		rpc_conn_close(c);
		return;
	}
	if ((input || paused || c->skipped) && !blocked)
		go_on_later(c, c->busy || paused || is_flooded(c));
	if ((c->record_since != 0 || c->unsent_since != 0) &&
	    !event_pending(tick, EV_TIMEOUT, NULL))
		(void)event_add(tick, &second);
}

/* Keeps input that must wait, in the form of the stream. */
static void
hold(struct rpc_conn *c, const uint8_t *msg, size_t msglen, const uint8_t *rest,
    size_t len)
{
	struct rpc_bytes b = { .buf = NULL };
	uint8_t mark[RPC_MARK_SIZE];
	bool ok;

	if (msg == NULL && c->held.buf != NULL) {
		c->held.at = c->held.len - len; /* held contains it */
		return;
	}
	ok = true;
	if (msg != NULL) {
		rpc_mark_put(mark, msglen);
		ok = rpc_bytes_add(&b, mark, sizeof(mark)) &&
		    rpc_bytes_add(&b, msg, msglen);
	}
	if (ok && len > 0)
		ok = rpc_bytes_add(&b, rest, len);
	if (!ok)
		c->dead = true;
	/* rest may point into held: free held only now. */
	bytes_clear(c->tcp->streams, &c->held);
	c->held = b;
}

/* Serves one record. Returns false if it must be offered again. */
static bool
serve_record(struct rpc_conn *c, const uint8_t *msg, size_t len)
{
	struct rpc_streams *s = c->tcp->streams;
	size_t n;

	switch (rpc_serve(c->tcp->server, &c->origin, msg, len,
	    s->out + s->out_len + RPC_MARK_SIZE,
	    s->out_cap - s->out_len - RPC_MARK_SIZE, &n)) {
	case RPC_ANSWERED:
		rpc_mark_put(s->out + s->out_len, n);
		s->out_len += RPC_MARK_SIZE + n;
		break;
	case RPC_DEFERRED:
		c->host->got = s->turn;
		c->deferred++;
		c->awaited += n;
		break;
	case RPC_BUSY:
		c->busy = true;
		return false;
	case RPC_HANGUP:
		c->dead = true;
		break;
	case RPC_STARTTLS:
		if (!rpc_starttls_ask(c, s->out + s->out_len + RPC_MARK_SIZE,
			n))
			c->dead = true;
		break;
	case RPC_DROP:
		break;
	}
	return true;
}

static void
refuse_record(struct rpc_conn *c, enum rpc_record_state why)
{
	c->dead = true;
	if (why == RPC_RECORD_LONG)
		rpc_conn_log_limit(&c->origin.peer, "record too long",
		    "record-max");
	else if (why == RPC_RECORD_FRAGMENTS)
		rpc_conn_log_limit(&c->origin.peer, "too many fragments",
		    "fragments-max");
	else
		log_warnx("tcp: out of memory for a record");
}

/* Has c used its share of this turn, or its host the time until end_ns? */
static bool
is_enough(struct rpc_conn *c, unsigned int records, uint64_t end_ns,
    size_t *bytes)
{
	struct rpc_streams *s = c->tcp->streams;

	if (s->out_len >= RPC_CONN_FLUSH) {
		*bytes += s->out_len;
		conn_flush(c);
		/* Sending is no part of the next call. */
		rpc_server_begin(c->tcp->server, clock_ns());
	}
	/* Serve at least one: a complete record may be waiting. */
	return records >= CONN_RECORDS || *bytes >= CONN_BYTES ||
	    (records > 0 &&
		(is_blocked(c) ||
		    rpc_server_last_ns(c->tcp->server) >= end_ns));
}

void
rpc_conn_send_late(struct rpc_streams *s)
{
	struct rpc_conn *c = s->late;

	if (c == NULL)
		return;
	conn_flush(c);
	s->late = NULL;
	rpc_conn_update(c);
}

/* Serves data until end_ns as far as limits allow, and keeps the rest. */
static void
serve_until(struct rpc_conn *c, const uint8_t *data, size_t len,
    uint64_t end_ns)
{
	const struct rpc_limits *limits = &c->tcp->limits;
	struct rpc_streams *s = c->tcp->streams;
	enum rpc_record_state state;
	const uint8_t *msg;
	size_t msglen, bytes;
	unsigned int records;

	bytes = 0;
	c->busy = false;
	if (s->late != NULL)
		conn_flush(s->late);
	for (records = 0; !c->dead; records++) {
		if (is_enough(c, records, end_ns, &bytes)) {
			hold(c, NULL, 0, data, len);
			break;
		}
		if (len > 0 && !may_begin(c) &&
		    !rpc_record_is_whole(data, len)) {
			hold(c, NULL, 0, data, len);
			rpc_record_clear(&c->record); /* frees its buffer */
			c->busy = true;
			break;
		}
		state = rpc_record_next(&c->record, limits->record_max,
		    limits->fragments_max, &data, &len, &msg, &msglen);
		if (state == RPC_RECORD_MORE) {
			bytes_clear(s, &c->held);
			break;
		}
		if (state != RPC_RECORD_DONE) {
			refuse_record(c, state);
			break;
		}
		if (c->record.done) /* it was collected, which takes memory */
			account(c);
		if (!serve_record(c, msg, msglen)) {
			hold(c, msg, msglen, data, len);
			rpc_record_clear(&c->record);
			break;
		}
		if (c->tls.stage == RPC_ASKED) {
			/* A client must wait for the answer (RFC 9289). */
			c->dead = c->dead || len > 0;
			bytes_clear(c->tcp->streams, &c->held);
			break;
		}
	}
	conn_flush(c);
}

/* Serves data in what the host has left of its time. */
static void
serve(struct rpc_conn *c, const uint8_t *data, size_t len)
{
	struct rpc_server *server = c->tcp->server;
	uint64_t since = clock_ns();

	rpc_server_begin(server, since);
	serve_until(c, data, len, since + rpc_host_time(c->host));
	rpc_host_spend(c->host, rpc_server_end(server) - since);
}

/*
 * Closes c, the first of a list, if a limit is reached and c has made no
 * progress. Returns true if c was closed.
 */
static bool
relieve(struct rpc_conn *c, uint64_t since, size_t have, size_t max,
    const char *why, const char *option)
{
	uint64_t patience;

	patience = have / 2 > max ? CONN_HASTE : CONN_PATIENCE;
	if (have < max || clock_coarse_ms() - since < patience)
		return false;
	rpc_conn_log_limit(&c->origin.peer, why, option);
	rpc_conn_close(c);
	return true;
}

void
rpc_conn_relieve(struct rpc_streams *s)
{
	struct rpc_conn *c;

	while ((c = TAILQ_FIRST(&s->stalled)) != NULL &&
	    relieve(c, c->unsent_since, s->owed, c->tcp->limits.unsent_max,
		"too many unread replies", "unsent-max"))
		;
	while ((c = TAILQ_FIRST(&s->incomplete)) != NULL &&
	    relieve(c, c->record_since, s->partial, c->tcp->limits.partial_max,
		"too many incomplete records", "partial-max"))
		;
}

/*
 * Other processes may hold copies of this descriptor, and have made it one that
 * waits: that which makes TLS, and the one that had the connection before. So each
 * call says that it must not wait.
 */
static ssize_t
read_some(struct rpc_conn *c, struct iovec *iov, int count)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)count };
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT);

	if (n > 0 && c->tls.stage == RPC_SECURE)
		c->tcp->streams->tls_bytes.in += (size_t)n;
	return n;
}

/* Reads what has arrived, and serves it. */
static void
read_and_serve(struct rpc_conn *c)
{
	struct rpc_streams *s = c->tcp->streams;
	struct iovec iov[2];
	size_t room;
	uint8_t *at;
	ssize_t n;
	int count;

	count = 0;
	room = rpc_record_room(&c->record, &at);
	if (room > 0)
		iov[count++] = (struct iovec){ at, room };
	/* Input that must wait must not use much memory. */
	iov[count++] =
	    (struct iovec){ s->in, may_begin(c) ? RPC_CONN_READ : CONN_SHORT };
	n = read_some(c, iov, count);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1)
		c->dead = true;
	else if (n == 0)
		c->eof = true;
	else {
		rpc_host_touch(c);
		if (room > (size_t)n)
			room = (size_t)n;
		if (room > 0)
			rpc_record_filled(&c->record, room);
		serve(c, s->in, (size_t)n - room);
	}
	/* The incomplete record can no longer be completed. */
	if (c->eof)
		rpc_record_clear(&c->record);
}

static void
conn_on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_conn *c = arg;
	struct rpc_streams *s = c->tcp->streams;

	c->skipped = rpc_host_time(c->host) == 0;
	if (!c->skipped && !is_paused(c))
		read_and_serve(c);
	rpc_conn_update(c);
	rpc_conn_relieve(s);
}

/*
 * Serves a connection that has waited for its turn. Above the limit of memory
 * one at a time, so that memory is freed.
 */
static bool
take_turn(struct rpc_conn *c, bool served)
{
	bool waits = c->skipped;

	c->skipped = false;
	if (c->held.buf != NULL && (!served || !is_flooded(c))) {
		serve(c, c->held.buf + c->held.at, c->held.len - c->held.at);
		return true;
	}
	if (waits && c->held.buf == NULL && !is_blocked(c) && !is_paused(c))
		read_and_serve(c);
	return served;
}

/* Serves the connections of a list whose hosts have time left. */
static bool
take_turns(struct rpc_streams *s, struct rpc_turns *list, bool served)
{
	struct rpc_conn *c;
	unsigned int n;

	for (n = list->n; n > 0 && list->n > 0; n--) {
		c = TAILQ_FIRST(&list->conns);
		if (rpc_host_time(c->host) == 0) {
			rpc_host_queue(c, &s->first);
			call_turn(s);
			continue;
		}
		rpc_host_queue(c, NULL);
		served = take_turn(c, served);
		rpc_conn_update(c);
	}
	return served;
}

void
rpc_conn_turn(struct rpc_streams *s)
{
	s->turn++;
	(void)take_turns(s, &s->again, take_turns(s, &s->first, false));
}

static void
conn_on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct rpc_conn *c = arg;
	struct rpc_streams *s = c->tcp->streams;
	struct rpc_bytes *b = &c->unsent;
	ssize_t n;

	n = rpc_starttls_send(c, NULL, b->buf + b->at, b->len - b->at);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1)
		c->dead = true;
	else {
		b->at += (size_t)n;
		set_stalled(c, b->at < b->len);
		if (b->at == b->len)
			bytes_clear(s, b);
		else if (b->cap == s->out_cap && b->len - b->at <= CONN_SWAP)
			bytes_shrink(s, b);
	}
	rpc_conn_update(c);
}

struct rpc_conn *
rpc_conn_find(struct rpc_streams *s, uint64_t id)
{
	struct rpc_conn *c;

	LIST_FOREACH (c, &s->ids[id % RPC_CONN_IDS], by_id)
		if (c->origin.ticket == id)
			break;
	return c;
}

/* Sends one reply without a copy; copies only the unsent part. */
static void
send_reply(struct rpc_conn *c, const uint8_t *reply, size_t len)
{
	struct rpc_streams *s = c->tcp->streams;
	uint8_t mark[RPC_MARK_SIZE];
	ssize_t n = -1;

	rpc_mark_put(mark, len);
	if (c->unsent.buf == NULL)
		n = rpc_starttls_send(c, mark, reply, len);
	if (n == (ssize_t)(sizeof(mark) + len))
		return;
	memcpy(s->out, mark, sizeof(mark));
	memcpy(s->out + sizeof(mark), reply, len);
	s->out_len = sizeof(mark) + len;
	if (n > 0)
		keep_unsent(c, (size_t)n);
	else
		conn_flush(c);
	s->out_len = 0;
}

/*
 * Collects a short reply of a file thread. Those of one connection that are
 * ready together are sent together.
 */
static void
collect_late(struct rpc_conn *c, const uint8_t *reply, size_t len)
{
	struct rpc_streams *s = c->tcp->streams;

	if (s->late == NULL) {
		s->late = c;
		event_active(s->late_event, EV_TIMEOUT, 0);
	}
	if (s->out_len >= CONN_LATE)
		conn_flush(c);
	rpc_mark_put(s->out + s->out_len, len);
	memcpy(s->out + s->out_len + RPC_MARK_SIZE, reply, len);
	s->out_len += RPC_MARK_SIZE + len;
}

/* Sends the reply of a file thread. Its connection may be closed by now. */
static void
deferred_reply(const struct rpc_origin *origin, const uint8_t *reply,
    size_t len)
{
	struct rpc_streams *s = origin->transport;
	struct rpc_conn *c;

	c = rpc_conn_find(s, origin->ticket);
	if (c == NULL)
		return;
	c->deferred--;
	c->awaited -= origin->awaited;
	if (s->late != c)
		rpc_conn_send_late(s);
	if (len > 0 && len <= CONN_LATE) {
		collect_late(c, reply, len);
		return;
	}
	conn_flush(c); /* the replies before it */
	/*
	 * No memory for a reply: the client sees a closed connection and
	 * repeats.
	 */
	if (len > 0)
		send_reply(c, reply, len);
	else
		c->dead = true;
	rpc_conn_update(c);
	rpc_conn_relieve(s);
}

static void
assign_events(struct rpc_conn *c)
{
	struct event_base *base = c->tcp->streams->base;

	(void)event_assign(&c->readable, base, c->fd, EV_READ | EV_PERSIST,
	    conn_on_readable, c);
	(void)event_assign(&c->writable, base, c->fd, EV_WRITE | EV_PERSIST,
	    conn_on_writable, c);
}

/* Nothing is read or written at this stage, so no event is set. */
void
rpc_conn_secure(struct rpc_conn *c, int fd, struct peer_identity *id)
{
	c->tls.stage = RPC_SECURE;
	c->origin.peer.identity = id;
	c->tls.kernel = fd == -1;
	if (fd != -1) {
		close(c->fd);
		c->fd = fd;
		assign_events(c);
	}
	rpc_conn_update(c);
}

struct rpc_conn *
rpc_conn_new(struct rpc_tcp *tcp, int fd, const struct rpc_peer *peer)
{
	struct rpc_streams *s = tcp->streams;
	struct rpc_conn *c;

	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->tcp = tcp;
	c->fd = fd;
	c->origin.peer = *peer;
	c->origin.peer.id = ++s->last_id;
	c->origin.ticket = s->last_id;
	c->origin.transport = s;
	c->origin.reply = deferred_reply;
	c->active = (uint32_t)(clock_coarse_ms() / 1000);
	assign_events(c);
	if (!set_event(&c->readable, true, &c->reading)) {
		free(c);
		return NULL;
	}
	if (!rpc_host_add(c)) {
		(void)set_event(&c->readable, false, &c->reading);
		free(c);
		return NULL;
	}
	LIST_INSERT_HEAD(&s->ids[c->origin.ticket % RPC_CONN_IDS], c, by_id);
	return c;
}

void
rpc_conn_close(struct rpc_conn *c)
{
	struct rpc_streams *s = c->tcp->streams;

	rpc_host_remove(c);
	(void)set_event(&c->readable, false, &c->reading);
	(void)set_event(&c->writable, false, &c->writing);
	rpc_starttls_end(c);
	close(c->fd);
	if (s->late == c) {
		s->late = NULL;
		s->out_len = 0;
	}
	s->owed -= c->owed;
	s->partial -= c->partial;
	if (c->record_since != 0)
		TAILQ_REMOVE(&s->incomplete, c, incomplete);
	set_stalled(c, false);
	rpc_host_queue(c, NULL);
	LIST_REMOVE(c, by_id);
	peer_release(c->origin.peer.identity);
	rpc_record_clear(&c->record);
	bytes_clear(s, &c->held);
	bytes_clear(s, &c->unsent);
	free(c);
}
