/* SPDX-License-Identifier: ISC */
/*
 * The parent: configuration, key, sockets, jail, registration, statistics, and
 * the life of broker and workers. It reads no byte from the network; what the
 * roles say is checked by size before it is looked at. Each worker has its own
 * set of sockets, kept here, so that a worker that is started again gets what
 * waits in them.
 * Runs in: nfsd parent.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "exports/config.h"
#include "nfsd/nfsd.h"
#include "nfsd/parent/stats_socket.h"
#include "nfsd/stats.h"
#include "process/listen.h"
#include "process/register.h"
#include "process/reload.h"

static struct parent {
	struct nfsd *n;
	struct event_base *base;
	struct exports_file file;
	struct jail *jail;
	struct fh_keys keys;
	struct registration *registration;
	struct role_child *broker;
	struct role_child *workers[NFSD_WORKERS_MAX];
	struct listen_set sockets[NFSD_WORKERS_MAX];
	struct submounts subs;
	int verifier; /* memory the workers share */
	struct parent_stats stats;
	struct reload reload;
	bool serving; /* every role has been, once */
	struct event *on_patience;
	bool stopping;
} self;

static void
send_exports(struct role_child *child)
{
	role_exports_send(child, &self.file, self.jail, &self.subs);
}

/* New channels between the broker and one worker, when both are there. */
static void
connect_roles(unsigned int worker)
{
	struct nfsd_channels m = { .worker = worker };
	int pair[2], ours[NFSD_THREADS_MAX + 1], theirs[NFSD_THREADS_MAX + 1];
	unsigned int i, n = self.n->setup.threads + 1;

	if (self.broker == NULL || role_channel(self.broker) == -1 ||
	    self.workers[worker] == NULL ||
	    role_channel(self.workers[worker]) == -1)
		return;
	for (i = 0; i < n; i++) {
		if (ipc_pair(pair) == -1)
			fatal("channel");
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	(void)role_send(self.broker, NFSD_CHANNELS, &m, sizeof(m), ours, n);
	(void)role_send(self.workers[worker], NFSD_CHANNELS, &m, sizeof(m),
	    theirs, n);
	for (i = 0; i < n; i++) {
		close(ours[i]);
		close(theirs[i]);
	}
}

static size_t
broker_inherit(void *arg UNUSED, unsigned int index UNUSED,
    int fds[ROLE_FDS_MAX])
{
	fds[NFSD_FD_JAIL] = jail_fd(self.jail);
	return NFSD_FD_JAIL + 1;
}

static void
broker_started(void *arg UNUSED, struct role_child *child)
{
	struct nfsd_setup setup = self.n->setup;
	unsigned int i;

	self.broker = child;
	role_becomes(child, setup.uid);
	setup.keys = self.keys;
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	explicit_bzero(&setup.keys, sizeof(setup.keys));
	send_exports(child);
	for (i = 0; i < self.n->setup.workers; i++)
		connect_roles(i);
}

static size_t
worker_inherit(void *arg UNUSED, unsigned int index, int fds[ROLE_FDS_MAX])
{
	fds[NFSD_FD_JAIL] = jail_fd(self.jail);
	fds[NFSD_FD_VERIFIER] = self.verifier;
	fds[NFSD_FD_STATS] = parent_stats_fd(&self.stats, index);
	return NFSD_FD_SOCKETS +
	    listen_fds(&self.sockets[index], fds + NFSD_FD_SOCKETS,
		ROLE_FDS_MAX - NFSD_FD_SOCKETS);
}

static void
worker_started(void *arg UNUSED, struct role_child *child)
{
	struct nfsd_setup setup = self.n->setup;

	self.workers[role_index(child)] = child;
	role_becomes(child, setup.uid);
	setup.keys.worker = self.keys.worker;
	memset(&setup.keys.broker, 0, sizeof(setup.keys.broker));
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	send_exports(child);
	connect_roles(role_index(child));
}

/* Tells the world when every role serves: at the start and after a reload. */
static void
check_roles(void)
{
	if (!reload_check(&self.reload) || self.serving)
		return;
	self.serving = true;
	if (self.registration != NULL)
		register_start(self.registration);
	daemon_ready(self.base, &self.n->d);
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
	check_roles();
}

static void
on_serves(void *arg, struct ipc_message *m UNUSED)
{
	role_acknowledged(arg);
	check_roles();
}

static void
on_bad_worker(void *arg UNUSED, struct ipc_message *m)
{
	struct nfsd_bad bad;

	memcpy(&bad, m->data, sizeof(bad));
	if (bad.worker < self.n->setup.workers)
		role_restart(self.workers[bad.worker],
		    "it broke the broker's rules");
}

static bool
all_ended(void)
{
	unsigned int i;

	for (i = 0; i < self.n->setup.workers; i++)
		if (!role_has_ended(self.workers[i]))
			return false;
	return true;
}

static void
ended(void *arg UNUSED, struct role_child *child UNUSED)
{
	if (self.stopping && all_ended())
		event_base_loopexit(self.base, NULL);
}

/* clang-format off */
static const struct ipc_row worker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
};

static const struct ipc_row broker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
	[NFSD_BAD_WORKER] = { "bad worker", sizeof(struct nfsd_bad), sizeof(struct nfsd_bad), 0, 0, on_bad_worker },
};
/* clang-format on */

static const struct ipc_table worker_table = { worker_rows,
	nitems(worker_rows) };
static const struct ipc_table broker_table = { broker_rows,
	nitems(broker_rows) };

static void
give_up(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	log_warnx("not all calls could be finished in time");
	event_base_loopbreak(self.base);
}

static void
stop_workers(void *arg UNUSED)
{
	unsigned int i;

	for (i = 0; i < self.n->setup.workers; i++) {
		role_expect_end(self.workers[i]);
		(void)role_send(self.workers[i], NFSD_STOP, NULL, 0, NULL, 0);
	}
	if (all_ended())
		event_base_loopexit(self.base, NULL);
}

/* Unregister first: nobody is sent to a port where nobody answers. */
static void
stop(void *arg UNUSED)
{
	const struct timeval patience = { .tv_sec = NFSD_STOP_MS / 1000 };

	if (self.stopping)
		return;
	self.stopping = true;
	role_expect_end(self.broker);
	self.on_patience = evtimer_new(self.base, give_up, NULL);
	if (self.on_patience != NULL)
		(void)event_add(self.on_patience, &patience);
	if (self.registration != NULL)
		register_stop(self.registration, stop_workers, NULL);
	else
		stop_workers(NULL);
}

static void
restart_all(const char *why)
{
	unsigned int i;

	role_restart(self.broker, why);
	for (i = 0; i < self.n->setup.workers; i++)
		role_restart(self.workers[i], why);
}

/* The mode is a matter of rights, which running roles have given up. */
static bool
choose_mode(void)
{
	struct nfsd_setup *s = &self.n->setup, old = *s;

	s->uid = self.n->d.uid;
	s->gid = self.n->d.gid;
	s->mode = nfsd_mode(self.file.list, s->rootless, &s->uid, &s->gid);
	if (s->mode == old.mode && s->uid == old.uid && s->gid == old.gid)
		return false;
	log_info("mode: %s (user %u)", nfsd_mode_name(s->mode, s->rootless),
	    (unsigned int)s->uid);
	return true;
}

static void
use_exports(void)
{
	unsigned int i;

	if (choose_mode())
		restart_all("the exports need another mode");
	else if (jail_needs_restart(self.jail))
		restart_all("it cannot reach the new exports");
	else {
		send_exports(self.broker);
		for (i = 0; i < self.n->setup.workers; i++)
			send_exports(self.workers[i]);
	}
}

static void
reload(void *arg UNUSED)
{
	if (config_reload(&self.file, self.n->d.exports_file, self.jail,
		&self.subs))
		use_exports();
	reload_wait(&self.reload);
}

static void
log_stats(void *arg UNUSED)
{
	parent_stats_log(&self.stats);
}

static void
prepare_registration(void)
{
	if (self.n->d.no_register)
		return;
	self.registration = register_new(self.base, self.n->d.socket);
	register_program(self.registration, &nfs_program, &self.sockets[0]);
}

static void
bind_sockets(void)
{
	unsigned int i;

	listen_all(&self.sockets[0], &self.n->d, "nfs 2,3",
	    self.n->setup.workers > 1);
	for (i = 1; i < self.n->setup.workers; i++)
		if (listen_again(&self.sockets[i], &self.sockets[0]) == -1)
			fatal("sockets of worker %u", i);
}

static void
prepare(void)
{
	if (!config_load(&self.file, self.n->d.exports_file, false))
		fatalx("%s: not usable, see above", self.n->d.exports_file);
	config_load_key(&self.keys, self.n->d.key_file);
	(void)daemon_raise_files();
	bind_sockets();
	self.verifier = shm_new(sizeof(uint64_t));
	if (self.verifier == -1)
		fatal("shared memory");
	daemon_detach(&self.n->d);
	self.jail = config_jail(self.file.list, &self.subs, self.n->d.rootless);
	self.n->setup.mode = (enum nfsd_mode) - 1; /* so that it is said */
	(void)choose_mode();
	self.base = daemon_events();
	reload_init(&self.reload, self.base);
	parent_stats_start(&self.stats, self.base, self.n);
}

int
nfsd_parent(struct nfsd *n)
{
	static const struct role_spec broker = { .name = "broker",
		.inherit = broker_inherit,
		.started = broker_started,
		.messages = &broker_table };
	static struct role_spec workers[NFSD_WORKERS_MAX];
	static const struct daemon_signals signals = { stop, reload, log_stats,
		NULL };
	unsigned int i;

	self.n = n;
	prepare();
	prepare_registration();
	self.broker = role_start(self.base, &broker);
	reload_add(&self.reload, self.broker);
	for (i = 0; i < self.n->setup.workers; i++) {
		workers[i] = (struct role_spec){ .name = "worker",
			.index = i,
			.inherit = worker_inherit,
			.started = worker_started,
			.ended = ended,
			.messages = &worker_table };
		self.workers[i] = role_start(self.base, &workers[i]);
		reload_add(&self.reload, self.workers[i]);
	}
	daemon_signals(self.base, &signals);
	(void)event_base_dispatch(self.base);
	register_free(self.registration);
	for (i = 0; i < self.n->setup.workers; i++)
		role_free(self.workers[i]);
	role_free(self.broker);
	reload_free(&self.reload);
	parent_stats_stop(&self.stats);
	jail_free(self.jail);
	return 0;
}

int
nfsd_check(struct nfsd *n)
{
	struct exports_file file = { .packed = -1 };
	enum nfsd_mode mode;
	uid_t uid = 0;
	gid_t gid = 0;

	if (!config_load(&file, n->d.exports_file, true))
		return 1;
	mode = nfsd_mode(file.list, geteuid() != 0, &uid, &gid);
	log_info("mode: %s", nfsd_mode_name(mode, geteuid() != 0));
	exports_file_clear(&file);
	return 0;
}
