/* SPDX-License-Identifier: ISC */
/*
 * nfsd: NFS version 3 and 2. Command line and start; the processes are in
 * parent.c, worker.c and broker/role.c.
 * Runs in: nfsd parent; the roles pass through role_dispatch().
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "base/util.h"
#include "nfsd/door/cache.h"
#include "nfsd/nfsd.h"
#include "nfsd/stats.h"

/* Stable writes that wait together share one commit of the journal. */
#define THREADS_DEFAULT 16

static const struct role_row roles[] = {
	{ "broker", nfsd_broker },
	{ "worker", nfsd_worker },
};

static const char *
set_number(const char *value, long long max, unsigned int *out)
{
	long long n;
	const char *why = number_read(value, 1, max, &n);

	if (why == NULL)
		*out = (unsigned int)n;
	return why;
}

static const char *
set_threads(void *arg, const char *value)
{
	return set_number(value, NFSD_THREADS_MAX,
	    &((struct nfsd *)arg)->setup.threads);
}

static const char *
set_workers(void *arg, const char *value)
{
	return set_number(value, NFSD_WORKERS_MAX,
	    &((struct nfsd *)arg)->setup.workers);
}

static const char *
set_files(void *arg, const char *value)
{
	return set_number(value, CACHE_FILES_MAX,
	    &((struct nfsd *)arg)->setup.files);
}

static const char *
set_mknod(void *arg, const char *value UNUSED)
{
	((struct nfsd *)arg)->setup.mknod = true;
	return NULL;
}

static const char *
set_print(void *arg, const char *value UNUSED)
{
	((struct nfsd *)arg)->print_stats = true;
	return NULL;
}

static const char *
set_stats(void *arg, const char *value)
{
	((struct nfsd *)arg)->stats_socket = value;
	return NULL;
}

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'S', "statistics", NULL, "print the statistics of the running nfsd", set_print },
	{ 't', "threads", "n", "file threads of each worker", set_threads },
	{ 'w', "workers", "n", "worker processes (default: CPUs)", set_workers },
};

static const struct daemon_option settings[] = {
	{ 0, "connections-max", "n", "TCP connections of a worker", NULL },
	{ 0, "connections-per-host", "n", "TCP connections of one client", NULL },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", NULL },
	{ 0, "files", "n", "files each worker keeps open", set_files },
	{ 0, "fragments-max", "n", "pieces of one TCP record", NULL },
	{ 0, "idle-seconds", "n", "close an idle TCP connection after", NULL },
	{ 0, "late-max", "n", "calls of a connection that wait for a disk", NULL },
	{ 0, "mknod", NULL, "unsquashed root may make device nodes", set_mknod },
	{ 0, "partial-max", "bytes", "unfinished calls of all clients", NULL },
	{ 0, "queue-max", "bytes", "unsent replies of one connection", NULL },
	{ 0, "record-max", "bytes", "longest call", NULL },
	{ 0, "record-seconds", "n", "an unfinished call may take", NULL },
	{ 0, "stall-seconds", "n", "a client may not read its replies for", NULL },
	{ 0, "stats", "path", "socket that tells the statistics", set_stats },
	{ 0, "unsent-max", "bytes", "unsent replies of all clients", NULL },
};
/* clang-format on */

/* The statistics lie beside the registration socket, unless told otherwise. */
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
		.set_limit = rpc_limits_set,
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
