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
#include "base/util.h"
#include "confine/jail.h"
#include "exports/config.h"
#include "exports/users.h"
#include "nfsd/nfsd.h"
#include "nfsd/place/place.h"
#include "nfsd/roles/descriptors.h"
#include "nfsd/parent/addresses.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/parent_audit.h"
#include "nfsd/parent/parent_health.h"
#include "nfsd/parent/parent_groups.h"
#include "nfsd/parent/parent_live.h"
#include "nfsd/parent/parent_locks.h"
#include "nfsd/parent/parent_memory.h"
#include "nfsd/parent/parent_metrics.h"
#include "nfsd/parent/parent_stats.h"
#include "nfsd/parent/parent_tls.h"
#include "nfsd/stats.h"
#include "nfsd/wire/acl.h"
#include "nfsd/wire/quota.h"
#include "process/listen.h"
#include "mounts/mounts.h"
#include "process/register.h"
#include "process/reload.h"
#include "process/watch.h"
#include "resolve/names.h"
#include "resolve/resolver.h"

struct parent {
	struct nfsd *n;
	struct config conf;
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
	struct parent_memory memory;
	struct control *control;
	struct parent_stats stats;
	struct parent_live live;
	struct parent_health health;
	struct addresses addresses;
	struct parent_audit audit;
	struct parent_metrics metrics;
	struct parent_tls tls;
	struct parent_locks locks;
	struct reload reload;
	struct watch watch;
	struct mounts mounts;
	struct place place;
	struct resolver *resolver;
	struct names *names;
	struct parent_groups *groups; /* NULL: those of the calls count */
	bool serving; /* every role has been ready once */
	/* The broker has not acknowledged the list: workers get it again then. */
	bool must_repeat;
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

static void
configure(struct config *conf, const struct nfsd *n)
{
	*conf =
	    (struct config){ .file = n->d.exports_file, .offers = offers(n) };
	forbid_usual(&conf->forbid);
	forbid_add(&conf->forbid, n->d.key_file);
	forbid_add(&conf->forbid, n->tls_key);
	if (n->audit != NULL && n->audit[0] == '/')
		forbid_add(&conf->forbid, n->audit);
	parent_locks_forbid(n, &conf->forbid);
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
	const struct nfsd_channels m = { .asker = NFSD_ASKER_WORKER,
		.worker = worker };
	struct role_child *const to[2] = { p->broker, p->workers[worker] };

	role_connect(to, NFSD_CHANNELS, p->n->setup.threads + 1, &m, sizeof(m));
}

static size_t
broker_inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	const struct parent *p = arg;

	fds[NFSD_FD_JAIL] = jail_fd(p->jail);
	fds[NFSD_FD_GROUPS] = parent_groups_fd(p->groups);
	return NFSD_FD_GROUPS + 1;
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
	parent_locks_connect(&p->locks);
}

static size_t
worker_inherit(void *arg, unsigned int index, int fds[ROLE_FDS_MAX])
{
	const struct parent *p = arg;

	fds[NFSD_FD_JAIL] = jail_fd(p->jail);
	fds[NFSD_FD_GROUPS] = parent_groups_fd(p->groups);
	fds[NFSD_FD_STATS] = parent_stats_fd(&p->stats, index);
	fds[NFSD_FD_AUDIT] = parent_audit_fd(&p->audit, index);
	parent_memory_inherit(&p->memory, index, fds);
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

static void
send_to_workers(const struct parent *p)
{
	unsigned int i;

	for (i = 0; i < p->n->setup.workers; i++)
		send_exports(p, p->workers[i]);
}

/*
 * Workers get the list without waiting for the broker, because it may take rights
 * away. A worker may have asked the broker meanwhile, and have a descriptor of what
 * was mounted before. It closes that when it gets the list again.
 */
static void
repeat_exports(struct parent *p)
{
	if (!p->must_repeat || !role_is_current(p->broker))
		return;
	p->must_repeat = false;
	send_to_workers(p);
}

/*
 * When every role serves: registers and reports READY, at the start and after a
 * reload.
 */
static void
check_roles(struct parent *p)
{
	repeat_exports(p);
	if (!reload_check(&p->reload) || p->serving)
		return;
	p->serving = true;
	if (p->registration != NULL)
		register_start(p->registration);
	parent_locks_register(&p->locks);
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
	if (bad.asker == NFSD_ASKER_LOCKS)
		parent_locks_accuse(&p->locks);
	else if (bad.asker == NFSD_ASKER_WORKER &&
	    bad.worker < p->n->setup.workers)
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

static void
on_groups_wanted(void *arg, struct ipc_message *m)
{
	const struct parent *p = role_arg(arg);
	uint32_t uid;

	memcpy(&uid, m->data, sizeof(uid));
	if (p->groups != NULL)
		parent_groups_want(p->groups, uid);
}

static void
on_want(void *arg, struct ipc_message *m)
{
	struct parent *p = role_arg(arg);
	uint32_t wants;

	memcpy(&wants, m->data, sizeof(wants));
	place_on_want(&p->place, arg, wants != 0);
}

static void
on_given(void *arg, struct ipc_message *m)
{
	struct parent *p = role_arg(arg);

	place_on_given(&p->place, arg, m);
}

static struct role_child *
worker_of(void *arg, unsigned int worker)
{
	const struct parent *p = arg;

	return p->workers[worker];
}

static const char *
path_of(void *arg, uint16_t export_id)
{
	const struct parent *p = arg;

	return submounts_path(&p->subs, p->file.list, export_id);
}

static void
on_connections_ended(void *arg, struct ipc_message *m)
{
	struct parent *p = role_arg(arg);
	struct nfsd_ended ended;

	memcpy(&ended, m->data, sizeof(ended));
	parent_live_ended(&p->live, &ended);
}

static void
on_checked(void *arg, struct ipc_message *m)
{
	struct parent *p = role_arg(arg);
	struct nfsd_checked checked;

	memcpy(&checked, m->data, sizeof(checked));
	parent_health_checked(&p->health, role_index(arg), &checked);
}

/* Connections of clients to an address that left are worth nothing any more. */
static void
on_address(void *arg, const struct addr *at, bool here)
{
	struct parent *p = arg;
	unsigned int i;

	for (i = 0; !here && i < p->n->setup.workers; i++)
		(void)role_send(p->workers[i], NFSD_ADDRESS_LEFT, at,
		    sizeof(*at), NULL, 0);
	place_address(&p->place, at, here);
	parent_locks_address(&p->locks, at, here);
}

static struct role_child *
broker_of(void *arg)
{
	const struct parent *p = arg;

	return p->broker;
}

/* The locks role has descriptors of files, and no right to read any. */
static void
send_exports_to(void *arg, struct role_child *child)
{
	const struct parent *p = arg;

	role_exports_send_parts(child, &p->file, p->jail, &p->subs);
}

static void
role_changed(void *arg)
{
	check_roles(arg);
}

/* clang-format off */
static const struct ipc_row worker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
	[ROLE_PONG]       = { "pong",       sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
	[NFSD_ENDED]      = { "ended",      sizeof(struct nfsd_ended), sizeof(struct nfsd_ended), 0, 0, on_connections_ended },
	[NFSD_CHECKED]    = { "checked",    sizeof(struct nfsd_checked), sizeof(struct nfsd_checked), 0, 0, on_checked },
	[NFSD_WANT]       = { "want",       sizeof(uint32_t), sizeof(uint32_t), 0, 0, on_want },
	[NFSD_GIVEN]      = { "given",      0, 0, 1, 1, on_given },
	[NFSD_GROUPS]     = { "groups",     sizeof(uint32_t), sizeof(uint32_t), 0, 0, on_groups_wanted },
	[NFSD_BAD_TLS]    = { "bad tls",    0, 0, 0, 0, on_bad_tls },
};

static const struct ipc_row broker_rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_SERVES]     = { "serves",     0, 0, 0, 0, on_serves },
	[ROLE_PONG]       = { "pong",       sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
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

static void
stop_nfs(void *arg)
{
	struct parent *p = arg;

	if (p->registration != NULL)
		register_stop(p->registration, stop_workers, p);
	else
		stop_workers(p);
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
	parent_metrics_stop(&p->metrics);
	p->on_patience = evtimer_new(p->base, parent_give_up, p);
	if (p->on_patience != NULL)
		(void)event_add(p->on_patience, &patience);
	parent_locks_stop(&p->locks, stop_nfs, p);
}

static void
restart_all(struct parent *p, const char *why)
{
	unsigned int i;

	role_replace(p->broker, why);
	for (i = 0; i < p->n->setup.workers; i++)
		role_replace(p->workers[i], why);
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
	send_exports(p, p->broker);
	send_to_workers(p);
	parent_locks_exports(&p->locks);
}

/* The locks role is never restarted for this: it would lose its table. */
static void
use_exports(struct parent *p)
{
	const char *why = NULL;

	if (choose_mode(p))
		why = "the exports need another mode";
	else if (jail_needs_restart(p->jail))
		why = "it cannot reach the new exports";
	if (why == NULL) {
		p->must_repeat = true;
		send_to_all(p);
		return;
	}
	restart_all(p, why);
	parent_locks_exports(&p->locks);
}

static void
reload(void *arg)
{
	struct parent *p = arg;

	bool loaded;

	names_begin(p->names);
	loaded = config_reload(&p->file, &p->conf, names_source(p->names),
	    p->jail, &p->subs);
	if (loaded) {
		/* Without it, such clients are refused. */
		(void)has_domain(p->n, p->file.list);
		use_exports(p);
	}
	names_end(p->names, loaded);
	parent_groups_reload(p->groups);
	parent_tls_reload(&p->tls);
	mounts_wait_late(&p->mounts);
	reload_wait(&p->reload);
}

/*
 * Something was mounted or unmounted: the same exports, as they lie now. A disk
 * may have been pulled out before all data was on it. So the write verifier
 * changes, and clients send again what they have not committed.
 */
static void
on_mounts(void *arg)
{
	struct parent *p = arg;

	if (!p->stopping &&
	    config_remount(p->file.list, &p->conf, p->jail, &p->subs)) {
		use_exports(p);
		atomic_store(&p->memory.shared->verifier, 0);
	}
	mounts_wait_late(&p->mounts);
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
	register_program(p->registration, &nfsacl_program, &p->sockets[0]);
	register_program(p->registration, &rquota_program, &p->sockets[0]);
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

/* Memory that processes share, and the roles that use it. */
static void
prepare_memory(struct parent *p)
{
	parent_memory_make(&p->memory, p->n->setup.workers);
	p->tls.proven = &p->memory.shared->proven;
	p->live.shared = p->memory.shared;
	p->locks.shared = p->memory.fd;
}

/* What counts, and what shows it. */
static void
prepare_figures(struct parent *p)
{
	parent_stats_start(&p->stats, p->control, p->n);
	parent_audit_start(&p->audit, p->base, p->n, p->stats.own);
	p->stats.tls_ends = p->tls.ends;
	p->stats.locks = &p->locks;
	p->stats.roles = &p->reload;
	p->stats.paths = (struct usage_paths){ path_of, p };
	p->stats.keys = &p->keys;
	p->stats.file = &p->file;
	p->stats.jail = p->jail;
	p->metrics.stats = &p->stats;
	p->metrics.changed = role_changed;
	p->metrics.arg = p;
	p->live.stats = &p->stats;
	p->live.control = p->control;
	p->live.path = path_of;
	p->live.worker = worker_of;
	p->live.arg = p;
	parent_live_start(&p->live);
}

static void
prepare(struct parent *p)
{
	p->resolver = resolver_new(p->n->manage_gids);
	if (p->n->manage_gids)
		p->groups = parent_groups_new(p->resolver);
	p->names = names_new(on_names, p);
	configure(&p->conf, p->n);
	if (!config_load(&p->file, &p->conf, names_source(p->names), false) ||
	    !has_domain(p->n, p->file.list))
		fatal_config("%s: has errors, listed above: correct them",
		    p->n->d.exports_file);
	config_load_key(&p->keys, p->n->d.key_file);
	p->tls.worker = worker_of;
	p->tls.changed = role_changed;
	p->tls.arg = p;
	parent_tls_prepare(&p->tls, p->n);
	parent_audit_prepare(&p->audit, p->n);
	parent_metrics_prepare(&p->metrics, p->n);
	descriptors_warn(daemon_raise_files(), p->n->setup.files);
	bind_sockets(p);
	prepare_memory(p);
	p->locks.broker = broker_of;
	p->locks.send_exports = send_exports_to;
	p->locks.path = path_of;
	p->locks.changed = role_changed;
	p->locks.arg = p;
	p->locks.groups = p->groups;
	p->locks.key = p->keys.worker;
	parent_locks_prepare(&p->locks, p->n);
	daemon_detach(&p->n->d);
	p->jail =
	    config_jail(p->file.list, &p->conf, &p->subs, p->n->d.rootless);
	p->n->setup.mode = (enum nfsd_mode) - 1; /* none: logs the first */
	(void)choose_mode(p);
	p->base = daemon_events();
	reload_init(&p->reload, p->base, &p->n->d);
	watch_init(&p->watch, p->base, &p->n->d, &p->reload);
	p->control = control_new(p->base, p->n);
	prepare_figures(p);
	p->health = (struct parent_health){ .base = p->base,
		.control = p->control,
		.keys = &p->keys,
		.file = &p->file,
		.jail = p->jail,
		.nworkers = p->n->setup.workers,
		.sockets = &p->sockets[0],
		.worker = worker_of,
		.arg = p };
	parent_health_start(&p->health);
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
	parent_locks_start(&p->locks, p->base, &p->reload, p->control);
	parent_metrics_start(&p->metrics, p->base, &p->reload);
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
	resolver_start(p.resolver, p.base, &n->d, &p.watch);
	names_start(p.names, p.resolver);
	mounts_start(&p.mounts, p.base, p.jail, on_mounts, &p);
	p.addresses = (struct addresses){ .moved = on_address, .arg = &p };
	addresses_start(&p.addresses, p.base);
	p.place = (struct place){ .worker = worker_of, .arg = &p };
	if (parent_memory_is_read(&p.memory))
		place_start(&p.place, p.base, n->setup.workers);
	daemon_signals(p.base, &n->d, &signals);
	(void)event_base_dispatch(p.base);
	register_free(p.registration);
	resolver_free(p.resolver);
	names_free(p.names);
	parent_groups_free(p.groups);
	for (i = 0; i < n->setup.workers; i++)
		role_free(p.workers[i]);
	parent_locks_free(&p.locks);
	role_free(p.broker);
	parent_tls_free(&p.tls);
	parent_metrics_free(&p.metrics);
	mounts_free(&p.mounts);
	addresses_free(&p.addresses);
	place_free(&p.place);
	parent_health_free(&p.health);
	watch_free(&p.watch);
	reload_free(&p.reload);
	control_free(p.control);
	parent_audit_stop(&p.audit, n);
	parent_stats_stop(&p.stats);
	jail_free(p.jail);
	return 0;
}

int
nfsd_check(struct nfsd *n)
{
	struct exports_file file = { .packed = -1 };
	struct config conf;
	enum nfsd_mode mode;
	uid_t uid = 0;
	gid_t gid = 0;
	bool good;

	configure(&conf, n);
	if (!config_load(&file, &conf, &resolve_now, true))
		return 1;
	mode = nfsd_mode(file.list, geteuid() != 0, &uid, &gid);
	log_info("mode: %s%s", nfsd_mode_name(mode, geteuid() != 0),
	    nfsd_setid(file.list) ? ", set-id bits permitted" : "");
	good = has_domain(n, file.list);
	exports_file_clear(&file);
	return parent_tls_check(n) && good ? 0 : 1;
}
