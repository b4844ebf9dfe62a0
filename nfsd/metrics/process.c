/* SPDX-License-Identifier: ISC */
/*
 * The metrics role as a process. It speaks HTTP with scrapers, and reads no NFS.
 * It has its listening sockets and memory with the parent's text, which it cannot
 * write. It has no file, no key, no exports, no capability and no way to connect.
 * Runs in: nfsd metrics.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/metrics/server.h"
#include "nfsd/nfsd.h"
#include "nfsd/stats.h"

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_accept4,  false, "scrapers" },
	{ SYS_recvfrom, false, "their requests" },
	{ SYS_recvmsg,  false, "messages from the parent" },
	{ SYS_sendmsg,  false, "messages to the parent" },
	{ SYS_sendto,   false, "answers" },
	{ SYS_shutdown, false, "the end of an answer" },
};

static const struct sandbox_choice choices[] = {
	{ SYS_shutdown, {{ 1, 0, SHUT_WR }, SANDBOX_ALONE}, "a listening socket stays one: as a new one it could connect by sendto" },
};

static const struct sandbox_limit limits[] = {
	{ RLIMIT_NPROC, 0, "no new process" },
	{ RLIMIT_NOFILE, NFSD_METRICS_FILES, "connections are bounded" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "metrics",
	.calls = calls,
	.ncalls = nitems(calls),
	.choices = choices,
	.nchoices = nitems(choices),
	.dies_with_parent = true,
	.limits = limits,
	.nlimits = nitems(limits),
};

struct metrics_role {
	struct role *role;
	struct nfsd_metrics_setup setup;
	bool has_setup;
	const char *text; /* of the parent */
	struct metrics_server *server;
};

static void
on_setup(void *arg, struct ipc_message *m)
{
	struct metrics_role *r = arg;

	memcpy(&r->setup, m->data, sizeof(r->setup));
	r->has_setup = true;
}

/* The text does not change before it is asked for again. */
static void
on_text(void *arg, struct ipc_message *m)
{
	struct metrics_role *r = arg;
	uint32_t len;

	memcpy(&len, m->data, sizeof(len));
	if (r->server == NULL || len > STATS_TEXT_MAX)
		fatalx("parent: unexpected text");
	metrics_server_text(r->server, r->text, len);
}

static void
tell(const struct metrics_role *r, enum nfsd_message type)
{
	if (ipc_send(r->role->channel, type, NULL, 0, NULL, 0) == -1)
		fatal("parent");
}

static void
on_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct metrics_role *r = arg;

	if (ipc_send(r->role->channel, ROLE_PONG, NULL, 0, NULL, 0) == -1)
		fatal("parent");
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[ROLE_SETUP]   = { "setup", sizeof(struct nfsd_metrics_setup), sizeof(struct nfsd_metrics_setup), 0, 0, on_setup },
	[ROLE_PING]    = { "ping",  0, 0, 0, 0, on_ping },
	[NFSD_METRICS] = { "text",  sizeof(uint32_t), sizeof(uint32_t), 0, 0, on_text },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

/* The parent is trusted: a malformed message is a bug. */
static void
receive(struct metrics_role *r)
{
	const char *why = NULL;
	int got = ipc_serve(r->role->channel, &messages, r, &why);

	if (why != NULL)
		fatalx("parent: %s", why);
	if (got != 1)
		exit(0);
}

static void
on_parent(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	receive(arg);
}

static void
ask(void *arg)
{
	tell(arg, NFSD_METRICS_WANTED);
}

static void
enter_sandbox(const struct metrics_role *r, struct sandbox *box)
{
	struct jail_view view;

	jail_enter_empty(&view, NULL);
	sandbox_begin(box, &policy, r->setup.strict);
	sandbox_set_root(box, view.mounts, view.root);
	if (!r->setup.rootless)
		daemon_drop(r->setup.uid, r->setup.gid);
	sandbox_enter(box);
}

int
nfsd_metrics(struct role *role)
{
	static struct metrics_role r;
	struct event_base *base = daemon_events();
	struct event *parent;
	struct sandbox box;
	size_t i;

	r.role = role;
	if (role->nfds <= NFSD_METRICS_FD_SOCKETS)
		fatalx("parent: too few descriptors");
	r.text =
	    shm_map(role->fds[NFSD_METRICS_FD_TEXT], STATS_TEXT_MAX, false);
	if (r.text == NULL)
		fatal("text");
	while (!r.has_setup)
		receive(&r);
	enter_sandbox(&r, &box);
	parent =
	    event_new(base, role->channel, EV_READ | EV_PERSIST, on_parent, &r);
	if (parent == NULL || event_add(parent, NULL) == -1)
		fatalx("event: out of memory");
	r.server = metrics_server_new(base, ask, &r);
	for (i = NFSD_METRICS_FD_SOCKETS; i < role->nfds; i++)
		metrics_server_listen(r.server, role->fds[i]);
	sandbox_seal(&box);
	tell(&r, NFSD_READY);
	(void)event_base_dispatch(base);
	return 0;
}
