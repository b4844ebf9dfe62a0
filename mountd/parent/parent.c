/* SPDX-License-Identifier: ISC */
/*
 * The parent: configuration, key, sockets, registration, jail, worker. It reads
 * no byte from the network. It checks the size of a worker's message before it
 * reads it, and trusts no content.
 * Runs in: mountd parent.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "exports/config.h"
#include "mountd/mount.h"
#include "mountd/mountd.h"
#include "mountd/parent/seal.h"
#include "process/listen.h"
#include "mounts/mounts.h"
#include "process/register.h"
#include "process/reload.h"
#include "tally/tally.h"
#include "process/watch.h"
#include "resolve/names.h"
#include "resolve/resolver.h"

#define STOP_SECONDS 5

struct parent {
	struct mountd *m;
	struct config conf;
	struct event_base *base;
	struct exports_file file;
	struct jail *jail;
	struct seal_export seals[EXPORTS_MAX]; /* parallel to file.list */
	struct submounts subs;
	struct seal_export sub_seals[SUBMOUNTS_MAX]; /* parallel to subs */
	struct fh_keys keys;
	struct listen_set sockets;
	struct registration *registration;
	struct role_child *worker;
	struct reload reload;
	struct watch watch;
	struct mounts mounts;
	struct resolver *resolver;
	struct names *names;
	bool serving; /* the worker has been ready once */
	int tally; /* its counters */
	int seal_pair[2]; /* parent's end; worker's end until it has started */
	struct event *on_seal;
	struct event *on_stop_timer;
	bool stopping;
};

/* Seals the roots of the active list and sends it to the worker. */
static void
send_exports(struct parent *p)
{
	const struct exports *ex = p->file.list;
	struct mountd_handles m;
	size_t i;

	for (i = 0; i < p->subs.n; i++)
		seal_submount(&p->sub_seals[i], &p->subs.list[i],
		    &ex->list[p->subs.list[i].index]);
	for (i = 0; i < p->subs.n; i++)
		p->sub_seals[i].all = ex;
	for (i = 0; i < ex->n; i++) {
		seal_root(&p->seals[i], &m, &ex->list[i],
		    jail_facts(p->jail, ex->list[i].path), &p->keys);
		p->seals[i].all = ex;
		m.index = (uint32_t)i;
		m.waits = jail_waits(p->jail, ex->list[i].path);
		(void)role_send(p->worker, MOUNTD_HANDLES, &m, sizeof(m), NULL,
		    0);
	}
	/* The worker needs no submounts: the parent seals their handles. */
	role_exports_send(p->worker, &p->file, p->jail, NULL);
}

/*
 * Reports that the worker serves the active list. At the start it registers the
 * program and tells the service manager.
 */
static void
check_roles(struct parent *p)
{
	if (!reload_check(&p->reload) || p->serving)
		return;
	p->serving = true;
	if (p->registration != NULL)
		register_start(p->registration);
	daemon_ready(p->base, &p->m->d);
}

static void
on_ready(void *arg, struct ipc_message *msg UNUSED)
{
	role_is_ready(arg);
	check_roles(role_arg(arg));
}

static void
on_serves(void *arg, struct ipc_message *msg UNUSED)
{
	role_acknowledged(arg);
	check_roles(role_arg(arg));
}

/*
 * Returns the export, or the submount in it, on whose mount fd lies. NULL:
 * there is no such export id.
 */
static const struct seal_export *
find_seal(const struct parent *p, uint16_t id, int fd)
{
	const struct export *e = exports_find_id(p->file.list, id);
	uint64_t mount_id = fh_fs_mount(fd);
	size_t i;

	for (i = 0; e != NULL && i < p->subs.n; i++)
		if (p->sub_seals[i].conf == e &&
		    p->sub_seals[i].mount_id == mount_id)
			return &p->sub_seals[i];
	return e == NULL ? NULL : &p->seals[e - p->file.list->list];
}

static void
on_seal_asked(void *arg, struct ipc_message *msg)
{
	struct parent *p = arg;
	struct mountd_sealed answer;
	struct mountd_seal ask;

	memcpy(&ask, msg->data, sizeof(ask));
	answer = seal_descriptor(find_seal(p, ask.export_id, msg->fds[0]), &ask,
	    msg->fds[0], &p->keys);
	if (ipc_send(p->seal_pair[0], MOUNTD_SEALED, &answer, sizeof(answer),
		NULL, 0) == -1)
		role_restart(p->worker,
		    "does not read answers on its handle "
		    "channel");
}

/* clang-format off */
static const struct ipc_row rows[MOUNTD_MESSAGES] = {
	[MOUNTD_READY] = { "ready", 0, 0, 0, 0, on_ready },
	[ROLE_SERVES] = { "serves", 0, 0, 0, 0, on_serves },
	[ROLE_PONG] = { "pong", sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
};

static const struct ipc_row seal_rows[MOUNTD_MESSAGES] = {
	[MOUNTD_SEAL]   = { "seal",  sizeof(struct mountd_seal), sizeof(struct mountd_seal), 1, 1, on_seal_asked },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };
static const struct ipc_table seal_messages = { seal_rows, nitems(seal_rows) };

static void
close_seal(struct parent *p)
{
	size_t i;

	if (p->on_seal != NULL)
		event_free(p->on_seal);
	p->on_seal = NULL;
	for (i = 0; i < nitems(p->seal_pair); i++) {
		if (p->seal_pair[i] != -1)
			close(p->seal_pair[i]);
		p->seal_pair[i] = -1;
	}
}

static void
on_seal_channel(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct parent *p = arg;
	const char *why = NULL;
	int r = ipc_serve((int)fd, &seal_messages, p, &why);

	if (r == 1)
		return;
	if (r == -1 && why != NULL)
		role_restart(p->worker, why);
	close_seal(p); /* without it the worker exits */
}

static size_t
inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	struct parent *p = arg;

	close_seal(p);
	if (ipc_pair(p->seal_pair) == -1)
		fatal("socketpair");
	(void)fcntl(p->seal_pair[0], F_SETFL, O_NONBLOCK);
	fds[MOUNTD_FD_JAIL] = jail_fd(p->jail);
	fds[MOUNTD_FD_SEAL] = p->seal_pair[1];
	fds[MOUNTD_FD_TALLY] = p->tally;
	return MOUNTD_FD_SOCKETS +
	    listen_fds(&p->sockets, fds + MOUNTD_FD_SOCKETS,
		ROLE_FDS_MAX - MOUNTD_FD_SOCKETS);
}

static void
started(void *arg, struct role_child *child)
{
	struct parent *p = arg;

	p->worker = child;
	role_becomes(child, p->m->setup.uid);
	close(p->seal_pair[1]);
	p->seal_pair[1] = -1;
	p->on_seal = event_new(p->base, p->seal_pair[0], EV_READ | EV_PERSIST,
	    on_seal_channel, p);
	if (p->on_seal == NULL || event_add(p->on_seal, NULL) == -1)
		fatalx("event: out of memory");
	(void)role_send(child, ROLE_SETUP, &p->m->setup, sizeof(p->m->setup),
	    NULL, 0);
	send_exports(p);
}

static void
finish(void *arg)
{
	struct parent *p = arg;

	(void)event_base_loopbreak(p->base);
}

static void
ended(void *arg, struct role_child *child)
{
	struct parent *p = arg;

	close_seal(p);
	if (p->stopping && role_has_ended(child))
		finish(p);
}

static void
give_up(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	finish(arg);
}

static void
stop_worker(void *arg)
{
	struct parent *p = arg;

	role_expect_end(p->worker);
	if (!role_send(p->worker, MOUNTD_STOP, NULL, 0, NULL, 0))
		finish(p);
}

/* Unregisters first, so portmapd sends no client to a port without server. */
static void
stop(void *arg)
{
	const struct timeval patience = { .tv_sec = STOP_SECONDS };
	struct parent *p = arg;

	if (p->stopping)
		return;
	p->stopping = true;
	p->on_stop_timer = evtimer_new(p->base, give_up, p);
	if (p->on_stop_timer != NULL)
		(void)event_add(p->on_stop_timer, &patience);
	if (p->registration != NULL)
		register_stop(p->registration, stop_worker, p);
	else
		stop_worker(p);
}

/* Gives the worker the new list. A restarted worker gets it when it starts. */
static void
use_exports(struct parent *p)
{
	if (jail_needs_restart(p->jail)) {
		role_replace(p->worker, "it cannot reach the new exports");
		close_seal(p); /* its questions refer to the old list */
	} else
		send_exports(p);
}

static void
reload(void *arg)
{
	struct parent *p = arg;

	bool loaded;

	names_begin(p->names);
	loaded = config_reload(&p->file, &p->conf, names_source(p->names),
	    p->jail, &p->subs);
	if (loaded)
		use_exports(p);
	names_end(p->names, loaded);
	mounts_wait_late(&p->mounts);
	reload_wait(&p->reload);
}

/* Something was mounted or unmounted: the same exports, as they lie now. */
static void
on_mounts(void *arg)
{
	struct parent *p = arg;

	if (!p->stopping &&
	    config_remount(p->file.list, &p->conf, p->jail, &p->subs))
		use_exports(p);
	mounts_wait_late(&p->mounts);
}

/* A host name has another address: the same exports, with it. */
static void
on_names(void *arg)
{
	struct parent *p = arg;

	if (!p->stopping && exports_rebuild(&p->file, names_source(p->names)))
		send_exports(p);
}

static void
stats(void *arg)
{
	struct parent *p = arg;

	(void)role_send(p->worker, MOUNTD_STATS, NULL, 0, NULL, 0);
}

static void
prepare_registration(struct parent *p)
{
	if (p->m->d.no_register)
		return;
	p->registration = register_new(p->base, p->m->d.socket);
	register_program(p->registration, &mount_prog, &p->sockets);
}

static void
prepare(struct parent *p)
{
	char path[TALLY_PATH_MAX];

	p->resolver = resolver_new(false);
	p->names = names_new(on_names, p);
	mountd_configure(&p->conf, p->m);
	if (!config_load(&p->file, &p->conf, names_source(p->names), false))
		fatal_config("%s: has errors, listed above: correct them",
		    p->m->d.exports_file);
	config_load_key(&p->keys, p->m->d.key_file);
	(void)daemon_raise_files(); /* a descriptor for each export */
	listen_all(&p->sockets, &p->m->d, "mount 1,2,3", false);
	daemon_detach(&p->m->d);
	p->tally = tally_make(register_beside(p->m->d.socket, TALLY_NAME, path,
	    sizeof(path)));
	p->jail =
	    config_jail(p->file.list, &p->conf, &p->subs, p->m->d.rootless);
	p->base = daemon_events();
	reload_init(&p->reload, p->base, &p->m->d);
	watch_init(&p->watch, p->base, &p->m->d, &p->reload);
}

int
mountd_parent(struct mountd *m)
{
	static struct parent p = { .seal_pair = { -1, -1 } };
	static const struct role_spec worker = {
		.name = "worker",
		.inherit = inherit,
		.started = started,
		.ended = ended,
		.messages = &messages,
		.arg = &p,
	};
	static const struct daemon_signals signals = { stop, reload, stats,
		&p };

	p.m = m;
	prepare(&p);
	prepare_registration(&p);
	p.worker = role_start(p.base, &m->d, &worker);
	reload_add(&p.reload, p.worker);
	resolver_start(p.resolver, p.base, &m->d, &p.watch);
	names_start(p.names, p.resolver);
	mounts_start(&p.mounts, p.base, p.jail, on_mounts, &p);
	daemon_signals(p.base, &m->d, &signals);
	(void)event_base_dispatch(p.base);
	register_free(p.registration);
	resolver_free(p.resolver);
	names_free(p.names);
	role_free(p.worker);
	mounts_free(&p.mounts);
	watch_free(&p.watch);
	reload_free(&p.reload);
	jail_free(p.jail);
	return 0;
}
