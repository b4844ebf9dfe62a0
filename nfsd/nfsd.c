/* SPDX-License-Identifier: ISC */
/*
 * nfsd: NFS version 3 and 2. Command line and start. The processes are in
 * parent.c, worker.c and broker/role.c.
 * Runs in: nfsd parent; the roles pass through role_dispatch().
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/cache/cache.h"
#include "nfsd/nfsd.h"
#include "nfsd/stats.h"
#include "process/options.h"

/* Stable writes that wait at the same time share one journal commit. */
#define THREADS_DEFAULT 16

static const struct role_row roles[] = {
	{ "broker", nfsd_broker },
	{ "worker", nfsd_worker },
};

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'S', "statistics", NULL, "print the statistics of the running nfsd", OPT_FLAG(struct nfsd, print_stats) },
	{ 't', "threads", "n", "file threads of each worker", OPT_UINT(struct nfsd, setup.threads, 1, NFSD_THREADS_MAX) },
	{ 'w', "workers", "n", "worker processes (default: CPUs)", OPT_UINT(struct nfsd, setup.workers, 1, NFSD_WORKERS_MAX) },
};

static const struct daemon_option settings[] = {
	{ 0, "connections-max", "n", "TCP connections of a worker", OPT_LIMIT },
	{ 0, "connections-per-host", "n", "TCP connections of one client", OPT_LIMIT },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", OPT_LIMIT },
	{ 0, "files", "n", "files that each worker keeps open", OPT_UINT(struct nfsd, setup.files, 1, CACHE_FILES_MAX) },
	{ 0, "fragments-max", "n", "fragments of one TCP record", OPT_LIMIT },
	{ 0, "idle-seconds", "n", "seconds a TCP connection may be idle", OPT_LIMIT },
	{ 0, "late-max", "n", "calls of a connection that wait for a disk", OPT_LIMIT },
	{ 0, "mknod", NULL, "unsquashed root may make device nodes", OPT_FLAG(struct nfsd, setup.mknod) },
	{ 0, "partial-max", "bytes", "incomplete calls of all clients", OPT_LIMIT },
	{ 0, "queue-max", "bytes", "unsent replies of one connection", OPT_LIMIT },
	{ 0, "record-max", "bytes", "longest call", OPT_LIMIT },
	{ 0, "record-seconds", "n", "seconds an incomplete call may take", OPT_LIMIT },
	{ 0, "stall-seconds", "n", "seconds a client may leave replies unread", OPT_LIMIT },
	{ 0, "stats", "path", "socket that serves the statistics", OPT_TEXT(struct nfsd, stats_socket, 0) },
	{ 0, "unsent-max", "bytes", "unsent replies of all clients", OPT_LIMIT },
};
/* clang-format on */

/*
 * Places the statistics socket beside the registration socket, unless -o stats
 * names one.
 */
static void
name_stats(struct nfsd *n)
{
	static char path[256];
	const char *slash = strrchr(n->d.socket, '/');
	int len = slash == NULL ? 0 : (int)(slash - n->d.socket + 1);

	if (n->stats_socket != NULL)
		return;
	snprintf(path, sizeof(path), "%.*snfsd.stats", len, n->d.socket);
	n->stats_socket = path;
}

static void
read_options(struct nfsd *n, int argc, char *argv[])
{
	const struct daemon_spec spec = {
		.name = "nfsd",
		.user = "_nfsd",
		.has_exports = true,
		.options = options,
		.noptions = nitems(options),
		.settings = settings,
		.nsettings = nitems(settings),
		.limits = &n->setup.limits,
		.arg = n,
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	n->setup.limits = rpc_limits_default;
	n->setup.limits.record_max = NFS_RECORD_MAX;
	n->setup.threads = THREADS_DEFAULT;
	n->setup.workers = cpus < 1 ? 1 :
	    cpus > NFSD_WORKERS_MAX ? NFSD_WORKERS_MAX :
				      (unsigned int)cpus;
	daemon_options(&n->d, &spec, argc, argv);
	name_stats(n);
	n->setup.strict = n->d.strict;
}

int
main(int argc, char *argv[])
{
	static struct nfsd n;

	log_init("nfsd");
	role_dispatch(argc, argv, roles, nitems(roles));
	read_options(&n, argc, argv);
	if (n.print_stats)
		return stats_print(n.stats_socket);
	if (n.d.check_only)
		return nfsd_check(&n);
	daemon_identity(&n.d);
	n.setup.rootless = n.d.rootless;
	return nfsd_parent(&n);
}
