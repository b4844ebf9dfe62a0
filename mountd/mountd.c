/* SPDX-License-Identifier: ISC */
/*
 * mountd: says who may have what. Command line and start; the processes are
 * in parent.c and worker.c.
 * Runs in: mountd parent; the worker passes through role_dispatch().
 */
#include <stddef.h>

#include "base/log.h"
#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/mountd.h"

static const struct role_row roles[] = {
	{ "worker", mountd_worker },
};

static const char *
set_explain(void *arg, const char *value)
{
	((struct mountd *)arg)->explain = value;
	return NULL;
}

static const char *
set_export_all(void *arg, const char *value UNUSED)
{
	((struct mountd *)arg)->setup.export_all = true;
	return NULL;
}

static const char *
set_dump_all(void *arg, const char *value UNUSED)
{
	((struct mountd *)arg)->setup.dump_all = true;
	return NULL;
}

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'x', "explain", "addr[:port]", "with -n: what this client gets, and why", set_explain },
};

static const struct daemon_option settings[] = {
	{ 0, "connections-max", "n", "TCP connections in all", NULL },
	{ 0, "connections-per-host", "n", "TCP connections of one client", NULL },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", NULL },
	{ 0, "dump-all", NULL, "DUMP shows the mounts of all clients", set_dump_all },
	{ 0, "export-all", NULL, "EXPORT shows all exports and their clients", set_export_all },
	{ 0, "fragments-max", "n", "pieces of one TCP record", NULL },
	{ 0, "idle-seconds", "n", "close an idle TCP connection after", NULL },
	{ 0, "partial-max", "bytes", "unfinished calls of all clients", NULL },
	{ 0, "record-max", "bytes", "longest call", NULL },
	{ 0, "record-seconds", "n", "an unfinished call may take", NULL },
	{ 0, "stall-seconds", "n", "a client may not read its replies for", NULL },
	{ 0, "unsent-max", "bytes", "unsent replies of all clients", NULL },
};
/* clang-format on */

static const struct rpc_limits limits = {
	.record_max = MOUNT_RECORD_MAX,
	.reply_max = MOUNT_REPLY_MAX,
	/* Of lists what fits into one packet: a call can be forged, and must
	 * not send much more to whom it names than it cost. */
	.datagram_reply_max = 1400,
	.fragments_max = 64,
	.connections_max = 512,
	.connections_per_host = 64,
	.queue_max = 512 * 1024,
	.unsent_max = 8 * 1024 * 1024,
	.partial_max = 512 * MOUNT_RECORD_MAX,
	.deferred_max = 16,
	.record_seconds = 10,
	.stall_seconds = 30,
	.idle_seconds = 300,
	.datagrams_per_second = 1000,
};

static void
read_options(struct mountd *m, int argc, char *argv[])
{
	const struct daemon_spec spec = {
		.name = "mountd",
		.user = "_mountd",
		.has_exports = true,
		.max_operands = 1,
		.operands = "[path]",
		.options = options,
		.noptions = nitems(options),
		.settings = settings,
		.nsettings = nitems(settings),
		.set_limit = rpc_limits_set,
		.limits = &m->setup.limits,
		.arg = m,
	};

	m->setup.limits = limits;
	daemon_options(&m->d, &spec, argc, argv);
	if (m->explain != NULL && !m->d.check_only)
		fatalx("-x explains the configuration: use it with -n");
	if (m->d.noperands > 0 && m->explain == NULL)
		fatalx("\"%s\": a path is only for -n -x", m->d.operands[0]);
	m->setup.strict = m->d.strict;
}

int
main(int argc, char *argv[])
{
	static struct mountd m;

	log_init("mountd");
	role_dispatch(argc, argv, roles, nitems(roles));
	read_options(&m, argc, argv);
	if (m.d.check_only)
		return mountd_check(&m);
	daemon_identity(&m.d);
	m.setup.uid = m.d.uid;
	m.setup.gid = m.d.gid;
	return mountd_parent(&m);
}
