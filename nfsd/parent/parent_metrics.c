/* SPDX-License-Identifier: ISC */
/*
 * Starts and feeds the metrics role: see parent_metrics.h.
 * Runs in: nfsd parent.
 */
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/portmapper.h"
#include "nfsd/metrics/server.h"
#include "nfsd/parent/parent_metrics.h"
#include "nfsd/parent/parent_stats.h"
#include "process/reload.h"

#define METRICS_USER "_nfsd-metrics"

/* Writes the text and says so. The portmapper has answered, or has not. */
static void
answer(void *arg)
{
	struct parent_metrics *m = arg;
	struct figures f = { .at = m->text, .size = STATS_TEXT_MAX };
	uint32_t len;

	if (!m->asking)
		return;
	m->asking = false;
	parent_stats_text(m->stats, &f);
	if (m->portmapper != NULL)
		portmapper_text(portmapper_counts(m->portmapper), &f);
	len = (uint32_t)f.len;
	(void)role_send(m->role, NFSD_METRICS, &len, sizeof(len), NULL, 0);
}

static void
on_wanted(void *arg, struct ipc_message *msg UNUSED)
{
	struct parent_metrics *m = role_arg(arg);
	uint64_t now = clock_ms();

	if (m->asking || now - m->asked_ms < METRICS_FRESH_MS / 2) {
		role_restart(arg,
		    "it asks too often for the counters and may be "
		    "compromised");
		return;
	}
	m->asking = true;
	m->asked_ms = now;
	if (m->portmapper != NULL)
		portmapper_ask(m->portmapper);
	else
		answer(m);
}

static void
on_ready(void *arg, struct ipc_message *msg UNUSED)
{
	struct parent_metrics *m = role_arg(arg);

	role_is_ready(arg);
	m->changed(m->arg);
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[NFSD_READY]          = { "ready",  0, 0, 0, 0, on_ready },
	[ROLE_PONG]           = { "pong",   0, 0, 0, 0, role_answered },
	[NFSD_METRICS_WANTED] = { "wanted", 0, 0, 0, 0, on_wanted },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static size_t
inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	const struct parent_metrics *m = arg;

	fds[NFSD_METRICS_FD_TEXT] = m->memory;
	return NFSD_METRICS_FD_SOCKETS +
	    listen_fds(&m->sockets, fds + NFSD_METRICS_FD_SOCKETS,
		ROLE_FDS_MAX - NFSD_METRICS_FD_SOCKETS);
}

static void
started(void *arg, struct role_child *child)
{
	struct parent_metrics *m = arg;
	const struct nfsd_metrics_setup setup = { .uid = m->uid,
		.gid = m->gid,
		.strict = m->n->setup.strict,
		.rootless = m->n->setup.rootless };

	m->role = child;
	m->asking = false;
	m->asked_ms = 0;
	role_becomes(child, m->uid);
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
}

void
parent_metrics_prepare(struct parent_metrics *m, const struct nfsd *n)
{
	char at[ADDR_STRLEN];
	size_t i;

	m->n = n;
	if (n->nmetrics == 0)
		return;
	daemon_role_user(&n->d, METRICS_USER, &m->uid, &m->gid);
	listen_streams(&m->sockets, &n->d, n->metrics, n->nmetrics, "metrics");
	for (i = 0; i < m->sockets.n; i++)
		if (!addr_is_loopback(&m->sockets.list[i].at))
			log_warnx("metrics: every machine that reaches %s can "
				  "read the names of exports and the addresses "
				  "of clients: close it with a firewall",
			    addr_print(&m->sockets.list[i].at, at));
}

void
parent_metrics_start(struct parent_metrics *m, struct event_base *base,
    struct reload *reload)
{
	void *map = NULL;

	if (m->sockets.n == 0)
		return;
	m->memory = shm_new_published(STATS_TEXT_MAX, &map);
	if (m->memory == -1)
		fatal("metrics");
	m->text = map;
	if (!m->n->d.no_register)
		m->portmapper = portmapper_new(base, m->n->d.socket, answer, m);
	m->spec = (struct role_spec){ .name = "metrics",
		.inherit = inherit,
		.started = started,
		.messages = &messages,
		.arg = m };
	m->role = role_start(base, &m->n->d, &m->spec);
	reload_add(reload, m->role);
}

void
parent_metrics_stop(struct parent_metrics *m)
{
	if (m->role != NULL)
		role_expect_end(m->role);
}

void
parent_metrics_free(struct parent_metrics *m)
{
	portmapper_free(m->portmapper);
	if (m->role != NULL)
		role_free(m->role);
}
