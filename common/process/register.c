/* SPDX-License-Identifier: ISC */
/*
 * The client side of registration, a state machine:
 *
 *	waiting   no connection; a timer tries again
 *	calling   one SET or UNSET is pending
 *	resting   connected and idle; readable means that the portmapper has
 *		  closed it (a timer repeats refused SETs)
 *	leaving   as calling, with UNSETs; then done
 *
 * If SET is refused on the first connection of this process, it is repeated
 * once after an UNSET: rpcbind keeps the entries of a killed predecessor. Later
 * connections do not do that, so two servers never fight over an entry. rpcbind
 * may close an idle connection. SET of an existing entry then succeeds, and
 * nothing is logged.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/listen.h"
#include "process/register.h"
#include "process/uaddr.h"
#include "rpc/msg.h"
#include "rpc/record.h"

#define RPCB_PROG  100000
#define RPCB_VERS  4
#define RPCB_SET   1
#define RPCB_UNSET 2
#define STABLE_MS  1000 /* a connection of this age resets the delay */

enum state { REG_WAITING, REG_CALLING, REG_RESTING, REG_LEAVING };

struct service {
	uint32_t prog, vers;
	enum netid netid;
	struct uaddr at;
	bool set; /* registered on this connection */
};

struct registration {
	struct event_base *base;
	const char *path;
	struct service *services;
	size_t n;
	enum state state;
	int fd;
	struct event *io;
	struct event *timer;
	size_t at; /* index of the current service */
	uint32_t proc; /* the pending call */
	bool again; /* its SET follows an UNSET */
	bool first; /* this is the first connection */
	bool said_waiting;
	bool said_refused;
	bool said_done;
	unsigned int retry_ms;
	uint64_t since_ms; /* when the connection became idle; 0: not yet */
	uint32_t xid;
	uint8_t in[RPC_MARK_SIZE + REGISTER_REPLY_MAX];
	size_t inlen;
	void (*done)(void *);
	void *arg;
};

static void next_call(struct registration *);
static void try_connect(struct registration *);

static void
set_timer(struct registration *r, unsigned int ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	if (event_add(r->timer, &tv) == -1)
		fatalx("registration: timer: out of memory");
}

/* Closes the connection and marks its services as not registered. */
static void
disconnect(struct registration *r)
{
	size_t i;

	if (r->io != NULL)
		event_free(r->io);
	if (r->fd != -1)
		close(r->fd);
	r->io = NULL;
	r->fd = -1;
	for (i = 0; i < r->n; i++)
		r->services[i].set = false;
}

/* Ends. The timer calls done, so register_stop() never does. */
static void
leave(struct registration *r)
{
	disconnect(r);
	set_timer(r, 0);
}

/*
 * Closes the connection and connects again after a delay. The delay doubles as
 * long as the portmapper closes connections early.
 */
static void
retry(struct registration *r)
{
	if (r->state == REG_LEAVING) {
		leave(r);
		return;
	}
	if (r->since_ms != 0 && clock_ms() - r->since_ms >= STABLE_MS)
		r->retry_ms = REGISTER_RETRY_MIN_MS;
	r->since_ms = 0;
	disconnect(r);
	r->state = REG_WAITING;
	set_timer(r, r->retry_ms);
	r->retry_ms *= 2;
	if (r->retry_ms > REGISTER_RETRY_MAX_MS)
		r->retry_ms = REGISTER_RETRY_MAX_MS;
}

static void
wait_for_portmapper(struct registration *r, const char *reason)
{
	if (!r->said_waiting && r->state != REG_LEAVING)
		log_info(
		    "waiting for the portmapper at %s: %s (start portmapd, or use -s or -R)",
		    r->path, reason);
	r->said_waiting = true;
	r->said_done = false;
	retry(r);
}

/* Sends one call in one record. A short write counts as a broken connection. */
static void
send_call(struct registration *r, uint32_t proc)
{
	const struct service *s = &r->services[r->at];
	struct rpc_head head = { .prog = RPCB_PROG, .vers = RPCB_VERS };
	char text[UADDR_STRLEN], owner[16];
	uint8_t buf[512];
	struct xdr_out x;

	head.xid = ++r->xid;
	head.proc = r->proc = proc;
	(void)snprintf(owner, sizeof(owner), "%u", (unsigned int)geteuid());
	xdr_out_init(&x, buf, sizeof(buf));
	xdr_put_u32(&x, 0); /* the mark */
	rpc_put_call(&x, &head, NULL);
	xdr_put_u32(&x, s->prog);
	xdr_put_u32(&x, s->vers);
	xdr_put_string(&x, netid_rows[s->netid].name);
	xdr_put_string(&x, uaddr_print(&s->at, text));
	xdr_put_string(&x, owner);
	if (x.failed)
		fatalx("registration: call too long");
	rpc_mark_put(buf, x.len - RPC_MARK_SIZE);
	r->inlen = 0;
	if (send(r->fd, buf, x.len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)x.len)
		retry(r);
	else if (r->state != REG_LEAVING)
		set_timer(r, REGISTER_CALL_MS);
}

static void
say_refused(struct registration *r)
{
	const struct service *s = &r->services[r->at];

	if (!r->said_refused)
		log_warnx(
		    "portmapper at %s refuses program %u version %u on %s: another server holds it, or this user may not (portmapd: -o register=user:program)",
		    r->path, s->prog, s->vers, netid_rows[s->netid].name);
	r->said_refused = true;
}

bool
register_is_done(const struct registration *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (!r->services[i].set)
			return false;
	return true;
}

/* Every service was tried: goes to resting. */
static void
rest(struct registration *r)
{
	r->state = REG_RESTING;
	(void)event_del(r->timer);
	if (r->since_ms == 0)
		r->since_ms = clock_ms();
	r->first = false;
	if (!register_is_done(r)) {
		set_timer(r, REGISTER_REFUSED_MS);
		return;
	}
	if (!r->said_done)
		log_info("registered with the portmapper at %s", r->path);
	r->said_done = true;
	r->said_waiting = r->said_refused = false;
}

/* Handles the answer to the pending call and sends the next one. */
static void
take_answer(struct registration *r, bool yes)
{
	struct service *s = &r->services[r->at];

	if (r->state == REG_LEAVING) {
		/* The pending call may have been a SET. */
		s->set = r->proc == RPCB_SET && yes;
		r->at = 0;
		next_call(r);
		return;
	}
	if (r->proc == RPCB_UNSET) {
		r->again = true;
		send_call(r, RPCB_SET);
		return;
	} else if (yes) {
		s->set = true;
	} else if (r->first && !r->again) {
		send_call(r, RPCB_UNSET);
		return;
	} else {
		say_refused(r);
	}
	r->at++;
	next_call(r);
}

/* Sends the call for the next service that needs one. */
static void
next_call(struct registration *r)
{
	bool leaving = r->state == REG_LEAVING;

	r->again = false;
	while (r->at < r->n && r->services[r->at].set != leaving)
		r->at++;
	if (r->at < r->n)
		send_call(r, leaving ? RPCB_UNSET : RPCB_SET);
	else if (leaving)
		leave(r);
	else
		rest(r);
}

/*
 * Returns true if a whole reply was read; *yes is its answer. *bad is why a
 * reply is malformed, or NULL.
 */
static bool
get_answer(const struct registration *r, bool *yes, const char **bad)
{
	struct rpc_mark mark;
	struct xdr_in x;
	uint32_t xid = 0;

	*bad = NULL;
	if (r->inlen < RPC_MARK_SIZE)
		return false;
	mark = rpc_mark_get(r->in);
	if (!mark.last || mark.len > REGISTER_REPLY_MAX) {
		*bad = "its reply is not one to a registration";
		return false;
	}
	if (r->inlen - RPC_MARK_SIZE < mark.len)
		return false;
	xdr_in_init(&x, r->in + RPC_MARK_SIZE, r->inlen - RPC_MARK_SIZE);
	if ((*bad = rpc_get_reply(&x, &xid)) != NULL)
		return false;
	*yes = xdr_get_bool(&x);
	if (x.failed || x.left != 0 || xid != r->xid)
		*bad = "its reply does not belong to the call";
	return *bad == NULL;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct registration *r = arg;
	const char *bad;
	bool yes = false;
	ssize_t n;

	(void)what;
	n = recv(fd, r->in + r->inlen, sizeof(r->in) - r->inlen, MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || r->state == REG_RESTING) {
		log_debug("portmapper at %s: connection closed", r->path);
		retry(r);
		return;
	}
	r->inlen += (size_t)n;
	if (get_answer(r, &yes, &bad))
		take_answer(r, yes);
	else if (bad != NULL)
		wait_for_portmapper(r, bad);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct registration *r = arg;

	(void)fd;
	(void)what;
	switch (r->state) {
	case REG_WAITING:
		try_connect(r);
		break;
	case REG_CALLING:
		wait_for_portmapper(r, "it does not answer");
		break;
	case REG_RESTING:
		r->state = REG_CALLING;
		r->at = 0;
		next_call(r);
		break;
	case REG_LEAVING:
		disconnect(r);
		r->done(r->arg);
		break;
	}
}

static void
try_connect(struct registration *r)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (strlcpy(un.sun_path, r->path, sizeof(un.sun_path)) >=
	    sizeof(un.sun_path)) {
		wait_for_portmapper(r, "the path is too long");
		return;
	}
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->fd == -1 ||
	    connect(r->fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
		wait_for_portmapper(r, strerror(errno));
		return;
	}
	r->io = event_new(r->base, r->fd, EV_READ | EV_PERSIST, on_readable, r);
	if (r->io == NULL || event_add(r->io, NULL) == -1)
		fatalx("registration: event: out of memory");
	r->state = REG_CALLING;
	r->at = 0;
	next_call(r);
}

struct registration *
register_new(struct event_base *base, const char *path)
{
	struct registration *r;

	r = calloc(1, sizeof(*r));
	if (r == NULL)
		fatal("registration: out of memory");
	r->base = base;
	r->path = path;
	r->fd = -1;
	r->first = true;
	r->retry_ms = REGISTER_RETRY_MIN_MS;
	r->timer = evtimer_new(base, on_timer, r);
	if (r->timer == NULL)
		fatalx("registration: timer: out of memory");
	return r;
}

bool
register_add(struct registration *r, uint32_t prog, uint32_t vers, bool udp,
    const struct addr *at)
{
	struct service *s;

	if (r->n == REGISTER_SERVICES_MAX)
		return false;
	s = reallocarray(r->services, r->n + 1, sizeof(*s));
	if (s == NULL)
		return false;
	r->services = s;
	s += r->n;
	memset(s, 0, sizeof(*s));
	s->prog = prog;
	s->vers = vers;
	s->netid = uaddr_netid_of(at->family, udp ? IPPROTO_UDP : IPPROTO_TCP);
	s->at.kind = UADDR_INET;
	s->at.at = *at;
	if (!uaddr_fits(&s->at, s->netid))
		return false;
	r->n++;
	return true;
}

void
register_program(struct registration *r, const struct rpc_prog *prog,
    const struct listen_set *set)
{
	uint32_t v;
	size_t i;

	for (i = 0; i < set->n; i++)
		for (v = 0; v < prog->nvers; v++)
			if (!register_add(r, prog->prog, prog->vers[v].vers,
				set->list[i].udp, &set->list[i].at))
				fatalx("%s: too many addresses to register: "
				       "use fewer -a, or -R",
				    prog->name);
}

void
register_start(struct registration *r)
{
	try_connect(r);
}

void
register_stop(struct registration *r, void (*done)(void *), void *arg)
{
	enum state was = r->state;

	r->done = done;
	r->arg = arg;
	r->state = REG_LEAVING;
	set_timer(r, was == REG_WAITING ? 0 : REGISTER_STOP_MS);
	/* If a call is pending, its answer starts the UNSETs. */
	if (was == REG_RESTING) {
		r->at = 0;
		next_call(r);
	}
}

void
register_free(struct registration *r)
{
	if (r == NULL)
		return;
	disconnect(r);
	event_free(r->timer);
	free(r->services);
	free(r);
}
