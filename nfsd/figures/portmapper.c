/* SPDX-License-Identifier: ISC */
/*
 * Asks the portmapper for its counters: see portmapper.h.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/portmapper.h"
#include "process/daemon.h"
#include "process/register.h"
#include "rpc/msg.h"
#include "transport/record.h"
#include "rpc/xdr.h"

#define RPCB_PROG    100000
#define RPCB_VERS    4
#define RPCB_GETSTAT 12
#define REPLY_MAX    (256 * 1024)
#define FRAGMENTS    64
#define NETID_MAX    256 /* bytes of a name of a transport */

struct portmapper {
	struct event_base *base;
	const char *path; /* NULL: either */
	void (*done)(void *arg);
	void *arg;
	int fd; /* -1: no question is open */
	uint64_t until_ms; /* then it has not answered */
	struct event *on_reply;
	struct rpc_record in;
	struct portmapper_counts counts;
};

/* Versions 2, 3 and 4. */
static const char *const names[PORTMAPPER_VERSIONS][PORTMAPPER_PROCS] = {
	{ "NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT" },
	{ "NULL", "SET", "UNSET", "GETADDR", "DUMP", "CALLIT", "GETTIME",
	    "UADDR2TADDR", "TADDR2UADDR" },
	{ "NULL", "SET", "UNSET", "GETADDR", "DUMP", "BCAST", "GETTIME",
	    "UADDR2TADDR", "TADDR2UADDR", "GETVERSADDR", "INDIRECT",
	    "GETADDRLIST", "GETSTAT" },
};

/* rpcbs_addrlist or rpcbs_rmtcalllist: numbers and a name in each entry. */
static void
skip_list(struct xdr_in *x, unsigned int numbers)
{
	unsigned int i;

	while (xdr_get_bool(x)) {
		for (i = 0; i < numbers; i++)
			(void)xdr_get_u32(x);
		(void)xdr_get_opaque(x, NETID_MAX);
	}
}

bool
portmapper_get(struct portmapper_counts *c, const uint8_t *msg, size_t len)
{
	struct xdr_in x;
	uint32_t xid = 0;
	unsigned int v, i;

	memset(c, 0, sizeof(*c));
	xdr_in_init(&x, msg, len);
	if (rpc_get_reply(&x, &xid) != NULL)
		return false;
	for (v = 0; v < PORTMAPPER_VERSIONS; v++) {
		for (i = 0; i < PORTMAPPER_PROCS; i++)
			c->calls[v][i] = xdr_get_u32(&x);
		(void)xdr_get_u32(&x); /* successful SETs */
		(void)xdr_get_u32(&x); /* and UNSETs */
		skip_list(&x, 4);
		skip_list(&x, 6);
	}
	c->up = !x.failed && x.left == 0;
	return c->up;
}

static void
finish(struct portmapper *p, bool up)
{
	event_free(p->on_reply);
	p->on_reply = NULL;
	rpc_record_clear(&p->in);
	close_keep_errno(p->fd);
	p->fd = -1;
	if (!up)
		p->counts.up = false;
	p->done(p->arg);
}

static void
on_reply(evutil_socket_t fd, short what, void *arg)
{
	struct portmapper *p = arg;
	uint8_t buf[4096];
	const uint8_t *data = buf, *msg;
	enum rpc_record_state state;
	size_t len, msglen;
	ssize_t n = -1;

	if (fd != -1 && (what & EV_READ) != 0) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return;
	}
	if (n <= 0 || clock_ms() > p->until_ms) {
		finish(p, false);
		return;
	}
	len = (size_t)n;
	state = rpc_record_next(&p->in, REPLY_MAX, FRAGMENTS, &data, &len, &msg,
	    &msglen);
	if (state == RPC_RECORD_DONE)
		finish(p, portmapper_get(&p->counts, msg, msglen));
	else if (state != RPC_RECORD_MORE)
		finish(p, false);
}

static bool
send_call(struct portmapper *p)
{
	const struct rpc_head head = { .xid = 1,
		.prog = RPCB_PROG,
		.vers = RPCB_VERS,
		.proc = RPCB_GETSTAT };
	uint8_t buf[128];
	struct xdr_out x;

	p->fd = register_connect(p->path != NULL ? p->path : DAEMON_SOCKET);
	if (p->fd == -1 && p->path == NULL)
		p->fd = register_connect(REGISTER_RPCBIND);
	xdr_out_init(&x, buf, sizeof(buf));
	xdr_put_u32(&x, 0); /* the mark */
	rpc_put_call(&x, &head, NULL);
	rpc_mark_put(buf, x.len - RPC_MARK_SIZE);
	return p->fd != -1 &&
	    send(p->fd, buf, x.len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)x.len;
}

void
portmapper_ask(struct portmapper *p)
{
	const struct timeval in = { .tv_usec = PORTMAPPER_MS * 1000 },
			     now = { 0 };
	bool sent;

	if (p->on_reply != NULL)
		return;
	p->until_ms = clock_ms() + PORTMAPPER_MS;
	sent = send_call(p);
	p->on_reply = event_new(p->base, sent ? p->fd : -1,
	    EV_PERSIST | (sent ? EV_READ : 0), on_reply, p);
	if (p->on_reply == NULL ||
	    event_add(p->on_reply, sent ? &in : &now) == -1)
		fatalx("portmapper: event: out of memory");
}

const struct portmapper_counts *
portmapper_counts(const struct portmapper *p)
{
	return &p->counts;
}

struct portmapper *
portmapper_new(struct event_base *base, const char *path,
    void (*done)(void *arg), void *arg)
{
	struct portmapper *p = calloc(1, sizeof(*p));

	if (p == NULL)
		fatal("portmapper");
	p->base = base;
	p->path = path;
	p->done = done;
	p->arg = arg;
	p->fd = -1;
	return p;
}

void
portmapper_free(struct portmapper *p)
{
	if (p == NULL)
		return;
	if (p->on_reply != NULL)
		event_free(p->on_reply);
	rpc_record_clear(&p->in);
	close_keep_errno(p->fd);
	free(p);
}

void
portmapper_text(const struct portmapper_counts *c, struct figures *f)
{
	unsigned int v, i;

	figures_one(f, "portmapper_up", "gauge",
	    "1 if portmapd or rpcbind answers", c->up);
	if (!c->up)
		return;
	figures_head(f, "portmapper_calls_total", "counter",
	    "calls of portmapd or rpcbind");
	for (v = 0; v < PORTMAPPER_VERSIONS; v++)
		for (i = 0; i < PORTMAPPER_PROCS; i++)
			if (names[v][i] != NULL && c->calls[v][i] > 0)
				figures_put(f,
				    "tern_portmapper_calls_total{version=\"%u\""
				    ",procedure=\"%s\"} %u\n",
				    v + 2, names[v][i], c->calls[v][i]);
}
