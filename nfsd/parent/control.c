/* SPDX-License-Identifier: ISC */
/*
 * The control socket: see control.h.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/log.h"
#include "base/number.h"
#include "base/util.h"
#include "nfsd/control.h"
#include "nfsd/nfsd.h"
#include "nfsd/parent/control.h"
#include "process/listen.h"

#define TABLES_MAX   16
#define REQUESTS_MAX 16 /* at once */
#define GROUPS_MAX   1024 /* of a peer that are looked at */

struct control_table {
	const struct control_row *rows;
	size_t n;
	void *arg;
};

/* A connection, from accept(2) to the last byte. */
struct control_request {
	uint64_t number; /* 0: this place is free */
	struct control *control;
	uid_t uid; /* of the client */
	struct bufferevent *stream;
	struct evbuffer *answer;
	struct event *on_deadline;
	bool too_long;
	bool running; /* a handler has it */
	bool ended; /* the answer is complete */
};

struct control {
	struct event_base *base;
	const char *path; /* NULL: no socket */
	int socket;
	struct event *on_connect;
	gid_t group; /* of administrators; 0: root only */
	struct control_table tables[TABLES_MAX];
	size_t n;
	uint64_t last; /* number of a request */
	struct control_request requests[REQUESTS_MAX];
};

static void
drop(struct control_request *r)
{
	r->number = 0;
	bufferevent_free(r->stream);
	evbuffer_free(r->answer);
	event_free(r->on_deadline);
}

/* Sends the answer. on_written() drops the connection afterwards. */
static void
finish(struct control_request *r, bool good)
{
	struct evbuffer *out = bufferevent_get_output(r->stream);

	r->ended = true;
	if (evbuffer_add_printf(out, "%s %zu\n", good ? "ok" : "error",
		evbuffer_get_length(r->answer)) == -1 ||
	    evbuffer_add_buffer(out, r->answer) == -1)
		drop(r);
}

static void vfail(struct control_request *, const char *fmt, va_list)
    PRINTF_LIKE(2, 0);

static void
vfail(struct control_request *r, const char *fmt, va_list ap)
{
	(void)evbuffer_drain(r->answer, evbuffer_get_length(r->answer));
	(void)evbuffer_add_vprintf(r->answer, fmt, ap);
	(void)evbuffer_add(r->answer, "\n", 1);
	finish(r, false);
}

void
control_fail(struct control_request *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfail(r, fmt, ap);
	va_end(ap);
}

void
control_end(struct control_request *r)
{
	if (r->too_long)
		control_fail(r, "the answer is longer than %d bytes",
		    CONTROL_ANSWER_MAX);
	else
		finish(r, true);
}

/* Did the last addition succeed, and is there room for more? */
static void
check_length(struct control_request *r, bool added)
{
	r->too_long = r->too_long || !added ||
	    evbuffer_get_length(r->answer) > CONTROL_ANSWER_MAX;
}

void
control_write(struct control_request *r, const void *bytes, size_t len)
{
	if (!r->too_long)
		check_length(r, evbuffer_add(r->answer, bytes, len) == 0);
}

void
control_print(struct control_request *r, const char *fmt, ...)
{
	va_list ap;

	if (r->too_long)
		return;
	va_start(ap, fmt);
	check_length(r, evbuffer_add_vprintf(r->answer, fmt, ap) != -1);
	va_end(ap);
}

void
control_wait(struct control_request *r, unsigned int seconds)
{
	const struct timeval patience = { .tv_sec = (time_t)seconds +
		    CONTROL_SECONDS };

	if (event_add(r->on_deadline, &patience) == -1)
		fatalx("event: out of memory");
}

uint64_t
control_number(const struct control_request *r)
{
	return r->number;
}

struct control_request *
control_find(struct control *c, uint64_t number)
{
	size_t i;

	for (i = 0; i < REQUESTS_MAX; i++)
		if (number != 0 && c->requests[i].number == number &&
		    !c->requests[i].ended)
			return &c->requests[i];
	return NULL;
}

/* The request "help": the rows of all tables. */
static void
help(void *arg, struct control_request *r, const char *operand UNUSED)
{
	const struct control *c = arg;
	const struct control_row *row;
	size_t i, k;

	for (i = 0; i < c->n; i++)
		for (k = 0; k < c->tables[i].n; k++) {
			row = &c->tables[i].rows[k];
			control_print(r, "%s%s%s: %s\n", row->word,
			    row->operand != NULL ? " " : "",
			    row->operand != NULL ? row->operand : "",
			    row->help);
		}
	control_end(r);
}

static const struct control_row own_rows[] = {
	{ "help", NULL, false, "these requests", help },
};

static const struct control_row *
find_row(const struct control *c, const char *word, void **arg)
{
	size_t i, k;

	for (i = 0; i < c->n; i++)
		for (k = 0; k < c->tables[i].n; k++)
			if (strcmp(c->tables[i].rows[k].word, word) == 0) {
				*arg = c->tables[i].arg;
				return &c->tables[i].rows[k];
			}
	return NULL;
}

/* Runs the row of a line. The line is text of an administrator. */
static void
run(struct control_request *r, char *line)
{
	char *operand = line, *word = strsep(&operand, " ");
	char shown[CONTROL_REQUEST_MAX];
	const struct control_row *row;
	void *arg;

	row = find_row(r->control, word, &arg);
	(void)log_text(shown, sizeof(shown), word, strlen(word));
	if (row == NULL) {
		control_fail(r, "%s: no such request; \"help\" lists them",
		    shown);
		return;
	}
	if (operand == NULL)
		operand = line + strlen(line);
	if ((row->operand == NULL) != (*operand == '\0')) {
		control_fail(r, "%s: %s", shown,
		    row->operand == NULL ? "takes no operand" :
					   "needs an operand");
		return;
	}
	if (row->changes)
		log_info("control: user %u: %s %s", (unsigned int)r->uid,
		    row->word,
		    log_text(shown, sizeof(shown), operand, strlen(operand)));
	row->run(arg, r, operand);
}

static void
on_read(struct bufferevent *stream, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(stream);
	struct control_request *r = arg;
	size_t len = 0;
	char *line;

	if (r->running)
		return;
	line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF);
	if (line == NULL && evbuffer_get_length(in) < CONTROL_REQUEST_MAX)
		return;
	r->running = true;
	(void)bufferevent_disable(stream, EV_READ);
	if (line == NULL || len >= CONTROL_REQUEST_MAX)
		control_fail(r, "the request is longer than %d bytes",
		    CONTROL_REQUEST_MAX);
	else if (strlen(line) != len)
		control_fail(r, "the request has a byte 0");
	else
		run(r, line);
	free(line);
}

static void
on_written(struct bufferevent *stream UNUSED, void *arg)
{
	struct control_request *r = arg;

	if (r->ended)
		drop(r);
}

/* The client has closed, or the socket failed. */
static void
on_trouble(struct bufferevent *stream UNUSED, short what, void *arg)
{
	struct control_request *r = arg;

	if ((what & BEV_EVENT_ERROR) != 0 || !r->running)
		drop(r);
}

/* Handlers that wait find the request gone: control_find(). */
static void
on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct control_request *r = arg;

	log_debug("control: user %u: not done in time", (unsigned int)r->uid);
	drop(r);
}

static bool
in_group(int peer, const struct ucred *who, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);
	size_t i;

	if (who->gid == group)
		return true;
	if (getsockopt(peer, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == -1)
		return false;
	for (i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* May this peer ask? Root, the user of this process, and administrators. */
static bool
permit(const struct control *c, int peer, struct ucred *who)
{
	socklen_t len = sizeof(*who);

	if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, who, &len) == -1)
		return false;
	return who->uid == 0 || who->uid == geteuid() ||
	    (c->group != 0 && in_group(peer, who, c->group));
}

static struct control_request *
free_place(struct control *c)
{
	size_t i;

	for (i = 0; i < REQUESTS_MAX; i++)
		if (c->requests[i].number == 0)
			return &c->requests[i];
	return NULL;
}

/* Takes over the connection. */
static bool
begin(struct control *c, struct control_request *r, int peer, uid_t uid)
{
	const struct timeval patience = { .tv_sec = CONTROL_SECONDS };

	*r = (struct control_request){ .control = c, .uid = uid };
	r->stream =
	    bufferevent_socket_new(c->base, peer, BEV_OPT_CLOSE_ON_FREE);
	if (r->stream == NULL)
		return false;
	r->answer = evbuffer_new();
	r->on_deadline = evtimer_new(c->base, on_deadline, r);
	if (r->answer == NULL || r->on_deadline == NULL ||
	    event_add(r->on_deadline, &patience) == -1)
		fatalx("event: out of memory");
	r->number = ++c->last;
	bufferevent_setcb(r->stream, on_read, on_written, on_trouble, r);
	bufferevent_setwatermark(r->stream, EV_READ, 0, CONTROL_REQUEST_MAX);
	(void)bufferevent_enable(r->stream, EV_READ | EV_WRITE);
	return true;
}

static void
refuse(int peer, const char *answer)
{
	(void)send(peer, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(peer);
}

static void
on_connect(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct control *c = arg;
	struct control_request *r;
	struct ucred who;
	int peer = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer == -1)
		return;
	if (!permit(c, peer, &who))
		refuse(peer, "error 14\nnot permitted\n");
	else if ((r = free_place(c)) == NULL)
		refuse(peer, "error 32\ntoo many administrators at once\n");
	else if (!begin(c, r, peer, who.uid))
		close(peer);
}

/*
 * Can the socket be made? A rootless nfsd may lack the directory; it then
 * serves without the socket.
 */
static bool
has_place(const char *path)
{
	char dir[256];
	char *slash;

	if (strlcpy(dir, path, sizeof(dir)) >= sizeof(dir))
		return false;
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return true;
	*slash = '\0';
	return access(*dir == '\0' ? "/" : dir, W_OK) == 0;
}

/* The group of -o admin-group, by name or number. */
static gid_t
group_of(const char *text)
{
	const struct group *g;
	long long number;

	if (text == NULL)
		return 0;
	if (number_read(text, 1, UINT32_MAX - 1, &number) == NULL)
		return (gid_t)number;
	g = getgrnam(text);
	if (g == NULL)
		fatal_config("-o admin-group=%s: no such group (groupadd "
			     "--system %s)",
		    text, text);
	return g->gr_gid;
}

static void
open_socket(struct control *c, const struct nfsd *n)
{
	c->group = group_of(n->admin_group);
	if (n->d.rootless && !has_place(n->control_socket)) {
		log_info("control: no socket: %s cannot be made; "
			 "-o control=path names another",
		    n->control_socket);
		return;
	}
	c->path = n->control_socket;
	c->socket = listen_unix(c->path, 0600);
	if (c->group != 0 &&
	    (chown(c->path, (uid_t)-1, c->group) == -1 ||
		chmod(c->path, 0660) == -1))
		log_warn("%s: only root may use it: cannot give it to group %u",
		    c->path, (unsigned int)c->group);
	c->on_connect =
	    event_new(c->base, c->socket, EV_READ | EV_PERSIST, on_connect, c);
	if (c->on_connect == NULL || event_add(c->on_connect, NULL) == -1)
		fatalx("event: out of memory");
}

struct control *
control_new(struct event_base *base, const struct nfsd *n)
{
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL)
		fatal("control");
	c->base = base;
	c->socket = -1;
	control_add(c, own_rows, nitems(own_rows), c);
	open_socket(c, n);
	return c;
}

void
control_add(struct control *c, const struct control_row *rows, size_t n,
    void *arg)
{
	if (c->n == TABLES_MAX)
		fatalx("control: more than TABLES_MAX tables");
	c->tables[c->n++] = (struct control_table){ rows, n, arg };
}

void
control_free(struct control *c)
{
	size_t i;

	for (i = 0; i < REQUESTS_MAX; i++)
		if (c->requests[i].number != 0)
			drop(&c->requests[i]);
	if (c->on_connect != NULL)
		event_free(c->on_connect);
	if (c->socket != -1) {
		close(c->socket);
		(void)unlink(c->path);
	}
	free(c);
}
