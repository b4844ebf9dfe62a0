/* SPDX-License-Identifier: ISC */
/*
 * "mountd -n" checks the configuration. "mountd -n -x" prints for each export
 * what a client gets, and which line decides. It calls the function that
 * decides for clients, mount_access(), and goes the way of MNT to the path as
 * the worker's user, mount_walk().
 * Runs in: mountd -n.
 */
#include <sys/socket.h>

#include <netdb.h>
#include <pwd.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "exports/config.h"
#include "mountd/mount_access.h"
#include "mountd/mount_walk.h"
#include "mountd/mountd.h"
#include "mountd/parent/cert_file.h"
#include "mountd/parent/table.h"
#include "resolve/resolve.h"

#define PORT_ASSUMED 1023 /* a port that "secure" permits */
#define HOSTS_MAX    16 /* addresses of a host name */
#define EXIT_REFUSED 2 /* the client gets nothing that was asked for */

static const char *const face[] = {
	[NAMES_BYTES] = "", [NAMES_UTF16LE] = " (names=utf16le)"
};

static void
print_squash(const struct export_options *o)
{
	if (o->all_squash)
		printf("; all users become %u:%u", o->anonuid, o->anongid);
	else if (o->no_root_squash)
		printf("; root stays root, callers without a name become %u:%u",
		    o->anonuid, o->anongid);
	else
		printf("; root becomes %u:%u", o->anonuid, o->anongid);
}

/* Prints "; users 501/1000, 0-99 squashed". */
static void
print_map(const char *what, const struct id_map *m)
{
	const struct id_range *r;

	for (r = m->list; r < m->list + m->n; r++) {
		printf("%s%u", r == m->list ? what : ", ", r->client);
		if (r->count > 1)
			printf("-%u", r->client + (r->count - 1));
		if (r->here == ID_MAP_SQUASH)
			printf(" squashed");
		else
			printf("/%u", r->here);
	}
}

static void
print_options(const struct export_client *c)
{
	const struct export_options *o = &c->options;
	size_t i;

	printf("; %s", o->rw ? "read and write" : "read-only");
	print_squash(o);
	print_map("; users ", &o->uids);
	print_map("; groups ", &o->gids);
	printf("; %s", o->insecure ? "any port" : "port below 1024");
	if (c->cert != 0 || o->xprtsec == PEER_MTLS)
		printf("; TLS with a certificate");
	else if (o->xprtsec == PEER_TLS)
		printf("; TLS");
	if (o->certuser)
		printf("; as the user in the certificate");
	if (o->no_auth_nlm)
		printf("; locks without a right to the file");
	if (o->sync != SYNC_ALL)
		printf("; %s", o->sync == SYNC_NONE ? "async" : "datasync");
	if (o->crossmnt)
		printf("; crossmnt");
	if (o->audit)
		printf("; changes are logged");
	for (i = 0; i < c->naliases; i++)
		printf("%s%s", i == 0 ? "; also as " : ", ", c->aliases[i]);
}

/* The client whose rights are explained, and what it may get. */
struct client {
	struct addr host[HOSTS_MAX];
	size_t nhosts;
	const char *name; /* host name; NULL: an address was given */
	const struct peer_identity *identity; /* NULL: without certificate */
	const struct exports *ex;
	int roots[EXPORTS_MAX]; /* of ex; -1: not served */
	const char *absent[EXPORTS_MAX]; /* why not */
};

/*
 * Returns why MNT would not reach a path that the exports grant, or NULL. A
 * client's root mounts as a rule, so the caller is root, squashed or not.
 */
static const char *
unreachable(const struct client *who, const struct exports_place *at)
{
	static const struct export_options none;
	const struct rpc_cred root = { .flavor = AUTH_SYS };
	const struct mount_caller caller = { &root,
		at->client != NULL ? &at->client->options : &none };
	size_t i = (size_t)(at->export - who->ex->list);
	unsigned int row;
	const char *why;
	int fd;

	if (who->roots[i] == -1)
		return who->absent[i];
	if (*at->below == '\0')
		return NULL;
	fd = mount_walk(who->roots[i], at->below, &caller);
	if (fd == -1) {
		(void)mount_walk_failed(errno, &row, &why);
		return why;
	}
	close(fd);
	return NULL;
}

/*
 * Prints "/srv/x: granted: line 3 allows 10.0.0.0/8; read-only; ...". Returns
 * whether it is granted. mountd sees no certificate, nfsd does.
 */
static bool
explain_path(const struct client *who, const struct addr *host,
    const char *path, enum export_names names)
{
	const char *missing = NULL;
	struct mount_verdict v;

	mount_access(&v, who->ex, path, names, host, NULL);
	if (v.status == MNT_OK && who->identity != NULL)
		mount_access(&v, who->ex, path, names, host, who->identity);
	if (v.status == MNT_OK)
		missing = unreachable(who, &v.at);
	printf("%s%s: %s: %s", path, face[names],
	    v.status == MNT_OK && missing == NULL ? "granted" : "refused",
	    missing != NULL ? missing : v.why);
	if (missing != NULL)
		printf("; %s", v.why);
	if (v.at.client != NULL)
		print_options(v.at.client);
	if (v.at.export != NULL && strcmp(v.at.export->path, path) != 0)
		printf("; inside export %s", v.at.export->path);
	printf("\n");
	return v.status == MNT_OK && missing == NULL;
}

/* Is a line printed for this dialect? An export without clients gets one. */
static bool
has_face(const struct export *e, enum export_names names)
{
	return exports_speaks(e, names) ||
	    (names == NAMES_BYTES && e->nclients == 0);
}

/* Has any export a client of this dialect? Its aliases are no paths. */
static bool
is_spoken(const struct exports *ex, enum export_names names)
{
	size_t i;

	for (i = 0; i < ex->n; i++)
		if (exports_speaks(&ex->list[i], names))
			return true;
	return false;
}

/* Explains one path, or all exports. Returns whether any is granted. */
static bool
explain_host(const struct client *who, const struct addr *host,
    const char *path)
{
	static const enum export_names dialects[] = { NAMES_BYTES,
		NAMES_UTF16LE };
	const struct exports *ex = who->ex;
	const struct export *e;
	bool granted = false;
	size_t i, j;

	if (path != NULL) {
		e = exports_find_above(ex, path);
		for (j = 0; j < nitems(dialects); j++)
			if (e != NULL ? has_face(e, dialects[j]) :
					dialects[j] == NAMES_BYTES ||
				    is_spoken(ex, dialects[j]))
				granted |=
				    explain_path(who, host, path, dialects[j]);
		return granted;
	}
	for (i = 0; i < ex->n; i++)
		for (j = 0; j < nitems(dialects); j++)
			if (has_face(&ex->list[i], dialects[j]))
				granted |= explain_path(who, host,
				    ex->list[i].path, dialects[j]);
	return granted;
}

/* Looks a host name up. Returns false after a message. */
static bool
find_host(struct client *who, const char *name)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM };
	struct addrinfo *list = NULL, *at;
	int error = getaddrinfo(name, NULL, &hints, &list);

	if (error != 0) {
		(void)fprintf(stderr,
		    "-x %s: neither an address (10.0.0.5, 10.0.0.5:912, ::1, "
		    "[::1]:912) nor a host that can be found: %s\n",
		    name, gai_strerror(error));
		return false;
	}
	for (at = list; at != NULL && who->nhosts < HOSTS_MAX; at = at->ai_next)
		who->nhosts += addr_from_sockaddr(&who->host[who->nhosts],
		    at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	who->name = name;
	return true;
}

/* Fills in the client from -x and -o cert. Returns false after a message. */
static bool
read_client(struct client *who, struct peer_identity *id,
    const struct mountd *m)
{
	const char *why;
	size_t i;

	if (addr_parse(&who->host[0], m->explain))
		who->nhosts = 1;
	else if (!find_host(who, m->explain))
		return false;
	for (i = 0; i < who->nhosts; i++)
		if (who->host[i].port == 0)
			who->host[i].port = PORT_ASSUMED;
	if (m->cert == NULL)
		return true;
	why = cert_identity(id, m->cert);
	if (why != NULL) {
		(void)fprintf(stderr, "-o cert=%s: %s\n", m->cert, why);
		return false;
	}
	who->identity = id;
	return true;
}

static void
print_client(const struct client *who, const struct addr *host)
{
	char shown[ADDR_STRLEN];
	const char *name;
	uint32_t i;

	printf("client %s", addr_print(host, shown));
	if (who->name != NULL)
		printf(" (%s)", who->name);
	if (who->identity != NULL)
		printf(", certificate");
	for (i = 0; (name = peer_name(who->identity, i)) != NULL; i++)
		printf("%s %s", i == 0 ? "" : ",", name);
	printf("\n");
}

/*
 * Opens the roots as the parent does, then becomes the worker's user, if this
 * is root and the user exists: both must reach a path.
 */
static void
open_roots(struct client *who, const struct config *conf, struct mountd *m)
{
	bool kernel = table_may_use_kernel();
	const struct export *e;
	struct mountinfo mounts;
	size_t i;

	(void)daemon_raise_files();
	mountinfo_read(&mounts);
	for (i = 0; i < who->ex->n; i++) {
		e = &who->ex->list[i];
		who->roots[i] = table_open(e, conf, &who->absent[i]);
		if (who->roots[i] == -1 || e->handles == FH_BY_ANY ||
		    strcmp(table_kind(e, conf, &mounts, kernel), "refused") !=
			0)
			continue;
		who->absent[i] = "its files cannot be named as handles= says";
		close(who->roots[i]);
		who->roots[i] = -1;
	}
	mountinfo_clear(&mounts);
	if (geteuid() != 0 || getpwnam(m->d.user) == NULL)
		return;
	daemon_identity(&m->d);
	daemon_drop(m->d.uid, m->d.gid);
}

static int
explain(const struct exports *ex, const struct config *conf, struct mountd *m)
{
	char clean[EXPORTS_PATH_MAX + 1];
	static struct peer_identity id;
	static struct client who;
	const char *path = m->d.noperands > 0 ? m->d.operands[0] : NULL;
	bool granted = true;
	size_t i;

	who.ex = ex;
	if (!read_client(&who, &id, m))
		return 1;
	if (path != NULL && !exports_clean_path(path, strlen(path), clean)) {
		(void)fprintf(stderr, "%s: not an absolute path\n", path);
		return 1;
	}
	open_roots(&who, conf, m);
	for (i = 0; i < who.nhosts; i++) {
		print_client(&who, &who.host[i]);
		granted &= explain_host(&who, &who.host[i],
		    path != NULL ? clean : NULL);
	}
	return granted ? 0 : EXIT_REFUSED;
}

/* nfsd's options are not known here, so its certificate may be missing. */
static void
warn_of_demand(const char *file, const struct exports *ex)
{
	enum peer_security most;
	const struct export_client *c = exports_demand(ex, &most);

	if (c != NULL)
		(void)fprintf(stderr,
		    "%s:%d:%d: warning: demands %s: check with \"nfsd -n\" "
		    "that nfsd has %s\n",
		    c->source != NULL ? c->source->name : file, c->line,
		    c->column,
		    most == PEER_TLS ? "TLS" : "TLS with a certificate",
		    most == PEER_TLS ? "a certificate" :
				       "a certificate and a tls-ca");
}

void
mountd_configure(struct config *conf, const struct mountd *m)
{
	/* What nfsd offers is not known here. */
	*conf =
	    (struct config){ .file = m->d.exports_file, .offers = PEER_MTLS };
	forbid_usual(&conf->forbid);
	forbid_add(&conf->forbid, m->d.key_file);
}

int
mountd_check(struct mountd *m)
{
	struct exports_file file;
	struct config conf;
	int status = 0;

	mountd_configure(&conf, m);
	if (!config_load(&file, &conf, &resolve_now, true))
		return 1;
	warn_of_demand(m->d.exports_file, file.list);
	if (m->explain != NULL)
		status = explain(file.list, &conf, m);
	else if (m->d.verbose > 0)
		table_print(file.list);
	else
		table_print_handles(file.list, &conf, m->d.key_file);
	exports_file_clear(&file);
	return status;
}
