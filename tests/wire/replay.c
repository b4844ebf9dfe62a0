/* SPDX-License-Identifier: ISC */
/*
 * Replaying vectors: see replay.h. One process without threads: the server's
 * loop runs until the client's end of the socket has the reply.
 * Runs in: tests.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "case.h"
#include "replay.h"
#include "reply_shape.h"
#include "rpc/msg.h"
#include "tap.h"

#define REPLAY_TEXT_MAX	 (1024 * 1024)
#define REPLAY_REPLY_MAX (1200 * 1024)
#define REPLAY_SECONDS	 5

enum outcome { GOT_REPLY, GOT_NOTHING, GOT_HANGUP };

static const struct replay_fixture *fixture;
static struct wire_case wc;
static uint8_t got[REPLAY_REPLY_MAX];
static const char *const answers[] = { "a reply", "nothing", "a hangup" };

/* Makes a fresh server and sets the known names. NULL: cannot be made here. */
static struct rpc_server *
begin(void)
{
	const struct case_known *k = fixture->known;
	struct rpc_server *server = fixture->begin(wc.setup);
	size_t i;

	for (i = 0; server != NULL && k != NULL && k[i].name != NULL; i++)
		fixture->value(k[i].name, wc.vars[i].bytes, k[i].len);
	return server;
}

/* Skips the case if its server cannot be made here. */
static bool
is_missing(const struct rpc_server *server, const char *name)
{
	skip(server == NULL, 1, "%s: not here", name);
	return false;
	end_skip;
	return true;
}

static struct rpc_origin
origin_of(const struct case_exchange *ex)
{
	struct rpc_origin o = { .reply = NULL };

	o.peer.from = ex->from;
	o.peer.kind = ex->from.family == AF_UNIX ? RPC_UNIX : RPC_TCP;
	o.peer.uid = wc.uid;
	o.peer.id = 1;
	o.peer.max_reply = sizeof(got);
	(void)addr_parse(&o.peer.to, "127.0.0.1:2049");
	if (ex->from.family == AF_UNIX)
		o.peer.to = ex->from;
	return o;
}

static enum outcome
in_memory(struct rpc_server *server, const struct case_exchange *ex,
    const uint8_t *msg, size_t len, size_t *gotlen)
{
	struct rpc_origin o = origin_of(ex);
	enum rpc_verdict verdict;
	uint8_t *copy;

	/* A copy of exactly this length, so that a sanitizer sees overruns. */
	copy = malloc(len == 0 ? 1 : len);
	if (copy == NULL)
		err(1, "replay");
	memcpy(copy, msg, len);
	verdict = rpc_serve(server, &o, copy, len, got, sizeof(got), gotlen);
	free(copy);
	return verdict == RPC_ANSWERED ? GOT_REPLY :
	    verdict == RPC_HANGUP      ? GOT_HANGUP :
					 GOT_NOTHING;
}

static int64_t
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Runs the server's loop until fd is readable. */
static bool
readable(struct event_base *base, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int64_t deadline;

	deadline = now_ms() + REPLAY_SECONDS * 1000;
	while (now_ms() < deadline) {
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		if (poll(&pfd, 1, 1) == 1)
			return true;
	}
	return false;
}

/* A call whose reply proves that the call before it got none. */
static size_t
put_marker(uint8_t out[RPC_HEADER_MIN])
{
	struct rpc_head head = { .xid = 0x7e57ca11 };
	struct xdr_out x;

	head.prog = fixture->progs[0]->prog;
	head.vers = fixture->progs[0]->vers[0].vers;
	xdr_out_init(&x, out, RPC_HEADER_MIN);
	rpc_put_call(&x, &head, NULL);
	return x.len;
}

static bool
is_marker(const uint8_t *reply, size_t len)
{
	return len >= 4 && memcmp(reply, "\x7e\x57\xca\x11", 4) == 0;
}

static enum outcome
over_udp(struct event_base *base, int fd, const struct case_exchange *ex,
    size_t *gotlen)
{
	uint8_t marker[RPC_HEADER_MIN];
	ssize_t n;

	if (send(fd, ex->call.bytes, ex->call.len, 0) == -1)
		err(1, "replay: send");
	if (ex->answer != CASE_REPLY)
		(void)send(fd, marker, put_marker(marker), 0);
	if (!readable(base, fd))
		return GOT_NOTHING;
	n = recv(fd, got, sizeof(got), 0);
	*gotlen = n < 0 ? 0 : (size_t)n;
	if (is_marker(got, *gotlen))
		return ex->answer == CASE_HANGUP ? GOT_HANGUP : GOT_NOTHING;
	return GOT_REPLY;
}

static void
put_mark(uint8_t out[4], size_t len)
{
	uint32_t mark = htonl(0x80000000u | (uint32_t)len);

	memcpy(out, &mark, sizeof(mark));
}

/* Exactly len bytes; false at the end of the stream. */
static bool
get_stream(struct event_base *base, int fd, uint8_t *buf, size_t len)
{
	ssize_t n;

	for (; len > 0; buf += n, len -= (size_t)n) {
		if (!readable(base, fd))
			return false;
		n = recv(fd, buf, len, 0);
		if (n <= 0)
			return false;
	}
	return true;
}

static enum outcome
over_tcp(struct event_base *base, int fd, const struct case_exchange *ex,
    size_t *gotlen)
{
	uint8_t out[CASE_BYTES_MAX + 8 + RPC_HEADER_MIN], mark[4];
	size_t len;

	put_mark(out, ex->call.len);
	memcpy(out + 4, ex->call.bytes, ex->call.len);
	len = 4 + ex->call.len;
	if (ex->answer == CASE_NONE) {
		put_mark(out + len, RPC_HEADER_MIN);
		len += 4 + put_marker(out + len + 4);
	}
	if (send(fd, out, len, MSG_NOSIGNAL) != (ssize_t)len)
		err(1, "replay: send");
	if (!get_stream(base, fd, mark, sizeof(mark)))
		return GOT_HANGUP;
	len = (size_t)(mark[0] & 0x7f) << 24 | (size_t)mark[1] << 16 |
	    (size_t)mark[2] << 8 | mark[3];
	if (!ok((mark[0] & 0x80) != 0 && len <= sizeof(got),
		"one final fragment") ||
	    !get_stream(base, fd, got, len))
		return GOT_HANGUP;
	*gotlen = len;
	return is_marker(got, len) ? GOT_NOTHING : GOT_REPLY;
}

static void
explain(const struct case_exchange *ex, const char *how, enum outcome o,
    size_t gotlen, long diff)
{
	size_t i, from;

	diag("%s, call of line %u: want %s, got %s", how, ex->line,
	    answers[ex->answer], answers[o]);
	if (diff < 0)
		return;
	diag("first difference at byte %ld of %zu (want %zu)", diff, gotlen,
	    ex->reply.len);
	if ((size_t)diff < ex->reply.len)
		diag("want what line %u says",
		    (unsigned int)ex->reply.lines[diff]);
	from = (size_t)diff & ~(size_t)3;
	for (i = from; i < gotlen && i < from + 32; i += 4)
		diag("  %4zu: %02x%02x%02x%02x", i, got[i], got[i + 1],
		    got[i + 2], got[i + 3]);
}

/* Is this the reply that the case expects? */
static bool
judge(const struct case_exchange *ex, const char *how, enum outcome o,
    size_t gotlen)
{
	long diff = -1;

	if ((unsigned int)o == (unsigned int)ex->answer && o == GOT_REPLY)
		diff = case_match(&wc, &ex->reply, got, gotlen);
	if ((unsigned int)o == (unsigned int)ex->answer && diff == -1)
		return true;
	explain(ex, how, o, gotlen, diff);
	return false;
}

/* Does the reply have the shape that the RFC gives to this call? */
static bool
has_shape(const uint8_t *msg, size_t len, size_t gotlen)
{
	uint32_t prog, vers, proc;
	struct xdr_in in;

	if (fixture->no_rfc)
		return true;
	xdr_in_init(&in, msg, len);
	(void)xdr_get_u64(&in);
	(void)xdr_get_u32(&in);
	prog = xdr_get_u32(&in);
	vers = xdr_get_u32(&in);
	proc = xdr_get_u32(&in);
	return reply_is_whole(got, gotlen, reply_shape_find(prog, vers, proc));
}

/* Is there no reply, or one whole RPC reply with the call's xid? */
static bool
is_sane(const uint8_t *msg, size_t len, enum outcome o, size_t gotlen)
{
	if (o != GOT_REPLY)
		return true;
	return len >= 4 && gotlen >= 20 && memcmp(got, msg, 4) == 0 &&
	    has_shape(msg, len, gotlen);
}

static bool
is_success(enum outcome o, size_t gotlen)
{
	static const uint8_t zeros[4] = { 0 };

	return o == GOT_REPLY && gotlen >= 24 &&
	    memcmp(got + 8, zeros, 4) == 0 && memcmp(got + 20, zeros, 4) == 0;
}

/* Every prefix of the call is refused, or at least answered well-formed. */
static bool
try_prefixes(struct rpc_server *server, const struct case_exchange *ex)
{
	enum outcome o;
	size_t n, gotlen;

	for (n = 0; n < ex->call.len; n++) {
		o = in_memory(server, ex, ex->call.bytes, n, &gotlen);
		if (!is_sane(ex->call.bytes, n, o, gotlen) ||
		    (wc.prefixes_refused && is_success(o, gotlen))) {
			diag("call of line %u: prefix of %zu bytes accepted",
			    ex->line, n);
			return false;
		}
	}
	return true;
}

/* Flips every bit. Any well-formed reply will do; the server must go on. */
static bool
try_flips(struct rpc_server *server, struct case_exchange *ex)
{
	uint8_t marker[RPC_HEADER_MIN];
	enum outcome o;
	size_t bit, gotlen;
	bool sane;

	for (bit = 0; bit < 8 * ex->call.len; bit++) {
		ex->call.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		o = in_memory(server, ex, ex->call.bytes, ex->call.len,
		    &gotlen);
		sane = is_sane(ex->call.bytes, ex->call.len, o, gotlen);
		ex->call.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (!sane) {
			diag("call of line %u: bit %zu flipped: strange reply",
			    ex->line, bit);
			return false;
		}
	}
	o = in_memory(server, ex, marker, put_marker(marker), &gotlen);
	return is_success(o, gotlen);
}

static void
replay_memory(const char *name, bool prefixes)
{
	struct rpc_server *server;
	struct case_exchange *ex;
	size_t i, gotlen = 0;
	enum outcome o;
	bool good;

	good = true;
	server = begin();
	if (is_missing(server, name))
		return;
	for (i = 0; i < wc.nexchanges && good; i++) {
		ex = &wc.exchanges[i];
		case_fill(&wc, &ex->call);
		if (prefixes)
			good = try_prefixes(server, ex);
		o = in_memory(server, ex, ex->call.bytes, ex->call.len,
		    &gotlen);
		good = good && judge(ex, "in memory", o, gotlen) &&
		    is_sane(ex->call.bytes, ex->call.len, o, gotlen);
	}
	fixture->end(server);
	ok(good, "%s: in memory%s", name,
	    prefixes ? ", every prefix refused" : "");
}

static void
replay_flips(const char *name)
{
	struct rpc_server *server;
	struct case_exchange *ex;
	size_t i, gotlen = 0;
	bool good;

	good = true;
	server = begin();
	if (is_missing(server, name))
		return;
	for (i = 0; i < wc.nexchanges && good; i++) {
		ex = &wc.exchanges[i];
		case_fill(&wc, &ex->call);
		(void)in_memory(server, ex, ex->call.bytes, ex->call.len,
		    &gotlen);
		(void)case_match(&wc, &ex->reply, got, gotlen);
		good = try_flips(server, ex);
	}
	fixture->end(server);
	ok(good, "%s: healthy after every flipped bit", name);
}

static int
listening(int type, struct sockaddr_in *sin)
{
	socklen_t len = sizeof(*sin);
	int fd;

	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)sin, len) == -1 ||
	    (type == SOCK_STREAM && listen(fd, 16) == -1) ||
	    getsockname(fd, (struct sockaddr *)sin, &len) == -1)
		err(1, "replay: socket");
	return fd;
}

/* A connected client socket, from a port below 1024 if permitted. */
static int
client(int type, const struct sockaddr_in *to)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint16_t port;
	int fd;

	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	for (port = 1023; port > 600; port--) {
		sin.sin_port = htons(port);
		if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 ||
		    errno == EACCES)
			break;
	}
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == -1)
		err(1, "replay: connect");
	return fd;
}

static void
replay_sockets(const char *name, int type)
{
	const struct rpc_limits *limits;
	struct case_exchange *ex;
	struct rpc_server *server;
	struct event_base *base;
	struct rpc_streams *streams;
	struct rpc_udp *udp = NULL;
	struct rpc_tcp *tcp = NULL;
	struct sockaddr_in sin;
	size_t i, gotlen = 0;
	enum outcome o;
	bool good;
	int fd;

	limits =
	    fixture->limits != NULL ? fixture->limits : &rpc_limits_default;
	server = begin();
	if (is_missing(server, name))
		return;
	base = event_base_new();
	streams = rpc_streams_new(base);
	fd = listening(type, &sin);
	if (type == SOCK_DGRAM)
		udp = rpc_udp_new(base, server, fd, limits);
	else
		tcp = rpc_tcp_new(streams, server, fd, limits, NULL, NULL);
	fd = client(type, &sin);
	good = true;
	for (i = 0; i < wc.nexchanges && good; i++) {
		ex = &wc.exchanges[i];
		case_fill(&wc, &ex->call);
		o = type == SOCK_DGRAM ? over_udp(base, fd, ex, &gotlen) :
					 over_tcp(base, fd, ex, &gotlen);
		good = judge(ex, type == SOCK_DGRAM ? "udp" : "tcp", o, gotlen);
	}
	ok(good, "%s: over %s", name, type == SOCK_DGRAM ? "udp" : "tcp");
	close(fd);
	rpc_udp_free(udp);
	rpc_tcp_free(tcp);
	rpc_streams_free(streams);
	fixture->end(server);
	event_base_free(base);
}

static bool
load(const char *path)
{
	static char text[REPLAY_TEXT_MAX];
	unsigned int line;
	size_t n;
	FILE *f;

	f = fopen(path, "r");
	if (f == NULL)
		err(1, "%s", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	if (case_parse(&wc, fixture->known, text, &line))
		return true;
	fail("%s:%u: %s", path, line, wc.why);
	return false;
}

static void
replay_case(const char *path)
{
	const char *name;

	name = strstr(path, "/wire/");
	name = name == NULL ? path : name + 6;
	if (!load(path))
		return;
	if ((wc.over & CASE_MEMORY) != 0) {
		replay_memory(name, false);
		replay_memory(name, true);
		if (wc.flips)
			replay_flips(name);
	}
	if ((wc.over & CASE_UDP) != 0)
		replay_sockets(name, SOCK_DGRAM);
	if ((wc.over & CASE_TCP) != 0)
		replay_sockets(name, SOCK_STREAM);
}

static void
replay_row(const char *src, const struct rpc_prog *prog,
    const struct rpc_vers *vers, const struct rpc_proc *row)
{
	char pattern[512];
	glob_t found;
	size_t i;

	(void)snprintf(pattern, sizeof(pattern), "%s/tests/wire/%s%u/%s/*.case",
	    src, prog->name, vers->vers, row->name);
	if (glob(pattern, 0, NULL, &found) != 0) {
		fail("%s%u %s has a vector in %s", prog->name, vers->vers,
		    row->name, pattern);
		return;
	}
	for (i = 0; i < found.gl_pathc; i++)
		replay_case(found.gl_pathv[i]);
	globfree(&found);
}

int
replay_main(const struct replay_fixture *f)
{
	const struct rpc_vers *vers;
	const char *src;
	size_t i;
	uint32_t v, p;

	src = getenv("SRC") != NULL ? getenv("SRC") : ".";
	fixture = f;
	plan(NO_PLAN);
	for (i = 0; i < f->nprogs; i++)
		for (v = 0; v < f->progs[i]->nvers; v++) {
			vers = &f->progs[i]->vers[v];
			for (p = 0; p < vers->nprocs; p++)
				if (vers->procs[p].name != NULL)
					replay_row(src, f->progs[i], vers,
					    &vers->procs[p]);
		}
	done_testing();
}
