/* SPDX-License-Identifier: ISC */
/*
 * The client side of registration, a state machine:
 *
 *	waiting   no connection; a timer tries again
 *	calling   one SET or UNSET is pending
 *	resting   connected and idle; readable means that the portmapper has
 *		  closed it (a timer repeats refused SETs)
 *	yielding  as calling, with UNSETs; then resting
 *	leaving   the same; then done
 *
 * If SET is refused on the first connection of this process, it is repeated
 * once after an UNSET: rpcbind keeps the entries of a killed predecessor. Later
 * connections do not do that, so two servers never fight over an entry. rpcbind
 * may close an idle connection. SET of an existing entry then succeeds, and
 * nothing is logged unless it is another portmapper.
 *
 * Services that belong together (register_together()) may have another holder
 * that lives, such as the kernel's lockd. So before that UNSET the portmapper is
 * asked for the entry (DUMP), and its port must be unused. Else all are given up
 * until it is free: yielding.
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
#include "base/util.h"
#include "process/daemon.h"
#include "process/listen.h"
#include "process/listen_owner.h"
#include "process/register.h"
#include "process/uaddr.h"
#include "rpc/msg.h"
#include "transport/record.h"

#define RPCB_PROG  100000
#define RPCB_VERS  4
#define RPCB_SET   1
#define RPCB_UNSET 2
#define RPCB_DUMP  4
#define DUMP_MAX   65536 /* bytes of its reply */
#define FRAGMENTS  64 /* of its reply */
#define STABLE_MS  1000 /* a connection of this age resets the delay */
#define EITHER	   DAEMON_SOCKET " or " REGISTER_RPCBIND

enum state { REG_WAITING, REG_CALLING, REG_RESTING, REG_YIELDING, REG_LEAVING };

struct service {
	uint32_t prog, vers;
	enum netid netid;
	struct uaddr at;
	bool set; /* registered on this connection */
};

struct registration {
	struct event_base *base;
	const char *wanted; /* NULL: Tern's own, else rpcbind's */
	const char *path; /* of the last connection */
	const char *together; /* what they are, for the log; NULL: nothing */
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
	const char *said_at; /* the log says: registered there; NULL: nowhere */
	unsigned int retry_ms;
	uint64_t since_ms; /* when the connection became idle; 0: not yet */
	uint32_t xid;
	struct rpc_record in;
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
	rpc_record_clear(&r->in);
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
	if (!r->said_waiting && r->state != REG_LEAVING && r->together == NULL)
		log_info(
		    "waiting for the portmapper at %s: %s (start portmapd or rpcbind, or use -s or -R)",
		    r->wanted != NULL ? r->wanted : EITHER, reason);
	r->said_waiting = true;
	r->said_at = NULL;
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
	if (proc != RPCB_DUMP) {
		xdr_put_u32(&x, s->prog);
		xdr_put_u32(&x, s->vers);
		xdr_put_string(&x, netid_rows[s->netid].name);
		xdr_put_string(&x, uaddr_print(&s->at, text));
		xdr_put_string(&x, owner);
	}
	if (x.failed)
		fatalx("registration: call too long");
	rpc_mark_put(buf, x.len - RPC_MARK_SIZE);
	rpc_record_clear(&r->in);
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
	if (r->said_at != r->path)
		log_info("%s%sregistered with the portmapper at %s",
		    r->together != NULL ? r->together : "",
		    r->together != NULL ? ": " : "", r->path);
	r->said_at = r->path;
	r->said_waiting = r->said_refused = false;
}

/* One of those that belong together is refused: gives up the others. */
static void
yield(struct registration *r)
{
	r->state = REG_YIELDING;
	r->at = 0;
	next_call(r);
}

/* Has a living server this entry of a DUMP? Stores its name. */
static bool
is_held(const struct service *s, struct xdr_in *x, char *who, size_t size)
{
	struct uaddr at = { .kind = UADDR_NONE };
	struct slice name, text;
	uint32_t prog, vers;

	while (xdr_get_bool(x)) {
		prog = xdr_get_u32(x);
		vers = xdr_get_u32(x);
		name = xdr_get_opaque(x, UADDR_STRLEN);
		text = xdr_get_opaque(x, UADDR_STRLEN);
		(void)xdr_get_opaque(x, UADDR_STRLEN); /* its owner */
		if (x->failed)
			return false;
		if (prog != s->prog || vers != s->vers ||
		    uaddr_netid(name) != s->netid)
			continue;
		uaddr_parse(&at, text);
		return at.kind == UADDR_INET &&
		    listen_holder(&at.at,
			netid_rows[s->netid].ipproto == IPPROTO_UDP, who, size);
	}
	return false;
}

/* All entries of the portmapper: what has the one that was refused? */
static void
take_dump(struct registration *r, struct xdr_in *x)
{
	const struct service *s = &r->services[r->at];
	char who[LISTEN_OWNER_MAX];

	if (r->state == REG_LEAVING) {
		r->at = 0;
		next_call(r);
		return;
	}
	if (!is_held(s, x, who, sizeof(who))) {
		if (r->first) { /* of a killed predecessor */
			send_call(r, RPCB_UNSET);
			return;
		}
		say_refused(r);
	} else if (!r->said_refused) {
		log_warnx("%s: not served: program %u version %u on %s is "
			  "registered by %s: stop that if clients shall lock "
			  "files here",
		    r->together, s->prog, s->vers, netid_rows[s->netid].name,
		    who);
		r->said_refused = true;
	}
	yield(r);
}

/* Handles the answer to the pending call and sends the next one. */
static void
take_answer(struct registration *r, bool yes)
{
	struct service *s = &r->services[r->at];

	if (r->state == REG_LEAVING || r->state == REG_YIELDING) {
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
	} else if (r->together != NULL && !r->again) {
		send_call(r, RPCB_DUMP);
		return;
	} else if (r->first && !r->again) {
		send_call(r, RPCB_UNSET);
		return;
	} else {
		say_refused(r);
		if (r->together != NULL) {
			yield(r);
			return;
		}
	}
	r->at++;
	next_call(r);
}

/* Sends the call for the next service that needs one. */
static void
next_call(struct registration *r)
{
	bool unset = r->state == REG_LEAVING || r->state == REG_YIELDING;

	r->again = false;
	while (r->at < r->n && r->services[r->at].set != unset)
		r->at++;
	if (r->at < r->n)
		send_call(r, unset ? RPCB_UNSET : RPCB_SET);
	else if (r->state == REG_LEAVING)
		leave(r);
	else
		rest(r);
}

/* Handles a whole reply. Returns why it is malformed, or NULL. */
static const char *
take_reply(struct registration *r, const uint8_t *msg, size_t len)
{
	struct xdr_in x;
	uint32_t xid = 0;
	const char *bad;
	bool yes;

	xdr_in_init(&x, msg, len);
	bad = rpc_get_reply(&x, &xid);
	if (bad != NULL)
		return bad;
	if (xid != r->xid)
		return "its reply does not belong to the call";
	if (r->proc == RPCB_DUMP) {
		take_dump(r, &x);
		return NULL;
	}
	yes = xdr_get_bool(&x);
	if (x.failed || x.left != 0)
		return "its reply does not belong to the call";
	take_answer(r, yes);
	return NULL;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct registration *r = arg;
	uint8_t buf[4096];
	const uint8_t *data = buf, *msg;
	enum rpc_record_state state;
	const char *bad = NULL;
	size_t len, msglen;
	ssize_t n;

	(void)what;
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || r->state == REG_RESTING) {
		log_debug("portmapper at %s: connection closed", r->path);
		retry(r);
		return;
	}
	len = (size_t)n;
	state = rpc_record_next(&r->in,
	    r->proc == RPCB_DUMP ? DUMP_MAX : REGISTER_REPLY_MAX,
	    r->proc == RPCB_DUMP ? FRAGMENTS : 1, &data, &len, &msg, &msglen);
	if (state == RPC_RECORD_DONE)
		bad = take_reply(r, msg, msglen);
	else if (state != RPC_RECORD_MORE)
		bad = "its reply is not one to a registration";
	if (bad != NULL)
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
	case REG_YIELDING:
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

int
register_connect(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	if (strlcpy(un.sun_path, path, sizeof(un.sun_path)) >=
	    sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd != -1 && connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
		close_keep_errno(fd);
		fd = -1;
	}
	return fd;
}

static void
try_connect(struct registration *r)
{
	r->path = r->wanted != NULL ? r->wanted : DAEMON_SOCKET;
	r->fd = register_connect(r->path);
	if (r->fd == -1 && r->wanted == NULL) {
		r->path = REGISTER_RPCBIND;
		r->fd = register_connect(r->path);
	}
	if (r->fd == -1) {
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

const char *
register_beside(const char *socket, const char *name, char *out, size_t size)
{
	const char *slash;

	if (socket == NULL || strcmp(socket, REGISTER_RPCBIND) == 0)
		socket = DAEMON_SOCKET;
	slash = strrchr(socket, '/');
	(void)snprintf(out, size, "%.*s%s",
	    slash == NULL ? 0 : (int)(slash - socket + 1), socket, name);
	return out;
}

struct registration *
register_new(struct event_base *base, const char *path)
{
	struct registration *r;

	r = calloc(1, sizeof(*r));
	if (r == NULL)
		fatal("registration: out of memory");
	r->base = base;
	r->wanted = path;
	r->fd = -1;
	r->first = true;
	r->retry_ms = REGISTER_RETRY_MIN_MS;
	r->timer = evtimer_new(base, on_timer, r);
	if (r->timer == NULL)
		fatalx("registration: timer: out of memory");
	return r;
}

void
register_together(struct registration *r, const char *what)
{
	r->together = what;
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
