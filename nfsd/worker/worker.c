/* SPDX-License-Identifier: ISC */
/*
 * A worker: the only process of nfsd that reads the network. It has one event
 * loop, some file threads, and the door. It starts with bound sockets, the root
 * descriptors of the exports, and one channel to the broker for each thread. It
 * can obtain nothing else. The sandbox (worker_policy.c) is closed before the
 * first byte is read.
 * Runs in: nfsd worker.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/ops/ops.h"
#include "nfsd/broker/broker.h"
#include "nfsd/door/setup.h"
#include "nfsd/nfsd.h"
#include "nfsd/stats.h"
#include "nfsd/worker/worker_tls.h"
#include "nfsd/worker/worker_policy.h"
#include "process/listen.h"
#include "process/role_exports.h"
#include "rpc/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"

#define QUEUE_MAX     4096 /* calls that wait for a file thread */
#define REPLIES	      8192 /* entries of the reply cache */
#define FILES_DEFAULT 32768 /* descriptors kept open */
#define NOTES_SHARE   16 /* handle cache: 1/16 of the machine's memory */
#define NOTES_MAX     (128u << 20) /* bytes, for all workers together */
#define DRAIN_MS      20 /* interval of drain() */
#define SPARE_MAX                                                              \
	2048 /* at most: descriptors for neither files nor connections */

_Static_assert(NFSD_THREADS_MAX == DOOR_THREADS_MAX,
    "the door has room for every thread");

struct worker {
	struct role *role;
	struct nfsd_setup setup;
	struct role_exports incoming;
	struct worker_policy policy;
	struct event_base *base;
	struct door *door;
	const struct served_exports *exports; /* door's; NULL: none yet */
	bool has_channels;
	struct ops_scratch *scratch[NFSD_THREADS_MAX + 1];
	struct listen_set sockets;
	struct rpc_server *server;
	struct rpc_pool *pool;
	struct reply_cache *replies;
	struct rpc_streams *streams;
	struct rpc_tcp *tcp[LISTEN_SOCKETS_MAX];
	struct stats *stats;
	struct worker_tls tls;
	struct proofs *proofs;
	uint64_t late;
	size_t descriptors; /* for files and connections */
	struct event *on_parent, *on_second, *on_drain;
	unsigned int drained_ms;
};

static enum rpc_auth_stat
worker_begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	const struct worker *w = arg;

	ctx->call = call;
	ctx->limits = call->vers->vers == 3 ? &nfs3_limits : &nfs2_limits;
	ctx->thread = door_thread(w->door, call->thread);
	ctx->scratch = w->scratch[call->thread];
	if (call->thread == 0)
		door_watch(ctx->thread, call->started_ns);
	return AUTH_OK;
}

/* Returns the bytes of file data that a call moved. */
static uint64_t
bytes_of(const struct rpc_call *call, const struct call_res *res)
{
	uint32_t n = call->procnum;
	bool v3 = call->vers->vers == 3;

	if (res->status != NFS_OK)
		return 0;
	if (n == (v3 ? NFSPROC3_READ : NFSPROC2_READ))
		return res->data.data.len;
	return n == (v3 ? NFSPROC3_WRITE : NFSPROC2_WRITE) ?
	    res->written.count :
	    0;
}

static void
worker_end(void *arg, struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	struct worker *w = arg;
	uint64_t now = clock_ns(), ns = now - call->started_ns;
	bool failed = call->outcome != RPC_SUCCESS || res->status != NFS_OK;

	if (call->thread == 0)
		door_note_latency(ctx->thread, now, ns);
	else
		w->late++;
	stats_count(w->stats, call->vers->vers, call->procnum, failed,
	    bytes_of(call, res), ns);
}

static size_t
connections_now(const struct worker *w)
{
	size_t i, n = 0;

	for (i = 0; i < w->sockets.n; i++)
		if (w->tcp[i] != NULL)
			n += rpc_tcp_connections(w->tcp[i]);
	return n;
}

/*
 * Closes cached files, so that a connection gets a descriptor. A file that the
 * janitor closes may still be open at the next accept(2); then more files are
 * closed.
 */
static bool
give_files(void *arg)
{
	struct worker *w = arg;

	return door_give_files(w->door);
}

static void
copy_stats(struct worker *w, size_t connections)
{
	const struct reply_cache_stats *r = reply_cache_stats(w->replies);
	struct door_stats d;

	door_stats(w->door, &d);
	stats_set(w->stats, STATS_CONNECTIONS, connections);
	stats_set(w->stats, STATS_IN_FLIGHT, rpc_server_in_flight(w->server));
	stats_set(w->stats, STATS_FILES, d.files.descriptors);
	stats_set(w->stats, STATS_FILE_HITS, d.files.hits);
	stats_set(w->stats, STATS_FILE_MISSES, d.files.misses);
	stats_set(w->stats, STATS_FILE_EVICTIONS, d.files.evictions);
	stats_set(w->stats, STATS_NOTE_HITS, d.notes.hits);
	stats_set(w->stats, STATS_NOTE_MISSES, d.notes.misses);
	stats_set(w->stats, STATS_LISTING_HITS, d.listings.hits);
	stats_set(w->stats, STATS_LISTING_MISSES, d.listings.misses);
	stats_set(w->stats, STATS_REPLY_HITS, r->hits);
	stats_set(w->stats, STATS_REPLY_BUSY, r->busy);
	stats_set(w->stats, STATS_REPLY_MISSES, r->misses);
	stats_set(w->stats, STATS_LATE, w->late);
	worker_tls_stats(&w->tls, w->stats);
}

static void
each_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;
	size_t connections = connections_now(w);

	door_release_idle(w->door, clock_ns());
	/* share_descriptors() keeps connections below w->descriptors. */
	door_set_files(w->door, w->descriptors - connections);
	copy_stats(w, connections);
}

static void
worker_serve_list(void *arg, const struct role_list *list)
{
	struct worker *w = arg;
	struct served_exports *x = served_new(list->conf, list->roots,
	    list->subs, list->nsubs, SERVED_NO_PROBE);

	if (x == NULL)
		fatal("exports");
	door_set_exports(w->door, x);
	w->exports = x;
}

/*
 * Takes the channels to the broker: the first ones, or new ones after a restart
 * of the broker.
 */
static void
on_channels(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);
	unsigned int i;

	if (m->nfds != w->setup.threads + 1)
		fatalx("parent: wrong number of channels to the broker");
	for (i = 0; i < m->nfds; i++) {
		door_replace_broker(w->door, i, m->fds[i]);
		m->fds[i] = -1;
	}
	w->has_channels = true;
}

/* The tls role of this worker runs, for the first time or again. */
static void
on_tls_channel(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);

	worker_tls_connect(&w->tls, m->fds[0]);
	m->fds[0] = -1;
}

/* Ends the event loop when every call is answered, or when the time is over. */
static void
drain(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;

	w->drained_ms += DRAIN_MS;
	if ((rpc_server_in_flight(w->server) == 0 &&
		rpc_streams_unsent(w->streams) == 0) ||
	    w->drained_ms >= NFSD_STOP_MS - 500)
		event_base_loopexit(w->base, NULL);
}

static void
worker_stop(void *arg, struct ipc_message *m UNUSED)
{
	const struct timeval often = { .tv_usec = DRAIN_MS * 1000 };
	struct worker *w = role_exports_arg(arg);
	size_t i;

	if (w->on_drain != NULL)
		return;
	for (i = 0; i < w->sockets.n; i++)
		if (w->tcp[i] != NULL)
			rpc_tcp_stop_accepting(w->tcp[i]);
	w->on_drain = event_new(w->base, -1, EV_PERSIST, drain, w);
	if (w->on_drain == NULL || event_add(w->on_drain, &often) == -1)
		fatalx("event: out of memory");
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct nfsd_setup),
	[NFSD_CHANNELS] = { "channels", sizeof(struct nfsd_channels), sizeof(struct nfsd_channels), 1, NFSD_THREADS_MAX + 1, on_channels },
	[NFSD_STOP]     = { "stop",     0, 0, 0, 0, worker_stop },
	[NFSD_TLS_CHANNEL] = { "tls channel", 0, 0, 1, 1, on_tls_channel },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
on_message(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;

	role_exports_receive(&w->incoming, &messages);
}

static struct event *
watch(struct worker *w, int fd, short what, event_callback_fn call,
    const struct timeval *often)
{
	struct event *event =
	    event_new(w->base, fd, what | EV_PERSIST, call, w);

	if (event == NULL || event_add(event, often) == -1)
		fatalx("event: out of memory");
	return event;
}

/*
 * Divides the descriptors. A reserve is for neither files nor connections.
 * Files may use what connections do not use. connections_max leaves files half
 * of the limit, or the number given by -o files.
 */
static void
share_descriptors(struct worker *w, struct door_settings *settings)
{
	struct nfsd_setup *setup = &w->setup;
	size_t limit = daemon_raise_files(), kept;

	w->descriptors =
	    limit - (limit / 4 < SPARE_MAX ? limit / 4 : SPARE_MAX);
	settings->files = setup->files != 0 ? setup->files : FILES_DEFAULT;
	kept = settings->files < limit / 2 ? settings->files : limit / 2;
	if (settings->files > w->descriptors)
		settings->files = w->descriptors;
	if (setup->limits.connections_max > w->descriptors - kept)
		setup->limits.connections_max =
		    (unsigned int)(w->descriptors - kept);
}

/*
 * Returns the entries of the handle cache: a share of the memory, divided by
 * the workers.
 */
static size_t
room_for_notes(const struct worker *w)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t room = 0;

	if (pages > 0 && size > 0)
		room = (uint64_t)pages / NOTES_SHARE * (uint64_t)size;
	if (room > NOTES_MAX)
		room = NOTES_MAX;
	return (size_t)room / w->setup.workers / HANDLE_CACHE_ENTRY;
}

/* Makes the door. Its exports and its channels to the broker arrive later. */
static void
open_door(struct worker *w)
{
	const struct nfsd_setup *setup = &w->setup;
	struct door_settings settings = { .mode = setup->mode,
		.threads = setup->threads,
		.notes = room_for_notes(w),
		.key = setup->keys.worker,
		.domain = setup->tls_domain,
		.mknod = setup->mknod };
	unsigned int i;

	share_descriptors(w, &settings);
	w->door = door_new(&settings);
	for (i = 0; i <= setup->threads; i++) {
		door_set_broker(w->door, i, broker_client_new(-1, NULL));
		w->scratch[i] = malloc(sizeof(*w->scratch[i]));
		if (w->scratch[i] == NULL)
			fatal("scratch");
	}
}

/* Maps the memory that is shared with the parent and the other workers. */
static void
map_memory(struct worker *w)
{
	struct nfsd_shared *shared;

	shared = shm_map(w->role->fds[NFSD_FD_SHARED], sizeof(*shared), true);
	w->stats =
	    shm_map(w->role->fds[NFSD_FD_STATS], sizeof(*w->stats), true);
	if (shared == NULL || w->stats == NULL)
		fatal("shared memory");
	w->proofs = &shared->proofs;
	door_share_verifier(w->door, &shared->verifier);
}

static void
start_serving(struct worker *w)
{
	static const struct rpc_prog *const programs[] = { &nfs_program };
	const struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.begin = worker_begin,
		.end = worker_end,
		.arg = w };
	const struct timeval second = { .tv_sec = 1 };
	const struct rpc_limits *limits = &w->setup.limits;
	struct listen_socket *s;
	size_t i;

	w->server = rpc_server_new(programs, nitems(programs), &hooks);
	w->replies = reply_cache_new(REPLIES);
	rpc_server_set_cache(w->server, w->replies);
	door_start_janitor(w->door);
	if (w->setup.threads > 0) {
		w->pool = rpc_pool_new(w->base, w->setup.threads, QUEUE_MAX,
		    NULL, NULL);
		rpc_server_set_pool(w->server, w->pool);
	}
	if (listen_from(&w->sockets, w->role->fds + NFSD_FD_SOCKETS,
		w->role->nfds - NFSD_FD_SOCKETS) == -1)
		fatal("sockets");
	w->streams = rpc_streams_new(w->base);
	rpc_streams_prove(w->streams, w->proofs);
	for (i = 0; i < w->sockets.n; i++) {
		s = &w->sockets.list[i];
		if (s->udp) {
			rpc_udp_prove(rpc_udp_new(w->base, w->server, s->fd,
					  limits),
			    w->proofs);
			continue;
		}
		w->tcp[i] = rpc_tcp_new(w->streams, w->server, s->fd, limits,
		    NULL, NULL);
		rpc_tcp_on_shortage(w->tcp[i], give_files, w);
	}
	worker_tls_start(&w->tls, w->base, w->server, w->streams);
	if (fcntl(w->role->channel, F_SETFL, O_NONBLOCK) == -1)
		fatal("parent");
	w->on_parent = watch(w, w->role->channel, EV_READ, on_message, NULL);
	w->on_second = watch(w, -1, 0, each_second, &second);
}

/* Receives setup, exports and channels. Returns when all have arrived. */
static void
worker_learn(struct worker *w)
{
	w->incoming.channel = w->role->channel;
	w->incoming.setup = &w->setup;
	w->incoming.serve = worker_serve_list;
	w->incoming.arg = w;
	worker_tls_init(&w->tls, w->role->channel, &w->setup.tls);
	while (!w->incoming.has_setup)
		role_exports_receive(&w->incoming, &messages);
	open_door(w);
	while (w->exports == NULL || !w->has_channels)
		role_exports_receive(&w->incoming, &messages);
}

static void
enter_sandbox(struct worker *w, struct sandbox *box)
{
	const struct nfsd_setup *setup = &w->setup;
	const struct exports *ex = w->exports->conf;
	struct jail_view view;

	jail_enter(&view, w->role->fds[NFSD_FD_JAIL]);
	jail_name_root(&view, ex->n == 1 ? ex->list[0].path : NULL);
	worker_policy(&w->policy, setup, &view, w->exports);
	sandbox_begin(box, &w->policy.policy, setup->strict);
	sandbox_set_root(box, view.mounts, view.root);
	if (!setup->rootless)
		daemon_drop(setup->uid, setup->gid);
	if (setup->mode == MODE_SQUASH &&
	    cred_settle(setup->anonuid, setup->anongid) == -1)
		fatal("cannot act as user %u", (unsigned int)setup->anonuid);
	sandbox_enter(box);
}

int
nfsd_worker(struct role *role)
{
	static struct worker w;
	struct sandbox box;

	w.role = role;
	worker_learn(&w);
	(void)umask(0);
	w.base = daemon_events();
	map_memory(&w);
	enter_sandbox(&w, &box);
	start_serving(&w);
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	(void)event_base_dispatch(w.base);
	return 0;
}
