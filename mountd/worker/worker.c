/* SPDX-License-Identifier: ISC */
/*
 * The worker: the only process of mountd that reads the network. It gets the
 * exports from the parent and answers clients. It asks the parent to seal
 * handles of files that it has opened itself.
 * Runs in: mountd worker.
 */
#include <sys/syscall.h>

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/meter.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "mountd/mount.h"
#include "mountd/mount_walk.h"
#include "mountd/mountd.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"
#include "process/listen.h"
#include "process/role_exports.h"
#include "tally/tally.h"
#include "pool/pool.h"
#include "rpc/server.h"

#define QUEUE_MAX 64 /* calls that wait for a file thread */

struct worker {
	struct role *role;
	struct proofs proofs;
	struct event_base *base;
	struct mount_state state;
	struct mountd_setup setup;
	struct role_exports incoming;
	struct mountd_handles handles[EXPORTS_MAX]; /* of the next list */
	struct listen_set sockets;
	struct rpc_server *server;
	struct rpc_pool *pool;
	struct rpc_streams *streams;
	struct rpc_udp *udp[LISTEN_SOCKETS_MAX];
	struct rpc_tcp *tcp[LISTEN_SOCKETS_MAX];
	struct event *on_drained;
	pthread_mutex_t sealing; /* one question to the parent at a time */
};

/* clang-format off */
static const struct sandbox_call permitted[] = {
	{ SYS_openat,       false, "open below an export" },
	{ SYS_pread64,      false, "read new exports" },
	{ SYS_recvmsg,      false, "messages from the parent" },
	{ SYS_sendmsg,      false, "messages to the parent" },
	{ SYS_statx,        false, "type and mount of a file" },
};

static const struct sandbox_rule rules[] = {
	{ SYS_openat, 2, SANDBOX_NOT, MOUNT_WALK_OPEN, "no file is read, no link followed" },
};
/* clang-format on */

/* Landlock permits no path: the worker opens only O_PATH descriptors. */
static const struct sandbox_policy policy = {
	.role = "worker",
	.calls = permitted,
	.ncalls = nitems(permitted),
	.serves = true,
	.dies_with_parent = true,
	.rules = rules,
	.nrules = nitems(rules),
};

static bool
ask_seal(void *arg, const struct export *e, enum export_names names, int fd,
    const char *below, struct fh *fh)
{
	struct worker *w = arg;
	struct mountd_seal ask = { .export_id = e->id,
		.utf16 = names == NAMES_UTF16LE };
	struct mountd_sealed answer = { .good = false };
	int channel = w->role->fds[MOUNTD_FD_SEAL];
	uint32_t type = MOUNTD_MESSAGES;

	if (strlcpy(ask.below, below, sizeof(ask.below)) >= sizeof(ask.below))
		return false;
	pthread_mutex_lock(&w->sealing);
	if (ipc_send(channel, MOUNTD_SEAL, &ask, sizeof(ask), &fd, 1) == -1 ||
	    ipc_receive(channel, &type, &answer, sizeof(answer), NULL, NULL) !=
		(ssize_t)sizeof(answer) ||
	    type != MOUNTD_SEALED)
		fatal("parent: no answer on the handle channel");
	pthread_mutex_unlock(&w->sealing);
	if (answer.good)
		*fh = answer.fh;
	return answer.good;
}

static void
on_handles(void *arg, struct ipc_message *m)
{
	struct worker *w = role_exports_arg(arg);
	struct mountd_handles in;

	memcpy(&in, m->data, sizeof(in));
	if (in.index >= EXPORTS_MAX)
		fatalx("parent: handles of an export beyond the limit");
	w->handles[in.index] = in;
}

static void
serve_list(void *arg, const struct role_list *list)
{
	struct worker *w = arg;
	struct served_exports *x =
	    mount_table_new(list->conf, list->roots, w->handles);

	if (x == NULL)
		fatalx("exports: out of memory");
	memset(w->handles, 0, sizeof(w->handles));
	w->state.tally->exports = list->conf->n;
	active_swap(&w->state.active, x);
}

static void
on_stats(void *arg, struct ipc_message *m UNUSED)
{
	struct worker *w = role_exports_arg(arg);

	log_info("statistics: %zu exports, %zu mounts listed, %llu granted, "
		 "%llu refused",
	    w->state.active.list->n, mount_list_count(w->state.list),
	    (unsigned long long)w->state.tally->granted,
	    (unsigned long long)w->state.tally->refused);
}

static void
end_when_drained(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;

	if (rpc_server_in_flight(w->server) == 0)
		_exit(0);
}

/* Accepts no more connections and exits when every call is answered. */
static void
on_stop(void *arg, struct ipc_message *m UNUSED)
{
	const struct timeval soon = { .tv_usec = 20000 };
	struct worker *w = role_exports_arg(arg);
	size_t i;

	for (i = 0; i < w->sockets.n; i++) {
		if (w->tcp[i] != NULL)
			rpc_tcp_stop_accepting(w->tcp[i]);
	}
	w->on_drained = event_new(w->base, -1, EV_PERSIST, end_when_drained, w);
	if (w->on_drained == NULL || event_add(w->on_drained, &soon) == -1)
		_exit(0);
}

/* clang-format off */
static const struct ipc_row rows[MOUNTD_MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct mountd_setup),
	[MOUNTD_HANDLES] = { "handles", sizeof(struct mountd_handles), sizeof(struct mountd_handles), 0, 0, on_handles },
	[MOUNTD_STATS]   = { "stats",   0, 0, 0, 0, on_stats },
	[MOUNTD_STOP]    = { "stop",    0, 0, 0, 0, on_stop },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
on_message(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct worker *w = arg;

	role_exports_receive(&w->incoming, &messages);
}

static void
enter_sandbox(struct worker *w, struct sandbox *box)
{
	const struct exports *ex = w->state.active.list->conf;
	struct jail_view view;

	jail_enter(&view, w->role->fds[MOUNTD_FD_JAIL]);
	jail_name_root(&view, ex->n == 1 ? ex->list[0].path : NULL);
	sandbox_begin(box, &policy, w->setup.strict);
	sandbox_set_root(box, view.mounts, view.root);
	daemon_drop(w->setup.uid, w->setup.gid);
	sandbox_enter(box);
}

static void
listen_to_all(struct worker *w)
{
	const int *fds = w->role->fds + MOUNTD_FD_SOCKETS;
	const struct rpc_limits *l = &w->setup.limits;
	struct event *ev;
	size_t i;

	if (listen_from(&w->sockets, fds, w->role->nfds - MOUNTD_FD_SOCKETS) ==
	    -1)
		fatalx("an inherited descriptor is not a listening socket");
	w->streams = rpc_streams_new(w->base);
	hash_key_random(&w->proofs.key);
	rpc_streams_prove(w->streams, &w->proofs);
	for (i = 0; i < w->sockets.n; i++) {
		if (!w->sockets.list[i].udp) {
			w->tcp[i] = rpc_tcp_new(w->streams, w->server,
			    w->sockets.list[i].fd, l, NULL, NULL);
			continue;
		}
		w->udp[i] =
		    rpc_udp_new(w->base, w->server, w->sockets.list[i].fd, l);
		rpc_udp_prove(w->udp[i], &w->proofs);
	}
	ev = event_new(w->base, w->role->channel, EV_READ | EV_PERSIST,
	    on_message, w);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatalx("event: out of memory");
}

/* Receives what a worker needs before it can serve. */
static void
learn(struct worker *w)
{
	w->incoming.channel = w->role->channel;
	w->incoming.setup = &w->setup;
	w->incoming.serve = serve_list;
	w->incoming.arg = w;
	active_init(&w->state.active);
	while (!w->incoming.has_setup || w->state.active.list == NULL)
		role_exports_receive(&w->incoming, &messages);
}

static void
make_state(struct worker *w)
{
	w->state.export_all = w->setup.export_all;
	w->state.dump_all = w->setup.dump_all;
	w->state.seal = ask_seal;
	w->state.seal_arg = w;
	w->state.list = mount_list_new();
	if (w->state.list == NULL || pthread_mutex_init(&w->sealing, NULL) != 0)
		fatalx("out of memory");
}

int
mountd_worker(struct role *role)
{
	static const struct rpc_prog *const progs[] = { &mount_prog };
	static struct worker w;
	const struct rpc_hooks hooks = mount_hooks(&w.state);
	struct sandbox box;

	if (role->nfds < MOUNTD_FD_SOCKETS)
		fatalx("parent: too few descriptors");
	/* One heap: malloc reads /proc to shrink another arena. */
	(void)mallopt(M_ARENA_MAX, 1);
	w.role = role;
	w.state.tally = tally_map(role->fds[MOUNTD_FD_TALLY]);
	learn(&w);
	make_state(&w);
	enter_sandbox(&w, &box);
	w.base = daemon_events();
	w.server = rpc_server_new(progs, nitems(progs), &hooks);
	w.pool = rpc_pool_new(w.base, MOUNT_THREADS, QUEUE_MAX, NULL, NULL);
	rpc_server_set_pool(w.server, w.pool);
	listen_to_all(&w);
	sandbox_seal(&box);
	if (ipc_send(role->channel, MOUNTD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	(void)event_base_dispatch(w.base);
	return 1;
}
