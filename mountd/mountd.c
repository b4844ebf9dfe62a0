/* SPDX-License-Identifier: ISC */
/*
 * mountd: gives clients the handles of the exports that they may mount. This is
 * the command line and the start; parent.c and worker.c are the processes.
 * Runs in: mountd parent; the worker passes through role_dispatch().
 */
#include <stddef.h>

#include "base/log.h"
#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/mountd.h"
#include "process/options.h"
#include "resolve/resolve.h"

static const struct role_row roles[] = {
	{ "worker", mountd_worker },
	{ "resolver", resolve_role },
};

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'x', "explain", "host|addr[:port]", "with -n: what this client may mount, and why", OPT_TEXT(struct mountd, explain, 0) },
};

static const struct daemon_option settings[] = {
	{ 0, "cert", "file|name", "with -n -x: the client's certificate, or a name in it", OPT_TEXT(struct mountd, cert, 1) },
	{ 0, "connections-max", "n", "TCP connections in all", OPT_LIMIT },
	{ 0, "connections-per-host", "n", "TCP connections of one client", OPT_LIMIT },
	{ 0, "datagram-bytes-per-second", "n", "UDP replies beyond 1.5 times their calls; 0: no limit", OPT_LIMIT },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", OPT_LIMIT },
	{ 0, "dump-all", NULL, "DUMP shows the mounts of all clients", OPT_FLAG(struct mountd, setup.dump_all) },
	{ 0, "export-all", NULL, "EXPORT shows all exports and their clients", OPT_FLAG(struct mountd, setup.export_all) },
	{ 0, "fragments-max", "n", "fragments of one TCP record", OPT_LIMIT },
	{ 0, "idle-seconds", "n", "seconds a TCP connection may be idle", OPT_LIMIT },
	{ 0, "partial-max", "bytes", "incomplete calls of all clients", OPT_LIMIT },
	{ 0, "record-max", "bytes", "longest call", OPT_LIMIT },
	{ 0, "record-seconds", "n", "seconds an incomplete call may take", OPT_LIMIT },
	{ 0, "stall-seconds", "n", "seconds a client may leave replies unread", OPT_LIMIT },
	{ 0, "unsent-max", "bytes", "unsent replies of all clients", OPT_LIMIT },
};
/* clang-format on */

static const struct rpc_limits limits = {
	.record_max = MOUNT_RECORD_MAX,
	.reply_max = MOUNT_REPLY_MAX,
	/* A list is cut to one packet. */
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
	/* Three lists a second. MNT is not longer than its call. */
	.datagram_bytes_per_second = 4096,
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
		.limits = &m->setup.limits,
		.arg = m,
	};

	m->setup.limits = limits;
	daemon_options(&m->d, &spec, argc, argv);
	if (m->explain != NULL && !m->d.check_only)
		fatal_config("-x only explains the configuration: add -n");
	if (m->cert != NULL && m->explain == NULL)
		fatal_config(
		    "-o cert only explains the configuration: add -n -x");
	if (m->d.noperands > 0 && m->explain == NULL)
		fatal_config("\"%s\": a path needs -n -x", m->d.operands[0]);
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
