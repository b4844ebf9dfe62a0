/* SPDX-License-Identifier: ISC */
/*
 * Scrapers: see server.h.
 * Runs in: nfsd metrics.
 */
#include <sys/queue.h>
#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/metrics/http.h"
#include "nfsd/metrics/server.h"

#define SOCKETS_MAX    16
#define ACCEPT_AT_ONCE 16
#define LINGER_MAX     (64 * 1024) /* bytes that are read and not looked at */

/* A text and how many connections send it. */
struct answer {
	unsigned int users;
	size_t len;
	char text[];
};

enum state {
	STATE_REQUEST, /* the head of the request arrives */
	STATE_TEXT, /* waits for the text */
	STATE_ANSWER, /* the answer is sent */
	STATE_LINGER /* the client shall close: a close here could lose it */
};

struct connection {
	TAILQ_ENTRY(connection) next;
	struct metrics_server *server;
	struct addr from;
	struct addr client; /* what it is counted by */
	int fd;
	enum state state;
	struct event *on_io, *on_deadline;
	char head[HTTP_HEAD_MAX]; /* of the request, then of the answer */
	size_t len; /* of the head */
	size_t sent; /* of head and body; of LINGER_MAX while it lingers */
	struct answer *body;
};

TAILQ_HEAD(connections, connection);

struct metrics_server {
	struct event_base *base;
	void (*ask)(void *arg);
	void *arg;
	struct event *listens[SOCKETS_MAX];
	size_t nlistens;
	struct connections list; /* the oldest first */
	size_t n;
	struct answer *last; /* NULL: none yet */
	uint64_t last_ms;
	bool asked;
};

static void on_io(evutil_socket_t, short, void *);

static struct answer *
answer_new(const char *text, size_t len)
{
	struct answer *a = malloc(sizeof(*a) + len);

	if (a == NULL)
		fatal("answer");
	a->users = 1;
	a->len = len;
	memcpy(a->text, text, len);
	return a;
}

static void
answer_drop(struct answer *a)
{
	if (a != NULL && --a->users == 0)
		free(a);
}

/* why: for the log; NULL: the client did nothing wrong. */
static void
end(struct connection *c, const char *why)
{
	char from[ADDR_STRLEN];

	if (why != NULL && log_permit("metrics", addr_hash(&c->from)))
		log_info("client %s: dropped: %s", addr_print(&c->from, from),
		    why);
	TAILQ_REMOVE(&c->server->list, c, next);
	c->server->n--;
	event_free(c->on_io);
	event_free(c->on_deadline);
	close(c->fd);
	answer_drop(c->body);
	free(c);
}

static void
on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	static const char *const why[] = {
		[STATE_REQUEST] = "it has not sent a request in time",
		[STATE_TEXT] = "the parent gave no counters in time",
		[STATE_ANSWER] = "it has not read the answer in time",
		[STATE_LINGER] = NULL,
	};
	struct connection *c = arg;

	end(c, why[c->state]);
}

static void
wait_for(struct connection *c, short what)
{
	(void)event_del(c->on_io);
	if (event_assign(c->on_io, c->server->base, c->fd, what | EV_PERSIST,
		on_io, c) == -1 ||
	    event_add(c->on_io, NULL) == -1)
		fatalx("event: out of memory");
}

/* Returns the bytes that are sent next; 0: all are sent. */
static size_t
unsent(const struct connection *c, const char **at)
{
	size_t body;

	if (c->sent < c->len) {
		*at = c->head + c->sent;
		return c->len - c->sent;
	}
	body = c->sent - c->len;
	*at = c->body->text + body;
	return c->body->len - body;
}

/* Sends what the socket takes. Returns false if the connection has ended. */
static bool
send_more(struct connection *c)
{
	const char *at;
	size_t left;
	ssize_t n;

	while ((left = unsent(c, &at)) > 0) {
		n = sendto(c->fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT, NULL,
		    0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return true;
		if (n == -1) {
			end(c, NULL);
			return false;
		}
		c->sent += (size_t)n;
	}
	(void)shutdown(c->fd, SHUT_WR);
	c->state = STATE_LINGER;
	c->sent = 0;
	wait_for(c, EV_READ);
	return true;
}

/* Begins the answer. The connection takes over the body. */
static void
reply(struct connection *c, enum http_status status, struct answer *body)
{
	c->body = body;
	c->len = http_answer(c->head, status, body->len);
	c->sent = 0;
	c->state = STATE_ANSWER;
	wait_for(c, EV_WRITE);
	(void)send_more(c);
}

static void
refuse(struct connection *c, enum http_status status)
{
	char from[ADDR_STRLEN], text[64];

	if (log_permit("metrics refused", addr_hash(&c->from)))
		log_info("client %s: refused: %s: only GET /metrics is served",
		    addr_print(&c->from, from), http_name(status));
	(void)snprintf(text, sizeof(text), "%s\n", http_name(status));
	reply(c, status, answer_new(text, strlen(text)));
}

static void
serve(struct connection *c)
{
	struct metrics_server *s = c->server;

	if (s->last != NULL && clock_ms() - s->last_ms < METRICS_FRESH_MS) {
		s->last->users++;
		reply(c, HTTP_OK, s->last);
		return;
	}
	c->state = STATE_TEXT;
	(void)event_del(c->on_io);
	if (!s->asked) {
		s->asked = true;
		s->ask(s->arg);
	}
}

static void
read_request(struct connection *c)
{
	enum http_status status;
	ssize_t n = recvfrom(c->fd, c->head + c->len, sizeof(c->head) - c->len,
	    MSG_DONTWAIT, NULL, NULL);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(c, NULL);
		return;
	}
	c->len += (size_t)n;
	status = http_read(c->head, c->len);
	if (status == HTTP_OK)
		serve(c);
	else if (status != HTTP_MORE)
		refuse(c, status);
}

static void
linger(struct connection *c)
{
	char waste[4096];
	ssize_t n =
	    recvfrom(c->fd, waste, sizeof(waste), MSG_DONTWAIT, NULL, NULL);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->sent += (size_t)n;
	if (n <= 0 || c->sent > LINGER_MAX)
		end(c, NULL);
}

static void
on_io(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct connection *c = arg;

	if (c->state == STATE_REQUEST)
		read_request(c);
	else if (c->state == STATE_ANSWER)
		(void)send_more(c);
	else
		linger(c);
}

/* Ends the oldest connection of the address that has most of them. */
static void
make_room(struct metrics_server *s)
{
	struct connection *c, *other, *victim = NULL;
	size_t most = 0, n;

	TAILQ_FOREACH (c, &s->list, next) {
		n = 0;
		TAILQ_FOREACH (other, &s->list, next)
			n += addr_same_host(&c->client, &other->client);
		if (n > most) {
			most = n;
			victim = c;
		}
	}
	if (victim != NULL)
		end(victim, "too many connections, and it has most of them");
}

void
metrics_server_add(struct metrics_server *s, int fd, const struct addr *from)
{
	const struct timeval limit = { .tv_sec = METRICS_SECONDS };
	struct connection *c;

	if (s->n >= METRICS_CONNECTIONS)
		make_room(s);
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		fatal("connection");
	c->server = s;
	c->fd = fd;
	c->from = *from;
	c->from.port = 0; /* one line in the log for all of them */
	c->client = addr_client(from);
	c->on_io = event_new(s->base, fd, EV_READ | EV_PERSIST, on_io, c);
	c->on_deadline = evtimer_new(s->base, on_deadline, c);
	if (c->on_io == NULL || c->on_deadline == NULL ||
	    event_add(c->on_io, NULL) == -1 ||
	    event_add(c->on_deadline, &limit) == -1)
		fatalx("event: out of memory");
	TAILQ_INSERT_TAIL(&s->list, c, next);
	s->n++;
}

static void
on_connection(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct sockaddr_storage ss;
	struct addr from;
	socklen_t len;
	int i, new;

	for (i = 0; i < ACCEPT_AT_ONCE; i++) {
		len = sizeof(ss);
		new = accept4(fd, (struct sockaddr *)&ss, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (new == -1)
			return;
		if (addr_from_sockaddr(&from, (struct sockaddr *)&ss, len))
			metrics_server_add(arg, new, &from);
		else
			close(new);
	}
}

struct metrics_server *
metrics_server_new(struct event_base *base, void (*ask)(void *arg), void *arg)
{
	struct metrics_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		fatal("metrics");
	s->base = base;
	s->ask = ask;
	s->arg = arg;
	TAILQ_INIT(&s->list);
	return s;
}

void
metrics_server_free(struct metrics_server *s)
{
	struct connection *c;

	while ((c = TAILQ_FIRST(&s->list)) != NULL)
		end(c, NULL);
	while (s->nlistens > 0)
		event_free(s->listens[--s->nlistens]);
	answer_drop(s->last);
	free(s);
}

void
metrics_server_listen(struct metrics_server *s, int fd)
{
	struct event *ev =
	    event_new(s->base, fd, EV_READ | EV_PERSIST, on_connection, s);

	if (ev == NULL || event_add(ev, NULL) == -1 ||
	    s->nlistens == SOCKETS_MAX)
		fatalx("event: out of memory");
	s->listens[s->nlistens++] = ev;
}

void
metrics_server_text(struct metrics_server *s, const char *text, size_t len)
{
	struct connection *c, *after;

	answer_drop(s->last);
	s->last = answer_new(text, len);
	s->last_ms = clock_ms();
	s->asked = false;
	for (c = TAILQ_FIRST(&s->list); c != NULL; c = after) {
		after = TAILQ_NEXT(c, next);
		if (c->state != STATE_TEXT)
			continue;
		s->last->users++;
		reply(c, HTTP_OK, s->last);
	}
}

size_t
metrics_server_count(const struct metrics_server *s)
{
	return s->n;
}
