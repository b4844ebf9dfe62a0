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
#include "nfsd/ops/audit.h"
#include "nfsd/ops/ops.h"
#include "nfsd/ops/ops_util.h"
#include "nfsd/ops/subject.h"
#include "nfsd/broker/broker.h"
#include "nfsd/door/batch.h"
#include "nfsd/door/setup.h"
#include "nfsd/nfsd.h"
#include "nfsd/roles/descriptors.h"
#include "nfsd/stats.h"
#include "nfsd/worker/worker_check.h"
#include "nfsd/worker/worker_tls.h"
#include "nfsd/worker/worker_usage.h"
#include "nfsd/worker/worker_policy.h"
#include "process/listen.h"
#include "process/role_exports.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"
#include "transport/give.h"

#define QUEUE_MAX   4096 /* calls of file threads */
#define NOTES_SHARE 16 /* handle cache: 1/16 of the machine's memory */
#define NOTES_MAX   (128u << 20) /* bytes, for all workers together */
#define DRAIN_MS    20 /* interval of drain() */

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
	void *replies_memory; /* its successor inherits it */
	struct rpc_streams *streams;
	struct rpc_tcp *tcp[LISTEN_SOCKETS_MAX];
	struct stats *stats;
	struct worker_tls tls;
	struct worker_usage usage;
	struct worker_checks checks;
	struct audit audit;
	struct nfsd_shared *shared;
	uint64_t late;
	size_t descriptors; /* for files and connections */
	struct event *on_parent, *on_second, *on_drain;
	unsigned int drained_ms;
};

static enum rpc_auth_stat
worker_begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	struct worker *w = arg;

	ctx->call = call;
	ctx->limits = call->vers->vers == 3 ? &nfs3_limits : &nfs2_limits;
	ctx->thread = door_thread(w->door, call->thread);
	ctx->scratch = w->scratch[call->thread];
	ctx->audit = &w->audit;
	return AUTH_OK;
}

/*
 * What is refused because its export has left the jail is tried again: by then
 * the worker has the new list.
 */
static void
worker_ran(struct call_ctx *ctx, struct call_res *res)
{
	if (res->status == NFSERR_ACCES && door_has_left(ctx))
		res->status = NFSERR_JUKEBOX;
	audit_call(ctx, res);
}

/* A version that has no status for "try again later" gets no reply. */
static bool
worker_drops(const struct call_ctx *ctx, const struct call_res *res)
{
	return !ctx->limits->jukebox && res->status == NFSERR_JUKEBOX;
}

/* From any thread that runs calls. */
static void
worker_batch(void *arg, unsigned int thread)
{
	struct worker *w = arg;

	door_end_batch(door_thread(w->door, thread));
}

static void
worker_end(void *arg, struct call_ctx *ctx, const struct rpc_call *call,
    const struct call_res *res)
{
	struct worker *w = arg;

	if (call->peer->kind == RPC_SELF)
		return;
	if (call->may_block && w->pool != NULL)
		w->late++;
	worker_usage_count(&w->usage, ctx, call, res);
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
	stats_set(w->stats, STATS_AUDIT_LOST, audit_lost(&w->audit));
	worker_tls_stats(&w->tls, w->stats);
}

static void
each_second(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;
	size_t connections = connections_now(w);

	door_release_idle(w->door);
	/* share_descriptors() keeps connections below w->descriptors. */
	door_set_files(w->door, w->descriptors - connections);
	copy_stats(w, connections);
	audit_tell_lost(&w->audit);
}

static void
worker_serve_list(void *arg, const struct role_list *list)
{
	struct worker *w = arg;
	struct served_exports *x =
	    served_new(list->conf, list->roots, list->subs, list->nsubs);

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

/* An administrator ends the connections of a client. */
static void
on_end(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);
	struct nfsd_ended out = { 0 };
	struct nfsd_end in;

	memcpy(&in, m->data, sizeof(in));
	out.number = in.number;
	if (w->streams != NULL)
		out.ended = rpc_streams_end_host(w->streams, &in.from);
	(void)ipc_send(w->role->channel, NFSD_ENDED, &out, sizeof(out), NULL,
	    0);
}

/*
 * Another worker is busy. This one is alive, and has time. The connections of a move
 * must find descriptors, which are in the reserve.
 */
static void
on_offer(void *arg, struct ipc_message *m UNUSED)
{
	struct worker *w = role_exports_arg(arg);
	struct door_stats d;
	uint32_t wants = 0;

	if (w->streams != NULL && w->on_drain == NULL) {
		door_stats(w->door, &d);
		wants =
		    connections_now(w) + d.files.descriptors <= w->descriptors;
	}
	(void)ipc_send(w->role->channel, NFSD_WANT, &wants, sizeof(wants), NULL,
	    0);
}

static bool
pass_on(void *arg, int fd)
{
	const struct worker *w = arg;

	return ipc_send(w->role->channel, NFSD_GIVEN, NULL, 0, &fd, 1) == 0;
}

/* This worker is busy, and another one is not. */
static void
on_give(void *arg, struct ipc_message *m UNUSED)
{
	struct worker *w = role_exports_arg(arg);

	if (w->streams != NULL && w->on_drain == NULL)
		rpc_streams_give(w->streams, RPC_GIVE_MS, pass_on, w);
}

/* The connection of a worker that is busy. */
static void
on_take(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);
	struct addr from;
	size_t i;

	memcpy(&from, m->data, sizeof(from));
	for (i = 0; i < w->sockets.n && w->tcp[i] == NULL; i++)
		;
	if (i == w->sockets.n || w->on_drain != NULL)
		return;
	rpc_tcp_take(w->tcp[i], m->fds[0], &from);
	m->fds[0] = -1;
}

/* Is this worker healthy? It calls itself. */
static void
on_check(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);

	if (w->server != NULL &&
	    !worker_check(&w->checks, w->server, m->data, m->len))
		fatalx("parent: malformed check");
}

/* The machine has an address no longer: nothing can come from its clients. */
static void
on_address_left(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);
	struct addr at;

	memcpy(&at, m->data, sizeof(at));
	if (w->server != NULL)
		rpc_server_address_left(w->server, &at);
	if (w->streams != NULL)
		(void)rpc_streams_end_local(w->streams, &at);
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
	[NFSD_END]      = { "end",      sizeof(struct nfsd_end), sizeof(struct nfsd_end), 0, 0, on_end },
	[NFSD_STOP]     = { "stop",     0, 0, 0, 0, worker_stop },
	[NFSD_OFFER]    = { "offer",    0, 0, 0, 0, on_offer },
	[NFSD_GIVE]     = { "give",     0, 0, 0, 0, on_give },
	[NFSD_TAKE]     = { "take",     sizeof(struct addr), sizeof(struct addr), 1, 1, on_take },
	[NFSD_CHECK]    = { "check",    sizeof(struct nfsd_check), IPC_MESSAGE_MAX, 0, 0, on_check },
	[NFSD_ADDRESS_LEFT] = { "address left", sizeof(struct addr), sizeof(struct addr), 0, 0, on_address_left },
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

	w->descriptors = descriptors_usable(limit);
	settings->files = setup->files;
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

/* From any thread. A question that finds no room is asked again. */
static void
ask_groups(void *arg, uint32_t uid)
{
	const struct worker *w = arg;

	(void)ipc_send(w->role->channel, NFSD_GROUPS, &uid, sizeof(uid), NULL,
	    0);
}

/* Maps the memory that is shared with the parent and the other workers. */
static void
map_memory(struct worker *w)
{
	w->shared =
	    shm_map(w->role->fds[NFSD_FD_SHARED], sizeof(*w->shared), true);
	w->stats =
	    shm_map(w->role->fds[NFSD_FD_STATS], sizeof(*w->stats), true);
	w->replies_memory = shm_map(w->role->fds[NFSD_FD_REPLIES],
	    reply_cache_memory(NFSD_REPLIES), true);
	if (w->shared == NULL || w->stats == NULL || w->replies_memory == NULL)
		fatal("shared memory");
	door_share_verifier(w->door, &w->shared->verifier);
	door_manage_groups(w->door, groups_map(w->role->fds[NFSD_FD_GROUPS]),
	    ask_groups, w);
	w->usage.stats = w->stats;
	w->usage.watch_until = &w->shared->watch_until;
}

/*
 * Makes a secret that a successor has too, and every server with the same handle
 * key.
 */
static void
derive_secret(const struct worker *w, struct hash_key *secret,
    const char *purpose)
{
	struct fh_subkey key;

	_Static_assert(sizeof(key) == sizeof(*secret), "one is the other");
	fh_subkey_derive(&key, &w->setup.keys.worker, purpose);
	memcpy(secret, &key, sizeof(*secret));
}

/* The other workers have replies of connections that moved, or came again. */
static void
read_siblings(struct worker *w)
{
	const size_t size = reply_cache_memory(NFSD_REPLIES);
	void *memory[NFSD_WORKERS_MAX];
	unsigned int i;
	size_t n = 0;
	int fd;

	for (i = 0; i < NFSD_WORKERS_MAX; i++) {
		fd = w->role->fds[NFSD_FD_SIBLINGS + i];
		if (fd == -1)
			continue;
		memory[n] = shm_map(fd, size, false);
		if (memory[n++] == NULL)
			fatal("shared memory");
		close(fd);
	}
	reply_cache_siblings(w->replies, memory, n);
}

/* Replies of a worker that ended are those of its successor. */
static void
remember_replies(struct worker *w)
{
	struct hash_key secret;
	size_t n;

	derive_secret(w, &w->tls.secret, "tern identities");
	derive_secret(w, &secret, "tern replies");
	w->replies = reply_cache_new(NFSD_REPLIES, w->replies_memory, &secret);
	n = reply_cache_recall(w->replies, clock_ns());
	if (n > 0)
		log_info("knows the replies of %zu calls that the worker "
			 "before it made",
		    n);
	read_siblings(w);
	rpc_server_set_cache(w->server, w->replies);
}

static void
start_serving(struct worker *w)
{
	static const struct rpc_prog *const programs[] = { &nfs_program,
		&nfsacl_program, &rquota_program };
	const struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.args_raw = NFS_ARGS_RAW,
		.begin = worker_begin,
		.drops = worker_drops,
		.batch = worker_batch,
		.settle = ops_settle,
		.ran = worker_ran,
		.end = worker_end,
		.show = ops_show,
		.arg = w };
	const struct timeval second = { .tv_sec = 1 };
	const struct rpc_limits *limits = &w->setup.limits;
	struct listen_socket *s;
	size_t i;

	w->server = rpc_server_new(programs, nitems(programs), &hooks);
	audit_init(&w->audit, w->role->fds[NFSD_FD_AUDIT]);
	remember_replies(w);
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
	rpc_streams_prove(w->streams, &w->shared->proofs);
	for (i = 0; i < w->sockets.n; i++) {
		s = &w->sockets.list[i];
		if (s->udp) {
			rpc_udp_prove(rpc_udp_new(w->base, w->server, s->fd,
					  limits),
			    &w->shared->proofs);
			continue;
		}
		w->tcp[i] = rpc_tcp_new(w->streams, w->server, s->fd, limits,
		    NULL, NULL);
		rpc_tcp_on_shortage(w->tcp[i], give_files, w);
	}
	worker_checks_init(&w->checks, w->base, w->role->channel);
	worker_tls_start(&w->tls, w->base, w->server, w->streams,
	    &w->shared->proven);
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
	if (w.pool != NULL)
		rpc_pool_dispatch(w.pool);
	else
		(void)event_base_dispatch(w.base);
	return 0;
}
