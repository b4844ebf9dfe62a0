/* SPDX-License-Identifier: ISC */
/*
 * Starts and connects the accept role: see parent_accept.h.
 * Runs in: nfsd parent.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/accept/proto.h"
#include "nfsd/parent/parent_accept.h"
#include "process/reload.h"

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	struct parent_accept *a = role_arg(arg);

	role_is_ready(arg);
	a->changed(a->arg);
}

static void
on_bad_worker(void *arg, struct ipc_message *m)
{
	struct parent_accept *a = role_arg(arg);
	uint32_t worker;

	memcpy(&worker, m->data, sizeof(worker));
	if (worker < a->n->setup.workers)
		role_restart(a->worker(a->arg, worker),
		    "it sent the accept role what cannot be and may be "
		    "compromised");
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",      0, 0, 0, 0, on_ready },
	[ROLE_PONG]       = { "pong",       sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
	[NFSD_BAD_WORKER] = { "bad worker", sizeof(uint32_t), sizeof(uint32_t), 0, 0, on_bad_worker },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static size_t
inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	const struct parent_accept *a = arg;

	return listen_fds_of(a->sockets, false, fds, ROLE_FDS_MAX);
}

static void
started(void *arg, struct role_child *child)
{
	struct parent_accept *a = arg;
	const struct nfsd_setup *s = &a->n->setup;
	const struct accept_setup setup = { .uid = s->uid,
		.gid = s->gid,
		.strict = s->strict,
		.rootless = s->rootless,
		.workers = s->workers,
		.connections_max = s->limits.connections_max };
	unsigned int i;

	a->role = child;
	role_becomes(child, s->uid);
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	for (i = 0; i < s->workers; i++)
		parent_accept_connect(a, i);
}

void
parent_accept_connect(struct parent_accept *a, unsigned int index)
{
	struct role_child *worker = a->worker(a->arg, index);
	const uint32_t m = index;
	int pair[2];

	if (a->role == NULL || role_channel(a->role) == -1 || worker == NULL ||
	    role_channel(worker) == -1)
		return;
	/* Neither waits for the other. */
	if (ipc_pair(pair) == -1 || fcntl(pair[0], F_SETFL, O_NONBLOCK) == -1 ||
	    fcntl(pair[1], F_SETFL, O_NONBLOCK) == -1)
		fatal("channel");
	(void)role_send(a->role, NFSD_ACCEPT_CHANNEL, &m, sizeof(m), &pair[0],
	    1);
	(void)role_send(worker, NFSD_ACCEPT_CHANNEL, &m, sizeof(m), &pair[1],
	    1);
	close(pair[0]);
	close(pair[1]);
}

void
parent_accept_bind(struct parent_accept *a, const struct nfsd *n,
    struct listen_set *sockets)
{
	unsigned int i;

	a->n = n;
	a->sockets = sockets;
	listen_all(&sockets[0], &n->d, "nfs 2,3", n->setup.workers > 1);
	for (i = 1; i < n->setup.workers; i++)
		if (listen_again(&sockets[i], &sockets[0]) == -1)
			fatal("sockets of worker %u", i);
}

size_t
parent_accept_rest(const struct parent_accept *a, unsigned int worker, int *fds,
    size_t max)
{
	const struct listen_set *set = &a->sockets[worker];

	return a->n->setup.workers == 1 ? listen_fds(set, fds, max) :
					  listen_fds_of(set, true, fds, max);
}

void
parent_accept_start(struct parent_accept *a, struct event_base *base,
    struct reload *reload)
{
	if (a->n->setup.workers == 1)
		return;
	a->spec = (struct role_spec){ .name = "accept",
		.inherit = inherit,
		.started = started,
		.messages = &messages,
		.arg = a };
	a->role = role_start(base, &a->n->d, &a->spec);
	reload_add(reload, a->role);
}

void
parent_accept_stop(struct parent_accept *a)
{
	if (a->role == NULL)
		return;
	role_expect_end(a->role);
	(void)role_send(a->role, NFSD_STOP, NULL, 0, NULL, 0);
}

void
parent_accept_free(struct parent_accept *a)
{
	if (a->role != NULL)
		role_free(a->role);
}
