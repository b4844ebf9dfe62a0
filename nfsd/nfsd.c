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
#include "resolve/resolve.h"

/* Stable writes that wait at the same time share one journal commit. */
#define THREADS_DEFAULT 16

/* nconnect= of Linux opens up to 16 connections at once. */
static const struct nfsd_tls_limits tls_limits_default = {
	.handshakes = 512, .per_host = 64, .per_second = 200, .seconds = 10
};

static const struct role_row roles[] = {
	{ "broker", nfsd_broker },
	{ "resolver", resolve_role },
	{ "tls", nfsd_tls },
	{ "worker", nfsd_worker },
};

static const char *
set_tls(void *arg, const char *value)
{
	static const char *const forms[] = { [NFSD_TLS_KERNEL] = "kernel",
		[NFSD_TLS_RELAY] = "relay",
		[NFSD_TLS_OFF] = "off" };
	struct nfsd *n = arg;
	size_t i;

	for (i = 0; i < nitems(forms); i++)
		if (forms[i] != NULL && strcmp(forms[i], value) == 0) {
			n->tls = (enum nfsd_tls_form)i;
			return NULL;
		}
	return "neither kernel nor relay nor off";
}

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'S', "statistics", NULL, "print the statistics of the running nfsd", OPT_FLAG(struct nfsd, print_stats) },
	{ 't', "threads", "n", "file threads of each worker", OPT_UINT(struct nfsd, setup.threads, 1, NFSD_THREADS_MAX) },
	{ 'w', "workers", "n", "worker processes (default: CPUs)", OPT_UINT(struct nfsd, setup.workers, 1, NFSD_WORKERS_MAX) },
};

static const struct daemon_option settings[] = {
	{ 0, "connections-max", "n", "TCP connections of a worker", OPT_LIMIT },
	{ 0, "connections-per-host", "n", "TCP connections of one client", OPT_LIMIT },
	{ 0, "datagram-bytes-per-second", "n", "UDP replies beyond 1.5 times their calls; 0: no limit", OPT_LIMIT },
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
	{ 0, "tls", "kernel|relay|off", "what encrypts (default: the kernel if it can)", OPT_CALL(set_tls) },
	{ 0, "tls-ca", "file", "certificates that may sign clients", OPT_TEXT(struct nfsd, tls_ca, 1) },
	{ 0, "tls-cert", "file", "certificate of the server, and its chain", OPT_TEXT(struct nfsd, tls_cert, 1) },
	{ 0, "tls-crl", "file", "revoked certificates of clients", OPT_TEXT(struct nfsd, tls_crl, 1) },
	{ 0, "tls-domain", "name", "domain of users in certificates", OPT_TEXT(struct nfsd, tls_domain, 1) },
	{ 0, "tls-handshakes", "n", "TLS handshakes of a worker at once", OPT_UINT(struct nfsd, setup.tls.handshakes, 1, 65536) },
	{ 0, "tls-handshakes-per-host", "n", "the same, of one client", OPT_UINT(struct nfsd, setup.tls.per_host, 1, 65536) },
	{ 0, "tls-handshakes-per-second", "n", "the same, begun in a second", OPT_UINT(struct nfsd, setup.tls.per_second, 1, 1000000) },
	{ 0, "tls-key", "file", "private key of the server", OPT_TEXT(struct nfsd, tls_key, 1) },
	{ 0, "tls-seconds", "n", "seconds a TLS handshake may take", OPT_UINT(struct nfsd, setup.tls.seconds, 1, 3600) },
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

/* Uses the usual files if they are there and no others are named. */
static void
name_tls(struct nfsd *n)
{
	static const char cert[] = "/etc/tern/server.pem";
	static const char key[] = "/etc/tern/server.key";

	if (n->tls_domain != NULL &&
	    strlcpy(n->setup.tls_domain, n->tls_domain,
		sizeof(n->setup.tls_domain)) >= sizeof(n->setup.tls_domain))
		fatal_config("-o tls-domain=%s: too long", n->tls_domain);
	if (n->tls == NFSD_TLS_OFF) {
		n->tls_cert = n->tls_key = n->tls_ca = n->tls_crl = NULL;
		return;
	}
	if (n->tls_cert == NULL && n->tls_key == NULL &&
	    access(cert, F_OK) == 0 && access(key, F_OK) == 0) {
		n->tls_cert = cert;
		n->tls_key = key;
	}
	if ((n->tls_cert == NULL) != (n->tls_key == NULL))
		fatal_config(
		    "-o tls-cert and -o tls-key: one without the other");
	if (n->tls_cert == NULL && (n->tls_ca != NULL || n->tls_crl != NULL))
		fatal_config(
		    "-o tls-ca and -o tls-crl: useless without -o tls-cert "
		    "and -o tls-key");
	if (n->tls_cert == NULL && n->tls == NFSD_TLS_KERNEL)
		fatal_config("-o tls=kernel: useless without -o tls-cert and "
			     "-o tls-key");
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
	n->setup.tls = tls_limits_default;
	n->setup.workers = cpus < 1 ? 1 :
	    cpus > NFSD_WORKERS_MAX ? NFSD_WORKERS_MAX :
				      (unsigned int)cpus;
	daemon_options(&n->d, &spec, argc, argv);
	name_stats(n);
	name_tls(n);
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
