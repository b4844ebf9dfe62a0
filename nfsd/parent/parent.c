/* SPDX-License-Identifier: ISC */
/*
 * The parent: configuration, key, sockets, jail, registration, statistics, and
 * the life of broker and workers. It reads nothing from the network. A message
 * of a role is checked for its size before it is used. The parent keeps the
 * sockets of each worker, so that a restarted worker receives the calls that
 * wait in them.
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
#include "exports/users.h"
#include "nfsd/nfsd.h"
#include "nfsd/parent/stats_socket.h"
#include "nfsd/parent/parent_tls.h"
#include "nfsd/stats.h"
#include "process/listen.h"
#include "process/register.h"
#include "process/reload.h"
#include "process/watch.h"
#include "resolve/names.h"

struct parent {
	struct nfsd *n;
	struct event_base *base;
	struct exports_file file;
	struct jail *jail;
	struct fh_keys keys;
	struct registration *registration;
	struct role_child *broker;
	struct role_spec worker_specs[NFSD_WORKERS_MAX];
	struct role_child *workers[NFSD_WORKERS_MAX];
	struct listen_set sockets[NFSD_WORKERS_MAX];
	struct submounts subs;
	int shared; /* memory that all workers share */
	struct parent_stats stats;
	struct parent_tls tls;
	struct reload reload;
	struct watch watch;
	struct names *names;
	bool serving; /* every role has been ready once */
	struct event *on_patience;
	bool stopping;
};

/* What the exports may demand of a connection. */
static enum peer_security
offers(const struct nfsd *n)
{
	if (n->tls_cert == NULL)
		return PEER_PLAIN;
	return n->tls_ca == NULL ? PEER_TLS : PEER_MTLS;
}

/* Users in certificates need a domain. Says so, and returns false. */
static bool
has_domain(const struct nfsd *n, const struct exports *ex)
{
	if (n->tls_domain != NULL || !exports_wants_users(ex))
		return true;
	log_warnx("%s: certuser is demanded, but nfsd has no -o tls-domain",
	    n->d.exports_file);
	return false;
}

static void
send_exports(const struct parent *p, struct role_child *child)
{
	role_exports_send(child, &p->file, p->jail, &p->subs);
}

/* Makes channels between the broker and a worker, if both run. */
static void
connect_roles(struct parent *p, unsigned int worker)
{
	struct nfsd_channels m = { .worker = worker };
	int pair[2], ours[NFSD_THREADS_MAX + 1], theirs[NFSD_THREADS_MAX + 1];
	unsigned int i, n = p->n->setup.threads + 1;

	if (p->broker == NULL || role_channel(p->broker) == -1 ||
	    p->workers[worker] == NULL ||
	    role_channel(p->workers[worker]) == -1)
		return;
	for (i = 0; i < n; i++) {
		if (ipc_pair(pair) == -1)
			fatal("channel");
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	(void)role_send(p->broker, NFSD_CHANNELS, &m, sizeof(m), ours, n);
	(void)role_send(p->workers[worker], NFSD_CHANNELS, &m, sizeof(m),
	    theirs, n);
	for (i = 0; i < n; i++) {
		close(ours[i]);
		close(theirs[i]);
	}
}

static size_t
broker_inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	const struct parent *p = arg;

	fds[NFSD_FD_JAIL] = jail_fd(p->jail);
	return NFSD_FD_JAIL + 1;
}

static void
broker_started(void *arg, struct role_child *child)
{
	struct parent *p = arg;
	struct nfsd_setup setup = p->n->setup;
	unsigned int i;

	p->broker = child;
	role_becomes(child, setup.uid);
	setup.keys = p->keys;
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	explicit_bzero(&setup.keys, sizeof(setup.keys));
	send_exports(p, child);
	for (i = 0; i < p->n->setup.workers; i++)
		connect_roles(p, i);
}

static size_t
worker_inherit(void *arg, unsigned int index, int fds[ROLE_FDS_MAX])
{
	const struct parent *p = arg;

	fds[NFSD_FD_JAIL] = jail_fd(p->jail);
	fds[NFSD_FD_SHARED] = p->shared;
	fds[NFSD_FD_STATS] = parent_stats_fd(&p->stats, index);
	return NFSD_FD_SOCKETS +
	    listen_fds(&p->sockets[index], fds + NFSD_FD_SOCKETS,
		ROLE_FDS_MAX - NFSD_FD_SOCKETS);
}

static void
worker_started(void *arg, struct role_child *child)
{
	struct parent *p = arg;
	struct nfsd_setup setup = p->n->setup;

	p->workers[role_index(child)] = child;
	role_becomes(child, setup.uid);
	setup.keys.worker = p->keys.worker;
	memset(&setup.keys.broker, 0, sizeof(setup.keys.broker));
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	send_exports(p, child);
	connect_roles(p, role_index(child));
	parent_tls_connect(&p->tls, role_index(child));
}

/*
 * When every role serves: registers and reports READY, at the start and after a
 * reload.
 */
static void
check_roles(struct parent *p)
{
	if (!reload_check(&p->reload) || p->serving)
		return;
	p->serving = true;
	if (p->registration != NULL)
		register_start(p->registration);
	daemon_ready(p->base, &p->n->d);
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
	check_roles(role_arg(arg));
}

static void
on_serves(void *arg, struct ipc_message *m UNUSED)
{
	role_acknowledged(arg);
	check_roles(role_arg(arg));
}

static void
on_bad_worker(void *arg, struct ipc_message *m)
{
	struct parent *p = role_arg(arg);
	struct nfsd_bad bad;

	memcpy(&bad, m->data, sizeof(bad));
	if (bad.worker < p->n->setup.workers)
		role_restart(p->workers[bad.worker],
		    "it sent the broker a forged or malformed "
		    "request and may be compromised");
}

static bool
all_ended(const struct parent *p)
{
	unsigned int i;

	for (i = 0; i < p->n->setup.workers; i++)
		if (!role_has_ended(p->workers[i]))
			return false;
	return true;
}

static void
ended(void *arg, struct role_child *child UNUSED)
{
	struct parent *p = arg;

	if (p->stopping && all_ended(p))
		event_base_loopexit(p->base, NULL);
}

static void
on_bad_tls(void *arg, struct ipc_message *m UNUSED)
{
	struct parent *p = role_arg(arg);

	parent_tls_accuse(&p->tls, role_index(arg));
}

static struct role_child *
worker_of(void *arg, unsigned int worker)
{
	const struct parent *p = arg;

	return p->workers[worker];
}

static void
tls_changed(void *arg)
{
	check_roles(arg);
}

/* clang-format off */
static const struct ipc_row worker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
	[ROLE_PONG]       = { "pong",       0, 0, 0, 0, role_answered },
	[NFSD_BAD_TLS]    = { "bad tls",    0, 0, 0, 0, on_bad_tls },
};

static const struct ipc_row broker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
	[ROLE_PONG]       = { "pong",       0, 0, 0, 0, role_answered },
	[NFSD_BAD_WORKER] = { "bad worker", sizeof(struct nfsd_bad), sizeof(struct nfsd_bad), 0, 0, on_bad_worker },
};
/* clang-format on */

static const struct ipc_table worker_table = { worker_rows,
	nitems(worker_rows) };
static const struct ipc_table broker_table = { broker_rows,
	nitems(broker_rows) };

static void
parent_give_up(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct parent *p = arg;

	log_warnx("stopping: some calls did not finish in time; "
		  "their clients send them again");
	event_base_loopbreak(p->base);
}

static void
stop_workers(void *arg)
{
	struct parent *p = arg;
	unsigned int i;

	for (i = 0; i < p->n->setup.workers; i++) {
		role_expect_end(p->workers[i]);
		(void)role_send(p->workers[i], NFSD_STOP, NULL, 0, NULL, 0);
	}
	if (all_ended(p))
		event_base_loopexit(p->base, NULL);
}

/*
 * Stops the daemon. It unregisters first, so that no client is sent to a dead
 * port.
 */
static void
stop(void *arg)
{
	const struct timeval patience = { .tv_sec = NFSD_STOP_MS / 1000 };
	struct parent *p = arg;

	if (p->stopping)
		return;
	p->stopping = true;
	role_expect_end(p->broker);
	parent_tls_stop(&p->tls);
	p->on_patience = evtimer_new(p->base, parent_give_up, p);
	if (p->on_patience != NULL)
		(void)event_add(p->on_patience, &patience);
	if (p->registration != NULL)
		register_stop(p->registration, stop_workers, p);
	else
		stop_workers(p);
}

static void
restart_all(struct parent *p, const char *why)
{
	unsigned int i;

	role_restart(p->broker, why);
	for (i = 0; i < p->n->setup.workers; i++)
		role_restart(p->workers[i], why);
}

/*
 * Sets the mode for the exports. Returns true if it changed: then the roles
 * must be restarted, since they cannot regain rights.
 */
static bool
choose_mode(struct parent *p)
{
	struct nfsd_setup *s = &p->n->setup, old = *s;

	s->uid = s->anonuid = p->n->d.uid;
	s->gid = s->anongid = p->n->d.gid;
	s->mode =
	    nfsd_mode(p->file.list, s->rootless, &s->anonuid, &s->anongid);
	s->setid = nfsd_setid(p->file.list);
	if (s->mode == old.mode && s->anonuid == old.anonuid &&
	    s->anongid == old.anongid && s->setid == old.setid)
		return false;
	log_info("mode: %s%s (user %u)", nfsd_mode_name(s->mode, s->rootless),
	    s->setid ? ", set-id bits permitted" : "",
	    (unsigned int)s->anonuid);
	return true;
}

static void
send_to_all(struct parent *p)
{
	unsigned int i;

	send_exports(p, p->broker);
	for (i = 0; i < p->n->setup.workers; i++)
		send_exports(p, p->workers[i]);
}

static void
use_exports(struct parent *p)
{
	if (choose_mode(p))
		restart_all(p, "the exports need another mode");
	else if (jail_needs_restart(p->jail))
		restart_all(p, "it cannot reach the new exports");
	else
		send_to_all(p);
}

static void
reload(void *arg)
{
	struct parent *p = arg;

	bool loaded;

	names_begin(p->names);
	loaded = config_reload(&p->file, p->n->d.exports_file, offers(p->n),
	    names_source(p->names), p->jail, &p->subs);
	if (loaded) {
		/* Without it, such clients are refused. */
		(void)has_domain(p->n, p->file.list);
		use_exports(p);
	}
	names_end(p->names, loaded);
	parent_tls_reload(&p->tls);
	reload_wait(&p->reload);
}

/* A host name has another address: the same exports, with it. */
static void
on_names(void *arg)
{
	struct parent *p = arg;

	if (!p->stopping && exports_rebuild(&p->file, names_source(p->names)))
		send_to_all(p);
}

static void
log_stats(void *arg)
{
	const struct parent *p = arg;

	parent_stats_log(&p->stats);
}

static void
prepare_registration(struct parent *p)
{
	if (p->n->d.no_register)
		return;
	p->registration = register_new(p->base, p->n->d.socket);
	register_program(p->registration, &nfs_program, &p->sockets[0]);
}

static void
bind_sockets(struct parent *p)
{
	unsigned int i;

	listen_all(&p->sockets[0], &p->n->d, "nfs 2,3",
	    p->n->setup.workers > 1);
	for (i = 1; i < p->n->setup.workers; i++)
		if (listen_again(&p->sockets[i], &p->sockets[0]) == -1)
			fatal("sockets of worker %u", i);
}

static int
make_shared(void)
{
	struct nfsd_shared *shared = NULL;
	int fd = shm_new(sizeof(*shared));

	if (fd != -1)
		shared = shm_map(fd, sizeof(*shared), true);
	if (shared == NULL)
		fatal("shared memory");
	hash_key_random(&shared->proofs.key);
	return fd;
}

static void
prepare(struct parent *p)
{
	p->names = names_new(on_names, p);
	if (!config_load(&p->file, p->n->d.exports_file, offers(p->n),
		names_source(p->names), false) ||
	    !has_domain(p->n, p->file.list))
		fatal_config("%s: has errors, listed above: correct them",
		    p->n->d.exports_file);
	config_load_key(&p->keys, p->n->d.key_file);
	p->tls.worker = worker_of;
	p->tls.changed = tls_changed;
	p->tls.arg = p;
	parent_tls_prepare(&p->tls, p->n);
	(void)daemon_raise_files();
	bind_sockets(p);
	p->shared = make_shared();
	daemon_detach(&p->n->d);
	p->jail = config_jail(p->file.list, &p->subs, p->n->d.rootless);
	p->n->setup.mounts = jail_has_mounts(p->jail);
	p->n->setup.mode = (enum nfsd_mode) - 1; /* none: logs the first */
	(void)choose_mode(p);
	p->base = daemon_events();
	reload_init(&p->reload, p->base, &p->n->d);
	watch_init(&p->watch, p->base, &p->n->d, &p->reload);
	parent_stats_start(&p->stats, p->base, p->n);
	p->stats.tls_ends = p->tls.ends;
}

static void
start_roles(struct parent *p, const struct role_spec *broker)
{
	unsigned int i;

	p->broker = role_start(p->base, &p->n->d, broker);
	reload_add(&p->reload, p->broker);
	for (i = 0; i < p->n->setup.workers; i++) {
		p->worker_specs[i] = (struct role_spec){ .name = "worker",
			.index = i,
			.inherit = worker_inherit,
			.started = worker_started,
			.ended = ended,
			.messages = &worker_table,
			.arg = p };
		p->workers[i] =
		    role_start(p->base, &p->n->d, &p->worker_specs[i]);
		reload_add(&p->reload, p->workers[i]);
	}
	parent_tls_start(&p->tls, p->base, &p->reload);
}

int
nfsd_parent(struct nfsd *n)
{
	static struct parent p;
	static const struct role_spec broker = { .name = "broker",
		.inherit = broker_inherit,
		.started = broker_started,
		.messages = &broker_table,
		.arg = &p };
	static const struct daemon_signals signals = { stop, reload, log_stats,
		&p };
	unsigned int i;

	p.n = n;
	prepare(&p);
	prepare_registration(&p);
	start_roles(&p, &broker);
	names_start(p.names, p.base, &n->d, &p.watch);
	daemon_signals(p.base, &n->d, &signals);
	(void)event_base_dispatch(p.base);
	register_free(p.registration);
	names_free(p.names);
	for (i = 0; i < n->setup.workers; i++)
		role_free(p.workers[i]);
	role_free(p.broker);
	parent_tls_free(&p.tls);
	watch_free(&p.watch);
	reload_free(&p.reload);
	parent_stats_stop(&p.stats);
	jail_free(p.jail);
	return 0;
}

int
nfsd_check(struct nfsd *n)
{
	struct exports_file file = { .packed = -1 };
	enum nfsd_mode mode;
	uid_t uid = 0;
	gid_t gid = 0;
	bool good;

	if (!config_load(&file, n->d.exports_file, offers(n), NULL, true))
		return 1;
	mode = nfsd_mode(file.list, geteuid() != 0, &uid, &gid);
	log_info("mode: %s%s", nfsd_mode_name(mode, geteuid() != 0),
	    nfsd_setid(file.list) ? ", set-id bits permitted" : "");
	good = has_domain(n, file.list);
	exports_file_clear(&file);
	return parent_tls_check(n) && good ? 0 : 1;
}
