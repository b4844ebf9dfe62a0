/* SPDX-License-Identifier: ISC */
/*
 * A small RPC program for tests: see stub.h.
 * Runs in: tests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/util.h"
#include "lib/rpc_client.h"
#include "rpc/msg.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "base/clock.h"
#include "stub.h"

struct call_ctx {
	struct rpc_call *call;
};

struct call_args {
	struct slice data;
	uint32_t n;
};

struct call_res {
	uint32_t words[6];
	uint32_t nwords;
	struct slice data;
	bool has_data;
};

unsigned int stub_begun, stub_ended, stub_executed;
atomic_uint stub_late;
_Atomic unsigned int stub_joined;
static uint64_t stub_last_ns;
enum rpc_auth_stat stub_auth;
int stub_errand_result;
enum rpc_auth_stat stub_deny;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned int waiting, tickets;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.change = PTHREAD_COND_INITIALIZER };

void
stub_go(unsigned int n)
{
	pthread_mutex_lock(&gate.lock);
	gate.tickets += n;
	pthread_cond_broadcast(&gate.change);
	pthread_mutex_unlock(&gate.lock);
}

void
stub_wait_for(unsigned int n)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting < n)
		pthread_cond_wait(&gate.change, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

int
stub_waiting(void)
{
	int n;

	pthread_mutex_lock(&gate.lock);
	n = (int)gate.waiting;
	pthread_mutex_unlock(&gate.lock);
	return n;
}

static void
wait_for_ticket(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.waiting++;
	pthread_cond_broadcast(&gate.change);
	while (gate.tickets == 0)
		pthread_cond_wait(&gate.change, &gate.lock);
	gate.tickets--;
	gate.waiting--;
	pthread_mutex_unlock(&gate.lock);
}

static void
get_data(struct xdr_in *x, struct call_args *args)
{
	args->data = xdr_get_opaque(x, STUB_DATA);
}

static void
get_n(struct xdr_in *x, struct call_args *args)
{
	args->n = xdr_get_u32(x);
}

static void
put_res(struct xdr_out *x, const struct call_res *res)
{
	uint32_t i;

	for (i = 0; i < res->nwords; i++)
		xdr_put_u32(x, res->words[i]);
	if (res->has_data)
		xdr_put_opaque(x, res->data.data, res->data.len);
}

static void
put_overflow(struct xdr_out *x, const struct call_res *res UNUSED)
{
	while (!x->failed)
		xdr_put_u32(x, 0xdeadbeef);
}

static void
run_echo(struct call_ctx *ctx UNUSED, const struct call_args *args,
    struct call_res *res)
{
	res->data = args->data;
	res->has_data = true;
}

static void
run_length(struct call_ctx *ctx UNUSED, const struct call_args *args,
    struct call_res *res)
{
	res->words[0] = (uint32_t)args->data.len;
	res->nwords = 1;
}

static void
run_count(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	ctx->call->deny = stub_deny;
	res->words[0] = ++stub_executed;
	res->nwords = 1;
}

static void
run_bytes(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	uint8_t *at = ctx->call->room + 4; /* behind the length */
	uint32_t i;

	res->has_data = true;
	if (ctx->call->room_len < 4 || args->n > ctx->call->room_len - 4) {
		res->data.len = args->n; /* cannot be encoded */
		res->data.data = at;
		return;
	}
	for (i = 0; i < args->n; i++)
		at[i] = (uint8_t)(i * 31);
	res->data.data = at;
	res->data.len = args->n;
}

static void
run_late_bytes(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	if (ctx->call->may_block) {
		run_bytes(ctx, args, res);
		stub_late++;
		return;
	}
	ctx->call->deferred = true;
	ctx->call->reply_size = args->n;
}

static void
run_wait(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	if (!ctx->call->may_block) {
		ctx->call->deferred = true;
		return;
	}
	if (ctx->call->thread != 0)
		wait_for_ticket();
	res->words[0] = ctx->call->thread;
	res->nwords = 1;
}

static void
run_slow_count(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	run_wait(ctx, args, res);
	if (!ctx->call->deferred)
		run_count(ctx, args, res);
}

static int
run_stub_errand(struct rpc_errand *e UNUSED, unsigned int thread)
{
	if (thread != 0)
		wait_for_ticket();
	return stub_errand_result;
}

static void
run_errand(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	struct rpc_call *call = ctx->call;

	if (!call->may_block) {
		call->deferred = true;
		call->turn = RPC_TURN_SHORT;
		return;
	}
	run_count(ctx, args, res);
	call->errands[call->nerrands++] =
	    (struct rpc_errand){ .run = run_stub_errand,
		    .object = &stub_executed };
}

static void
settle(struct call_ctx *ctx, struct call_res *res)
{
	if (ctx->call->errands[0].result != 0)
		res->words[0] = (uint32_t)ctx->call->errands[0].result;
}

static void
run_work(struct call_ctx *ctx UNUSED, const struct call_args *args UNUSED,
    struct call_res *res)
{
	static uint32_t calls; /* of the event loop */
	uint64_t start = clock_ns();

	while (clock_ns() - start < STUB_WORK_NS)
		;
	res->words[0] = ++calls;
	res->nwords = 1;
}

static void
run_who(struct call_ctx *ctx, const struct call_args *args UNUSED,
    struct call_res *res)
{
	const struct rpc_peer *peer = ctx->call->peer;

	res->words[0] = peer->kind;
	res->words[1] = peer->from.port;
	res->words[2] = peer->uid;
	res->words[3] = (uint32_t)peer->id;
	memcpy(&res->words[4], peer->to.bytes, 4);
	res->words[4] = ntohl(res->words[4]);
	res->words[5] = peer->to.port;
	res->nwords = 6;
}

/* clang-format off */
static const struct rpc_proc procs[STUB_NPROCS] = {
	[STUB_NULL] = { "NULL", rpc_get_void, rpc_run_void, rpc_put_void, 0 },
	[STUB_ECHO] = { "ECHO", get_data, run_echo, put_res, 0 },
	[STUB_COUNT] = { "COUNT", get_n, run_count, put_res, RPC_CACHED },
	[STUB_BYTES] = { "BYTES", get_n, run_bytes, put_res, 0 },
	[STUB_OVERFLOW] = { "OVERFLOW", rpc_get_void, rpc_run_void, put_overflow, 0 },
	[STUB_WAIT] = { "WAIT", rpc_get_void, run_wait, put_res, 0 },
	[STUB_WHO] = { "WHO", rpc_get_void, run_who, put_res, 0 },
	[STUB_LENGTH] = { "LENGTH", get_data, run_length, put_res, 0 },
	[STUB_LATE_BYTES] = { "LATE_BYTES", get_n, run_late_bytes, put_res, 0 },
	[STUB_WORK] = { "WORK", rpc_get_void, run_work, put_res, 0 },
	[STUB_ERRAND] = { "ERRAND", get_n, run_errand, put_res, RPC_CACHED },
	[STUB_SLOW_COUNT] = { "SLOW_COUNT", get_n, run_slow_count, put_res, RPC_CACHED },
};
/* clang-format on */

static const struct rpc_vers versions[] = {
	{ .vers = 2, .nprocs = STUB_NPROCS, .procs = procs },
	{ .vers = 4, .nprocs = 1, .procs = procs },
};

const struct rpc_prog stub_prog = { "stub", STUB_PROG, nitems(versions),
	versions };
const struct rpc_prog *const stub_progs[] = { &stub_prog };

static enum rpc_auth_stat
begin(void *arg UNUSED, struct call_ctx *ctx, struct rpc_call *call)
{
	ctx->call = call;
	if (call->thread == 0) {
		stub_begun++;
		stub_joined += call->started_ns == stub_last_ns;
	}
	return stub_auth;
}

static void
end(void *arg UNUSED, struct call_ctx *ctx UNUSED, const struct rpc_call *call,
    const struct call_res *res UNUSED)
{
	stub_ended++;
	stub_last_ns = call->ended_ns;
}

const struct rpc_hooks stub_hooks = { .ctx_size = sizeof(struct call_ctx),
	.args_size = sizeof(struct call_args),
	.res_size = sizeof(struct call_res),
	.begin = begin,
	.settle = settle,
	.end = end };

struct stub_inside {
	pthread_t thread;
	struct event_base *base;
	struct rpc_server *server;
	struct reply_cache *cache;
	struct rpc_pool *pool;
	struct rpc_udp *udp;
	struct rpc_streams *streams;
	struct rpc_tcp *tcp, *local;
	struct event *tick;
	pthread_mutex_t lock;
	pthread_cond_t counted;
	unsigned int closed, connections;
	unsigned int counts; /* how often connections were counted */
	bool stop;
};

static void
on_closed(void *arg, uint64_t id UNUSED)
{
	struct stub_inside *in = arg;

	pthread_mutex_lock(&in->lock);
	in->closed++;
	pthread_mutex_unlock(&in->lock);
}

static int
bound(int family, int type, void *sa, socklen_t len, uint16_t *port)
{
	struct sockaddr_in sin;
	int fd;

	fd = socket(family, type | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, sa, len) == -1)
		err(1, "stub: bind");
	if (type == SOCK_STREAM && listen(fd, 1024) == -1)
		err(1, "stub: listen");
	if (port != NULL) {
		len = sizeof(sin);
		if (getsockname(fd, (struct sockaddr *)&sin, &len) == -1)
			err(1, "stub: getsockname");
		*port = ntohs(sin.sin_port);
	}
	return fd;
}

/* The loop is stopped by a flag; counters are published here too. */
static void
on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct stub_inside *in = arg;

	pthread_mutex_lock(&in->lock);
	in->connections =
	    rpc_tcp_connections(in->tcp) + rpc_tcp_connections(in->local);
	in->counts++;
	pthread_cond_broadcast(&in->counted);
	if (in->stop && rpc_server_in_flight(in->server) == 0)
		event_base_loopbreak(in->base);
	pthread_mutex_unlock(&in->lock);
}

static void *
loop(void *arg)
{
	struct stub_inside *in = arg;

	event_base_dispatch(in->base);
	return NULL;
}

static void
make_sockets(struct stub_server *s)
{
	struct stub_inside *in = s->inside;
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	fd = bound(AF_INET, SOCK_DGRAM, &sin, sizeof(sin), &s->udp_port);
	in->udp = rpc_udp_new(in->base, in->server, fd, &s->limits);
	fd = bound(AF_INET, SOCK_STREAM, &sin, sizeof(sin), &s->tcp_port);
	if (s->sockbuf != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &s->sockbuf,
		    sizeof(s->sockbuf));
	in->streams = rpc_streams_new(in->base);
	in->tcp =
	    rpc_tcp_new(in->streams, in->server, fd, &s->limits, on_closed, in);
	rpc_tcp_on_shortage(in->tcp, s->make_room, NULL);
	snprintf(s->path, sizeof(s->path), "/tmp/stub.%d.sock", (int)getpid());
	unlink(s->path);
	memcpy(un.sun_path, s->path, sizeof(s->path));
	fd = bound(AF_UNIX, SOCK_STREAM, &un, sizeof(un), NULL);
	in->local =
	    rpc_tcp_new(in->streams, in->server, fd, &s->limits, on_closed, in);
}

void
stub_start(struct stub_server *s)
{
	static const struct timeval often = { 0, 5000 };
	struct stub_inside *in;

	in = calloc(1, sizeof(*in));
	if (in == NULL)
		err(1, "stub");
	s->inside = in;
	pthread_mutex_init(&in->lock, NULL);
	pthread_cond_init(&in->counted, NULL);
	in->base = event_base_new();
	in->server = rpc_server_new(stub_progs, 1, &stub_hooks);
	if (s->cache != 0)
		rpc_server_set_cache(in->server,
		    in->cache = reply_cache_new(s->cache, NULL, NULL));
	if (s->threads != 0)
		rpc_server_set_pool(in->server,
		    in->pool = rpc_pool_new(in->base, s->threads, s->queue,
			NULL, NULL));
	make_sockets(s);
	in->tick = event_new(in->base, -1, EV_PERSIST, on_tick, in);
	event_add(in->tick, &often);
	if (pthread_create(&in->thread, NULL, loop, in) != 0)
		errx(1, "stub: thread");
}

void
stub_stop(struct stub_server *s)
{
	struct stub_inside *in = s->inside;

	pthread_mutex_lock(&in->lock);
	in->stop = true;
	pthread_mutex_unlock(&in->lock);
	pthread_join(in->thread, NULL);
	rpc_pool_free(in->pool);
	rpc_udp_free(in->udp);
	rpc_tcp_free(in->tcp);
	rpc_tcp_free(in->local);
	rpc_streams_free(in->streams);
	event_free(in->tick);
	rpc_server_free(in->server);
	reply_cache_free(in->cache);
	event_base_free(in->base);
	unlink(s->path);
	free(in);
}

unsigned int
stub_closed(const struct stub_server *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->inside->lock);
	n = s->inside->closed;
	pthread_mutex_unlock(&s->inside->lock);
	return n;
}

unsigned int
stub_connections(const struct stub_server *s)
{
	struct stub_inside *in = s->inside;
	unsigned int before, n;

	pthread_mutex_lock(&in->lock);
	for (before = in->counts; in->counts == before;)
		pthread_cond_wait(&in->counted, &in->lock);
	n = in->connections;
	pthread_mutex_unlock(&in->lock);
	return n;
}

/* from: the own address; NULL: any. */
static int
connected(int type, uint16_t port, int sockbuf, const char *from)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in own = { .sin_family = AF_INET };
	int fd;

	sin.sin_port = htons(port);
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (from != NULL &&
	    (inet_pton(AF_INET, from, &own.sin_addr) != 1 ||
		bind(fd, (struct sockaddr *)&own, sizeof(own)) == -1))
		err(1, "stub: %s", from);
	if (sockbuf != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sockbuf,
		    sizeof(sockbuf));
	if (fd == -1 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == -1)
		err(1, "stub: connect");
	return fd;
}

int
stub_udp(const struct stub_server *s)
{
	return connected(SOCK_DGRAM, s->udp_port, 0, NULL);
}

int
stub_tcp(const struct stub_server *s)
{
	return connected(SOCK_STREAM, s->tcp_port, s->sockbuf, NULL);
}

int
stub_tcp_from(const struct stub_server *s, const char *from)
{
	return connected(SOCK_STREAM, s->tcp_port, s->sockbuf, from);
}

int
stub_unix(const struct stub_server *s)
{
	int fd;

	fd = rpc_client_unix(s->path);
	if (fd == -1)
		err(1, "stub: connect");
	return fd;
}

int64_t
stub_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int
stub_call(int fd, bool stream, enum stub_proc proc, const void *args,
    size_t len, uint32_t *out, size_t max, const char **why)
{
	struct rpc_target t = { .fd = fd,
		.stream = stream,
		.prog = STUB_PROG,
		.vers = 2,
		.timeout_ms = 5000 * TEST_SLACK };
	uint8_t *buf;
	struct xdr_in x;
	int n;

	buf = malloc(STUB_DATA + 4096);
	n = -1;
	if (buf == NULL)
		err(1, "stub: reply");
	*why = rpc_client_call(&t, proc, args, len, buf, STUB_DATA + 4096, &x);
	if (*why == NULL) {
		n = (int)(x.left / 4);
		while (max-- > 0 && x.left > 0)
			*out++ = xdr_get_u32(&x);
	}
	free(buf);
	return n;
}

size_t
stub_message(uint8_t *buf, size_t size, uint32_t xid, enum stub_proc proc,
    const void *args, size_t len)
{
	struct rpc_head head = {
		.xid = xid, .prog = STUB_PROG, .vers = 2, .proc = proc
	};
	struct xdr_out x;

	xdr_out_init(&x, buf, size);
	rpc_put_call(&x, &head, NULL);
	xdr_put_fixed(&x, args, len);
	return x.failed ? 0 : x.len;
}

void
stub_mark(uint8_t out[4], size_t len, bool last)
{
	uint32_t mark;

	mark = htonl((uint32_t)len | (last ? 0x80000000u : 0));
	memcpy(out, &mark, 4);
}
