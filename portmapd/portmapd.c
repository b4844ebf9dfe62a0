/* SPDX-License-Identifier: ISC */
/*
 * portmapd: tells clients at which port a program is served. It is one process
 * and binds its sockets as root. Before it reads the first byte, it drops user,
 * capabilities, files, network namespace and system calls.
 * Runs in: portmapd.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "portmapd/pmap.h"
#include "process/daemon.h"
#include "process/listen.h"
#include "process/options.h"
#include "rpc/server.h"
#include "transport/transport.h"

#define DEFAULT_PORT 111

struct portmapd {
	struct daemon d;
	const char *root; /* -r */
	const char *compat; /* -c */
	struct portmap pm;
	struct rpc_limits limits;
	struct listen_set sockets;
	bool inherited; /* a service manager passed sockets */
	int local[PMAP_SOCKETS]; /* unix sockets; -1: none */
	struct event_base *base;
	struct rpc_server *servers[PMAP_SOCKETS];
	struct rpc_streams *streams;
	struct rpc_udp *udp[LISTEN_SOCKETS_MAX];
	struct rpc_tcp *tcp[LISTEN_SOCKETS_MAX + 2];
	size_t nudp, ntcp;
};

/* clang-format off */
static const struct sandbox_call permitted[] = {
	{ SYS_getsockopt,  false, "the user of a unix connection" },
};

static const struct sandbox_choice choices[] = {
	{ SYS_getsockopt, {{ 1, 0, SOL_SOCKET }, { 2, 0, SO_PEERCRED }}, "the user of a unix connection" },
};

static const struct sandbox_limit limits[] = {
	{ RLIMIT_CORE,   0, "no memory image on disk" },
	{ RLIMIT_NPROC,  0, "no new process" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "portmapd",
	.calls = permitted,
	.ncalls = nitems(permitted),
	.choices = choices,
	.nchoices = nitems(choices),
	.serves = true,
	.limits = limits,
	.nlimits = nitems(limits),
};

static const char *
set_register(void *arg, const char *value)
{
	return policy_add(&((struct portmapd *)arg)->pm.policy, value);
}

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'c', "compat", "path", "also serve rpcbind's local protocol here", OPT_PATH(struct portmapd, compat) },
	{ 'r', "root", "dir", "chroot here (default: an empty directory)", OPT_PATH(struct portmapd, root) },
};

static const struct daemon_option settings[] = {
	{ 0, "connections-max", "n", "TCP connections in all", OPT_LIMIT },
	{ 0, "connections-per-host", "n", "TCP connections of one client", OPT_LIMIT },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", OPT_LIMIT },
	{ 0, "fragments-max", "n", "fragments of one TCP record", OPT_LIMIT },
	{ 0, "idle-seconds", "n", "seconds a TCP connection may be idle", OPT_LIMIT },
	{ 0, "partial-max", "bytes", "incomplete calls of all clients", OPT_LIMIT },
	{ 0, "record-max", "bytes", "longest call", OPT_LIMIT },
	{ 0, "record-seconds", "n", "seconds an incomplete call may take", OPT_LIMIT },
	{ 0, "register", "user:program", "this user may register this program", OPT_CALL(set_register) },
	{ 0, "stall-seconds", "n", "seconds a client may leave replies unread", OPT_LIMIT },
	{ 0, "unsent-max", "bytes", "unsent replies of all clients", OPT_LIMIT },
};
/* clang-format on */

static void
portmapd_options(struct portmapd *p, int argc, char *argv[])
{
	struct daemon_spec spec = {
		.name = "portmapd",
		.user = "_portmapd",
		.port = DEFAULT_PORT,
		.options = options,
		.noptions = nitems(options),
		.settings = settings,
		.nsettings = nitems(settings),
		.limits = &p->limits,
		.arg = p,
	};

	policy_init(&p->pm.policy);
	p->limits = rpc_limits_default;
	p->limits.record_max = PMAP_RECORD_MAX;
	p->limits.reply_max = PMAP_REPLY_MAX;
	p->limits.datagram_reply_max = PMAP_DATAGRAM_MAX;
	p->limits.connections_max = 512;
	p->limits.connections_per_host = 64;
	p->limits.queue_max = 2 * PMAP_REPLY_MAX;
	p->limits.unsent_max = 8 * PMAP_REPLY_MAX;
	p->limits.partial_max = 512 * PMAP_RECORD_MAX;
	p->limits.record_seconds = 10;
	p->limits.stall_seconds = 30;
	p->limits.idle_seconds = 60;
	p->limits.amplification_percent = 150;
	p->limits.datagram_bytes_per_second = 0; /* no reply is longer */
	p->limits.datagrams_per_second = 500;
	daemon_options(&p->d, &spec, argc, argv);
}

/*
 * Refuses flags about sockets that systemd has opened already: an administrator
 * who gives -a relies on it.
 */
static void
refuse_flags(const struct portmapd *p)
{
	const char *flag = p->d.nlistens != 0 ? "-a" :
	    p->d.port != DEFAULT_PORT	      ? "-p" :
	    p->d.socket != NULL		      ? "-s" :
						NULL;

	if (flag != NULL)
		fatal_config("%s has no effect on sockets that systemd opens: "
			     "remove it, and name the addresses in the socket "
			     "unit (\"systemctl edit tern-portmapd.socket\")",
		    flag);
}

/* A connection of the registration socket is closed: removes its entries. */
static void
on_closed(void *arg, uint64_t id)
{
	struct portmapd *p = arg;
	size_t n = pmap_map_drop(p->pm.map, id);

	if (n != 0)
		log_info("a registered server has closed its connection: %zu "
			 "entries removed",
		    n);
}

static bool
may_register(void *arg, uint32_t uid)
{
	return policy_knows(arg, uid);
}

static void
serve_unix(struct portmapd *p, const char *path, enum pmap_socket via)
{
	struct rpc_limits l = p->limits;
	bool keep = via == SOCKET_REGISTER;

	if (keep)
		l.idle_seconds = 0;
	p->tcp[p->ntcp] = rpc_tcp_new(p->streams, p->servers[via],
	    p->local[via], &l, keep ? on_closed : NULL, p);
	rpc_tcp_trust(p->tcp[p->ntcp++], may_register, &p->pm.policy);
	pmap_serve_self_local(&p->pm, path);
}

/* Returns the path of a unix socket that systemd passed. */
static const char *
path_of(int fd)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(un) - 1; /* leaves the last NUL */
	const char *path = NULL;

	if (getsockname(fd, (struct sockaddr *)&un, &len) == -1 ||
	    (path = strdup(un.sun_path)) == NULL)
		fatal("inherited unix socket: cannot get its path");
	return path;
}

/* Takes the sockets that systemd passed and opens those that are missing. */
static void
open_sockets(struct portmapd *p)
{
	struct listen_set inherited = { .n = 0 };
	struct listen_socket *s;
	const char *path;
	size_t i;

	p->local[SOCKET_REGISTER] = p->local[SOCKET_COMPAT] = -1;
	p->inherited = listen_inherited(&inherited, "portmap 2,3,4");
	if (p->inherited)
		refuse_flags(p);
	for (i = 0; i < inherited.n; i++) {
		s = &inherited.list[i];
		if (s->at.family != AF_UNIX) {
			p->sockets.list[p->sockets.n++] = *s;
			continue;
		}
		path = path_of(s->fd);
		if (p->compat != NULL && strcmp(path, p->compat) == 0) {
			p->local[SOCKET_COMPAT] = s->fd;
		} else {
			p->local[SOCKET_REGISTER] = s->fd;
			p->d.socket = path;
		}
	}
	if (p->sockets.n == 0)
		listen_all(&p->sockets, &p->d, "portmap 2,3,4", false);
	if (p->d.socket == NULL) /* systemd passed none */
		p->d.socket = DAEMON_SOCKET;
	if (p->local[SOCKET_REGISTER] == -1)
		p->local[SOCKET_REGISTER] = listen_unix(p->d.socket, 0666);
	if (p->local[SOCKET_COMPAT] == -1 && p->compat != NULL)
		p->local[SOCKET_COMPAT] = listen_unix(p->compat, 0666);
}

static void
serve_net(struct portmapd *p, const struct listen_socket *s)
{
	struct rpc_server *server = p->servers[SOCKET_NET];

	if (s->udp)
		p->udp[p->nudp++] =
		    rpc_udp_new(p->base, server, s->fd, &p->limits);
	else
		p->tcp[p->ntcp++] = rpc_tcp_new(p->streams, server, s->fd,
		    &p->limits, NULL, NULL);
	pmap_serve_self(&p->pm, &s->at, s->udp);
}

static void
serve_all(struct portmapd *p)
{
	enum pmap_socket via;
	size_t i;

	p->pm.map = pmap_map_new();
	p->streams = rpc_streams_new(p->base);
	for (via = 0; via < PMAP_SOCKETS; via++)
		p->servers[via] = pmap_server_new(&p->pm, via);
	for (i = 0; i < p->sockets.n; i++)
		serve_net(p, &p->sockets.list[i]);
	/* The table holds one local socket: rpcbind's if there is one. */
	if (p->compat != NULL)
		serve_unix(p, p->compat, SOCKET_COMPAT);
	serve_unix(p, p->d.socket, SOCKET_REGISTER);
}

/* Enters jail and sandbox; afterwards only the open sockets are left. */
static void
lock_up(struct portmapd *p)
{
	struct sandbox box;
	struct jail_view view;

	/* Without root the jail needs a user namespace. There the kernel
	 * reports every other user as overflowuid, and servers of other users
	 * could not register. */
	if (p->d.rootless && p->inherited)
		jail_enter(&view, -1);
	else
		jail_enter_empty(&view, p->root);
	sandbox_begin(&box, &policy, p->d.strict);
	sandbox_set_root(&box, view.mounts, view.root);
	daemon_drop(p->d.uid, p->d.gid);
	sandbox_enter(&box);
	sandbox_seal(&box);
}

static void
portmapd_stop(void *arg)
{
	struct portmapd *p = arg;

	log_info("stopping");
	(void)event_base_loopexit(p->base, NULL);
}

static void
portmapd_reload(void *arg)
{
	const struct portmapd *p = arg;

	log_info("SIGHUP: there is no file to reload; the table is unchanged");
	daemon_reloaded(&p->d);
}

static void
portmapd_stats(void *arg)
{
	const struct portmapd *p = arg;
	const struct pmap_counters *c = &p->pm.counters;
	uint64_t calls[PMAP_VERSIONS] = { 0 };
	unsigned int v, i;

	for (v = 0; v < PMAP_VERSIONS; v++)
		for (i = 0; i < PMAP_PROCS_MAX; i++)
			calls[v] += c->calls[v][i];
	log_info(
	    "statistics: %zu entries, calls %ju of version 2, %ju of 3, %ju of 4; refused: %ju registrations, %ju dumps over udp",
	    pmap_map_count(p->pm.map), (uintmax_t)calls[0], (uintmax_t)calls[1],
	    (uintmax_t)calls[2], (uintmax_t)c->refused,
	    (uintmax_t)c->bulk_refused);
}

int
main(int argc, char *argv[])
{
	static struct portmapd p;
	static const struct daemon_signals signals = { portmapd_stop,
		portmapd_reload, portmapd_stats, &p };

	log_init("portmapd");
	portmapd_options(&p, argc, argv);
	if (p.d.check_only)
		return 0;
	daemon_identity(&p.d);
	if (p.d.rootless)
		policy_set_master(&p.pm.policy, p.d.uid);
	open_sockets(&p);
	(void)daemon_raise_files();
	daemon_detach(&p.d);
	p.base = daemon_events();
	serve_all(&p);
	daemon_signals(p.base, &p.d, &signals);
	lock_up(&p);
	daemon_ready(p.base, &p.d);
	if (event_base_dispatch(p.base) == -1)
		fatalx("event loop");
	return 0;
}
