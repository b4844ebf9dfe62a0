/* SPDX-License-Identifier: ISC */
/*
 * nfsd: NFS version 3 and 2. Command line and start. The processes are in
 * parent.c, worker.c and broker/role.c.
 * Runs in: nfsd parent; the roles pass through role_dispatch().
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "base/util.h"
#include "nfsd/cache/cache.h"
#include "nfsd/command/health.h"
#include "nfsd/command/locks.h"
#include "nfsd/command/statistics.h"
#include "nfsd/nfsd.h"
#include "nfsd/roles/descriptors.h"
#include "nfsd/wire/nfs.h"
#include "process/options.h"
#include "process/register.h"
#include "resolve/resolve.h"

#define GRACE_DEFAULT 45 /* seconds */
/* Stable writes that wait at the same time share one journal commit. */
#define THREADS_DEFAULT 16

/* nconnect= of Linux opens up to 16 connections at once. */
static const struct nfsd_tls_limits tls_limits_default = {
	.handshakes = 512, .per_host = 64, .per_second = 200, .seconds = 10
};

static const struct role_row roles[] = {
	{ "broker", nfsd_broker },
	{ "locks", nfsd_locks },
	{ "metrics", nfsd_metrics },
	{ "nlm", nfsd_nlm },
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

static const char *
set_metrics(void *arg, const char *value)
{
	struct nfsd *n = arg;
	struct daemon_listen *l = &n->metrics[n->nmetrics];
	const char *wrong;

	if (n->nmetrics == NFSD_METRICS_MAX)
		return "too many addresses";
	wrong = daemon_read_listen(l, value);
	if (wrong == NULL && l->at.port == 0)
		wrong = "a port is missing: 127.0.0.1@9049";
	if (wrong == NULL)
		n->nmetrics++;
	return wrong;
}

static const char *
set_audit(void *arg, const char *value)
{
	struct nfsd *n = arg;

	if (value[0] != '/' && strcmp(value, "log") != 0 &&
	    strcmp(value, "journal") != 0)
		return "neither log nor journal nor the path of a file";
	n->audit = value;
	return NULL;
}

/* DIRECTORY/ADDRESS */
static const char *
set_floating(void *arg, const char *value)
{
	struct nfsd *n = arg;
	const char *slash = strrchr(value, '/');
	struct addr *at = &n->floating_at[n->nfloating];

	if (n->nfloating == LOCKS_FLOATING_MAX)
		return "too many addresses";
	if (value[0] != '/')
		return "not an absolute path";
	if (!addr_parse(at, slash + 1) || at->port != 0)
		return "the last part of the path is no address";
	n->floating[n->nfloating++] = value;
	return NULL;
}

/* clang-format off */
static const struct daemon_option options[] = {
	{ 'H', "health", NULL, "ask the running nfsd for every export: 0, or 1 and the reason", OPT_FLAG(struct nfsd, health) },
	{ 'L', "locks", NULL, "list the locks of the running nfsd, or free those of drop=address", OPT_FLAG(struct nfsd, list_locks) },
	{ 'S', "statistics", NULL, "print the statistics of the running nfsd", OPT_FLAG(struct nfsd, print_stats) },
	{ 0, "end", "address", "end the connections of a client of the running nfsd", OPT_TEXT(struct nfsd, end, 1) },
	{ 0, "files", NULL, "with -S: the last calls, with users and names", OPT_FLAG(struct nfsd, files) },
	{ 0, "json", NULL, "with -S: JSON", OPT_FLAG(struct nfsd, json) },
	{ 't', "threads", "n", "file threads of each worker", OPT_UINT(struct nfsd, setup.threads, 1, NFSD_THREADS_MAX) },
	{ 'w', "workers", "n", "worker processes (default: CPUs)", OPT_UINT(struct nfsd, setup.workers, 1, NFSD_WORKERS_MAX) },
};

static const struct daemon_option settings[] = {
	{ 0, "admin-group", "group", "group that may use the control socket, as root may", OPT_TEXT(struct nfsd, admin_group, 1) },
	{ 0, "audit", "log|journal|file", "where audited changes are recorded (default: with the log)", OPT_CALL(set_audit) },
	{ 0, "connections-max", "n", "TCP connections of a worker", OPT_LIMIT },
	{ 0, "connections-per-host", "n", "TCP connections of one client", OPT_LIMIT },
	{ 0, "control", "path", "socket for -S and other questions to the running nfsd", OPT_TEXT(struct nfsd, control_socket, 1) },
	{ 0, "datagram-bytes-per-second", "n", "UDP replies beyond 1.5 times their calls; 0: no limit", OPT_LIMIT },
	{ 0, "datagrams-per-second", "n", "UDP calls of one client; 0: no limit", OPT_LIMIT },
	{ 0, "files", "n", "files that each worker keeps open", OPT_UINT(struct nfsd, setup.files, 1, CACHE_FILES_MAX) },
	{ 0, "floating", "directory", "keeps the same for the address that it is named by; repeatable", OPT_CALL(set_floating) },
	{ 0, "fragments-max", "n", "fragments of one TCP record", OPT_LIMIT },
	{ 0, "grace", "seconds", "for clients to reclaim locks", OPT_UINT(struct nfsd, grace, 1, LOCKS_GRACE_MAX) },
	{ 0, "idle-seconds", "n", "seconds a TCP connection may be idle", OPT_LIMIT },
	{ 0, "late-max", "n", "calls of a connection that wait for a disk", OPT_LIMIT },
	{ 0, "lock-port", "port", "port of locks (default: chosen)", OPT_PORT(struct nfsd, lock_port) },
	{ 0, "manage-gids", NULL, "groups of users are those of this machine", OPT_FLAG(struct nfsd, manage_gids) },
	{ 0, "metrics", "addr@port", "Prometheus may ask here; repeatable", OPT_CALL(set_metrics) },
	{ 0, "mknod", NULL, "unsquashed root may make device nodes", OPT_FLAG(struct nfsd, setup.mknod) },
	{ 0, "nolocks", NULL, "serve no locks, and say so to clients", OPT_FLAG(struct nfsd, nolocks) },
	{ 0, "partial-max", "bytes", "incomplete calls of all clients", OPT_LIMIT },
	{ 0, "queue-max", "bytes", "unsent replies of one connection", OPT_LIMIT },
	{ 0, "record-max", "bytes", "longest call", OPT_LIMIT },
	{ 0, "record-seconds", "n", "seconds an incomplete call may take", OPT_LIMIT },
	{ 0, "stall-seconds", "n", "seconds a client may leave replies unread", OPT_LIMIT },
	{ 0, "state", "directory", "keeps which clients hold locks (default: that of the key)", OPT_PATH(struct nfsd, state_dir) },
	{ 0, "status-port", "port", "port of the status monitor (default: that of locks)", OPT_PORT(struct nfsd, status_port) },
	{ 0, "timeout", "seconds", "with -H: for all answers", OPT_UINT(struct nfsd, timeout, 1, 300) },
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
 * Places the control socket beside the registration socket, unless -o control
 * names one.
 */
static void
name_control(struct nfsd *n)
{
	static char path[256];

	if (n->control_socket == NULL)
		n->control_socket = register_beside(n->d.socket, "nfsd.control",
		    path, sizeof(path));
}

/* Keeps the list of clients with locks beside the key. */
static void
name_state(struct nfsd *n)
{
	static char path[PATH_MAX];
	const char *slash = strrchr(n->d.key_file, '/');

	if (n->state_dir != NULL)
		return;
	if (slash == NULL)
		n->state_dir = ".";
	else if (snprintf(path, sizeof(path), "%.*s",
		     slash == n->d.key_file ? 1 : (int)(slash - n->d.key_file),
		     n->d.key_file) < (int)sizeof(path))
		n->state_dir = path;
	else
		fatal_config("-k %s: too long", n->d.key_file);
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
		.max_operands = 2,
		.operands = "[seconds [count] | drop=address]",
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
	n->setup.files = DESCRIPTORS_FILES;
	n->setup.tls = tls_limits_default;
	n->grace = GRACE_DEFAULT;
	n->setup.workers = cpus < 1 ? 1 :
	    cpus > NFSD_WORKERS_MAX ? NFSD_WORKERS_MAX :
				      (unsigned int)cpus;
	daemon_options(&n->d, &spec, argc, argv);
	name_control(n);
	name_tls(n);
	name_state(n);
	n->setup.strict = n->d.strict;
}

/* -S [seconds [count]]. Ends the process. */
static void NO_RETURN
ask_running(const struct nfsd *n)
{
	struct statistics s = { .path = n->control_socket,
		.json = n->json,
		.files = n->files,
		.end = n->end };
	unsigned int *numbers[] = { &s.seconds, &s.count };
	long long value;
	int i;

	for (i = 0; i < n->d.noperands; i++) {
		if (number_read(n->d.operands[i], 1, 86400, &value) != NULL)
			fatal_config("-S \"%s\": not a number from 1 to 86400",
			    n->d.operands[i]);
		*numbers[i] = (unsigned int)value;
	}
	exit(statistics_run(&s));
}

/* Operands and some flags are only for -S. */
static void
check_flags(const struct nfsd *n)
{
	if (n->print_stats || n->end != NULL)
		ask_running(n);
	if (n->list_locks)
		exit(locks_command(n->control_socket, n->d.noperands,
		    n->d.operands));
	if (n->d.noperands > 0)
		fatal_config("unexpected argument \"%s\"", n->d.operands[0]);
	if (n->json || n->files)
		fatal_config("--json and --files: useless without -S");
	if (n->health)
		exit(health_command(n->control_socket,
		    n->timeout != 0 ? n->timeout : HEALTH_SECONDS));
	if (n->timeout != 0)
		fatal_config("-o timeout: useless without -H");
}

int
main(int argc, char *argv[])
{
	static struct nfsd n;

	log_init("nfsd");
	role_dispatch(argc, argv, roles, nitems(roles));
	read_options(&n, argc, argv);
	check_flags(&n);
	if (n.d.check_only)
		return nfsd_check(&n);
	daemon_identity(&n.d);
	n.setup.rootless = n.d.rootless;
	return nfsd_parent(&n);
}
