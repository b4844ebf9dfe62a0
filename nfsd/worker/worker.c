/* SPDX-License-Identifier: ISC */
/*
 * A worker: the only kind of process of nfsd that reads the network. One event
 * loop, some file threads, the door. It starts with bound sockets, the exports'
 * root descriptors and one channel to the broker for each thread, and can get
 * nothing else. The policies of worker_policy.c are closed before the first
 * byte is read.
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
#include "nfsd/worker/worker_policy.h"
#include "process/listen.h"
#include "process/role_exports.h"
#include "rpc/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"

#define QUEUE_MAX     4096 /* calls that wait for a file thread */
#define REPLIES	      8192 /* entries of the reply cache */
#define FILES_DEFAULT 32768 /* descriptors kept open */
#define NOTES_SHARE   16 /* of the machine's memory, for handles */
#define NOTES_MAX     (128u << 20) /* bytes: never more for all workers */
#define DRAIN_MS      20 /* how often we look whether all is answered */
#define SPARE_MAX                                                              \
	2048 /* descriptors for everything else, when there are many */

_Static_assert(NFSD_THREADS_MAX == DOOR_THREADS_MAX, "the door knows them all");

static struct worker {
	struct role *role;
	struct nfsd_setup setup;
	struct role_exports incoming;
	struct event_base *base;
	struct door *door;
	struct served_exports *first; /* until the door is there */
	bool has_channels;
	int channels[NFSD_THREADS_MAX + 1];
	struct ops_scratch *scratch[NFSD_THREADS_MAX + 1];
	struct listen_set sockets;
	struct rpc_server *server;
	struct rpc_pool *pool;
	struct reply_cache *replies;
	struct rpc_streams *streams;
	struct rpc_tcp *tcp[LISTEN_SOCKETS_MAX];
	struct stats *stats;
	uint64_t late;
	size_t descriptors; /* for files and connections */
	struct event *on_parent, *on_second, *on_drain;
	unsigned int drained_ms;
} self;

static enum rpc_auth_stat
worker_begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	const struct worker *w = arg;

	ctx->call = call;
	ctx->limits = call->vers->vers == 3 ? &nfs3_limits : &nfs2_limits;
	ctx->thread = door_thread(w->door, call->thread);
	ctx->scratch = w->scratch[call->thread];
	return AUTH_OK;
}

/* Bytes of file data a call moved. */
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
connections_now(void)
{
	size_t i, n = 0;

	for (i = 0; i < self.sockets.n; i++)
		if (self.tcp[i] != NULL)
			n += rpc_tcp_connections(self.tcp[i]);
	return n;
}

/*
 * A connection takes precedence over files that can be opened again. Those left
 * to the janitor may still be open when accept(2) is tried next: then more go.
 */
static bool
give_files(void *arg UNUSED)
{
	return door_give_files(self.door);
}

static void
copy_stats(size_t connections)
{
	const struct reply_cache_stats *r = reply_cache_stats(self.replies);
	struct door_stats d;

	door_stats(self.door, &d);
	stats_set(self.stats, STATS_CONNECTIONS, connections);
	stats_set(self.stats, STATS_IN_FLIGHT,
	    rpc_server_in_flight(self.server));
	stats_set(self.stats, STATS_FILES, d.files.descriptors);
	stats_set(self.stats, STATS_FILE_HITS, d.files.hits);
	stats_set(self.stats, STATS_FILE_MISSES, d.files.misses);
	stats_set(self.stats, STATS_FILE_EVICTIONS, d.files.evictions);
	stats_set(self.stats, STATS_NOTE_HITS, d.notes.hits);
	stats_set(self.stats, STATS_NOTE_MISSES, d.notes.misses);
	stats_set(self.stats, STATS_LISTING_HITS, d.listings.hits);
	stats_set(self.stats, STATS_LISTING_MISSES, d.listings.misses);
	stats_set(self.stats, STATS_REPLY_HITS, r->hits);
	stats_set(self.stats, STATS_REPLY_BUSY, r->busy);
	stats_set(self.stats, STATS_REPLY_MISSES, r->misses);
	stats_set(self.stats, STATS_LATE, self.late);
}

static void
each_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	size_t connections = connections_now();

	door_release_idle(self.door, clock_ns());
	/* share_descriptors() keeps connections below descriptors. */
	door_set_files(self.door, self.descriptors - connections);
	copy_stats(connections);
}

static void
serve_list(void *arg UNUSED, const struct role_list *list)
{
	struct served_exports *x =
	    served_new(list->conf, list->roots, list->subs, list->nsubs, false);

	if (x == NULL)
		fatal("exports");
	if (self.door != NULL)
		door_set_exports(self.door, x);
	else {
		active_done(self.first);
		self.first = x;
	}
}

/* The first channels, or new ones because the broker was started again. */
static void
on_channels(void *arg UNUSED, struct ipc_message *m)
{
	size_t i;

	if (m->nfds != self.setup.threads + 1)
		fatalx("parent: wrong number of channels");
	for (i = 0; i < m->nfds; i++) {
		if (self.door != NULL)
			door_replace_broker(self.door, (unsigned int)i,
			    m->fds[i]);
		else {
			if (self.has_channels)
				close(self.channels[i]);
			self.channels[i] = m->fds[i];
		}
		m->fds[i] = -1;
	}
	self.has_channels = true;
}

/* Ends when every call is answered, or when there is no more time. */
static void
drain(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	self.drained_ms += DRAIN_MS;
	if ((rpc_server_in_flight(self.server) == 0 &&
		rpc_streams_unsent(self.streams) == 0) ||
	    self.drained_ms >= NFSD_STOP_MS - 500)
		event_base_loopexit(self.base, NULL);
}

static void
worker_stop(void *arg UNUSED, struct ipc_message *m UNUSED)
{
	const struct timeval often = { .tv_usec = DRAIN_MS * 1000 };
	size_t i;

	if (self.on_drain != NULL)
		return;
	for (i = 0; i < self.sockets.n; i++)
		if (self.tcp[i] != NULL)
			rpc_tcp_stop_accepting(self.tcp[i]);
	self.on_drain = event_new(self.base, -1, EV_PERSIST, drain, NULL);
	if (self.on_drain == NULL || event_add(self.on_drain, &often) == -1)
		fatalx("event: out of memory");
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct nfsd_setup),
	[NFSD_CHANNELS] = { "channels", sizeof(struct nfsd_channels), sizeof(struct nfsd_channels), 1, NFSD_THREADS_MAX + 1, on_channels },
	[NFSD_STOP]     = { "stop",     0, 0, 0, 0, worker_stop },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
listen_once(void)
{
	role_exports_receive(&self.incoming, &messages);
}

static void
parent_spoke(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	listen_once();
}

static struct event *
watch(int fd, short what, event_callback_fn call, const struct timeval *often)
{
	struct event *event =
	    event_new(self.base, fd, what | EV_PERSIST, call, NULL);

	if (event == NULL || event_add(event, often) == -1)
		fatalx("event: out of memory");
	return event;
}

/*
 * A reserve for everything else; of the rest, files may have what connections
 * do not use. connections_max leaves them half of all, or as many as the option
 * files asks for.
 */
static void
share_descriptors(struct door_settings *settings)
{
	struct nfsd_setup *setup = &self.setup;
	size_t limit = daemon_raise_files(), kept;

	self.descriptors =
	    limit - (limit / 4 < SPARE_MAX ? limit / 4 : SPARE_MAX);
	settings->files = setup->files != 0 ? setup->files : FILES_DEFAULT;
	kept = settings->files < limit / 2 ? settings->files : limit / 2;
	if (settings->files > self.descriptors)
		settings->files = self.descriptors;
	if (setup->limits.connections_max > self.descriptors - kept)
		setup->limits.connections_max =
		    (unsigned int)(self.descriptors - kept);
}

/* A share of the memory there is, which all workers divide. */
static size_t
room_for_notes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t room = 0;

	if (pages > 0 && size > 0)
		room = (uint64_t)pages / NOTES_SHARE * (uint64_t)size;
	if (room > NOTES_MAX)
		room = NOTES_MAX;
	return (size_t)room / self.setup.workers / HANDLE_CACHE_ENTRY;
}

static void
open_door(void)
{
	const struct nfsd_setup *setup = &self.setup;
	struct door_settings settings = { .mode = setup->mode,
		.threads = setup->threads,
		.notes = room_for_notes(),
		.key = setup->keys.worker,
		.mknod = setup->mknod };
	size_t i;

	share_descriptors(&settings);
	self.door = door_new(&settings);
	door_set_exports(self.door, self.first);
	for (i = 0; i <= setup->threads; i++) {
		door_set_broker(self.door, (unsigned int)i,
		    broker_client_new(self.channels[i], NULL));
		self.scratch[i] = malloc(sizeof(*self.scratch[i]));
		if (self.scratch[i] == NULL)
			fatal("scratch");
	}
}

/* The memory shared with the parent and the other workers. */
static void
map_memory(void)
{
	_Atomic uint64_t *verifier;

	verifier =
	    shm_map(self.role->fds[NFSD_FD_VERIFIER], sizeof(*verifier), true);
	self.stats =
	    shm_map(self.role->fds[NFSD_FD_STATS], sizeof(*self.stats), true);
	if (verifier == NULL || self.stats == NULL)
		fatal("shared memory");
	door_share_verifier(verifier);
}

static void
start_serving(void)
{
	static const struct rpc_prog *const programs[] = { &nfs_program };
	const struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.begin = worker_begin,
		.end = worker_end,
		.arg = &self };
	const struct timeval second = { .tv_sec = 1 };
	const struct rpc_limits *limits = &self.setup.limits;
	struct listen_socket *s;
	size_t i;

	self.server = rpc_server_new(programs, nitems(programs), &hooks);
	self.replies = reply_cache_new(REPLIES);
	rpc_server_set_cache(self.server, self.replies);
	door_start_janitor(self.door);
	if (self.setup.threads > 0) {
		self.pool = rpc_pool_new(self.base, self.setup.threads,
		    QUEUE_MAX, NULL, NULL);
		rpc_server_set_pool(self.server, self.pool);
	}
	if (listen_from(&self.sockets, self.role->fds + NFSD_FD_SOCKETS,
		self.role->nfds - NFSD_FD_SOCKETS) == -1)
		fatal("sockets");
	self.streams = rpc_streams_new(self.base);
	for (i = 0; i < self.sockets.n; i++) {
		s = &self.sockets.list[i];
		if (s->udp) {
			(void)rpc_udp_new(self.base, self.server, s->fd,
			    limits);
			continue;
		}
		self.tcp[i] = rpc_tcp_new(self.streams, self.server, s->fd,
		    limits, NULL, NULL);
		rpc_tcp_on_shortage(self.tcp[i], give_files, NULL);
	}
	if (fcntl(self.role->channel, F_SETFL, O_NONBLOCK) == -1)
		fatal("parent");
	self.on_parent = watch(self.role->channel, EV_READ, parent_spoke, NULL);
	self.on_second = watch(-1, 0, each_second, &second);
}

int
nfsd_worker(struct role *role)
{
	const struct nfsd_setup *setup = &self.setup;
	struct worker_policy policy;
	struct jail_view view;
	struct sandbox box;
	const char *only;

	self.role = role;
	self.incoming.channel = role->channel;
	self.incoming.setup = &self.setup;
	self.incoming.serve = serve_list;
	while (!self.incoming.has_setup || self.first == NULL ||
	    !self.has_channels)
		listen_once();
	umask(0);
	self.base = daemon_events();
	open_door();
	map_memory();
	jail_enter(&view, role->fds[NFSD_FD_JAIL]);
	only = self.first->conf->n == 1 ? self.first->conf->list[0].path : NULL;
	jail_name_root(&view, only);
	worker_policy(&policy, setup, &view, self.first);
	sandbox_begin(&box, &policy.policy, setup->strict);
	sandbox_set_root(&box, view.mounts, view.root);
	if (!setup->rootless)
		daemon_drop(setup->uid, setup->gid);
	sandbox_enter(&box);
	start_serving();
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	(void)event_base_dispatch(self.base);
	return 0;
}
