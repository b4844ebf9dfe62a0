/* SPDX-License-Identifier: ISC */
/*
 * "mountd -n" checks the configuration. "mountd -n -x" prints for each export
 * what a client gets, and which line decides. It calls the function that
 * decides for clients, mount_access().
 * Runs in: mountd -n.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "exports/config.h"
#include "mountd/mount_access.h"
#include "mountd/mountd.h"
#include "mountd/parent/cert_file.h"

#define PORT_ASSUMED 1023 /* a port that "secure" permits */
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

static void
print_options(const struct export_client *c)
{
	const struct export_options *o = &c->options;
	size_t i;

	printf("; %s", o->rw ? "read and write" : "read-only");
	print_squash(o);
	printf("; %s", o->insecure ? "any port" : "port below 1024");
	if (c->cert != 0 || o->xprtsec == PEER_MTLS)
		printf("; TLS with a certificate");
	else if (o->xprtsec == PEER_TLS)
		printf("; TLS");
	if (o->certuser)
		printf("; as the user in the certificate");
	if (o->sync != SYNC_ALL)
		printf("; %s", o->sync == SYNC_NONE ? "async" : "datasync");
	if (o->crossmnt)
		printf("; crossmnt");
	for (i = 0; i < c->naliases; i++)
		printf("%s%s", i == 0 ? "; also as " : ", ", c->aliases[i]);
}

/* The client whose rights are explained. */
struct client {
	struct addr host;
	const struct peer_identity *identity; /* NULL: without certificate */
};

/*
 * Prints "/srv/x: granted: line 3 allows 10.0.0.0/8; read-only; ...". Returns
 * whether it is granted.
 */
static bool
explain_path(const struct exports *ex, const char *path,
    const struct client *who, enum export_names names)
{
	struct mount_verdict v;

	mount_access(&v, ex, path, names, &who->host, who->identity);
	printf("%s%s: %s: %s", path, face[names],
	    v.status == MNT_OK ? "granted" : "refused", v.why);
	if (v.at.client != NULL)
		print_options(v.at.client);
	if (v.at.export != NULL && strcmp(v.at.export->path, path) != 0)
		printf("; inside export %s", v.at.export->path);
	printf("\n");
	return v.status == MNT_OK;
}

/* Is a line printed for this dialect? An export without clients gets one. */
static bool
has_face(const struct export *e, enum export_names names)
{
	return exports_speaks(e, names) ||
	    (names == NAMES_BYTES && e->nclients == 0);
}

/* Returns whether any is granted. */
static bool
explain_all(const struct exports *ex, const struct client *who)
{
	const struct export *e;
	bool granted = false;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		if (has_face(e, NAMES_BYTES))
			granted |= explain_path(ex, e->path, who, NAMES_BYTES);
		if (has_face(e, NAMES_UTF16LE))
			granted |=
			    explain_path(ex, e->path, who, NAMES_UTF16LE);
	}
	return granted;
}

/* Fills in the client from -x and -o cert. Returns false after a message. */
static bool
read_client(struct client *who, struct peer_identity *id,
    const struct mountd *m)
{
	const char *why;

	if (!addr_parse(&who->host, m->explain)) {
		(void)fprintf(stderr,
		    "-x %s: not an address (10.0.0.5, 10.0.0.5:912, ::1, "
		    "[::1]:912)\n",
		    m->explain);
		return false;
	}
	if (who->host.port == 0)
		who->host.port = PORT_ASSUMED;
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
print_client(const struct client *who)
{
	char shown[ADDR_STRLEN];
	const char *name;
	uint32_t i;

	printf("client %s", addr_print(&who->host, shown));
	if (who->identity != NULL)
		printf(", certificate");
	for (i = 0; (name = peer_name(who->identity, i)) != NULL; i++)
		printf("%s %s", i == 0 ? "" : ",", name);
	printf("\n");
}

static int
explain(const struct exports *ex, const struct mountd *m)
{
	char clean[EXPORTS_PATH_MAX + 1];
	static struct peer_identity id;
	struct client who = { 0 };
	const struct export *e;
	bool granted = false;
	const char *path;

	if (!read_client(&who, &id, m))
		return 1;
	print_client(&who);
	if (m->d.noperands == 0)
		return explain_all(ex, &who) ? 0 : EXIT_REFUSED;
	path = m->d.operands[0];
	if (!exports_clean_path(path, strlen(path), clean)) {
		(void)fprintf(stderr, "%s: not an absolute path\n", path);
		return 1;
	}
	e = exports_find_above(ex, clean);
	if (e == NULL || has_face(e, NAMES_BYTES))
		granted |= explain_path(ex, clean, &who, NAMES_BYTES);
	if (e == NULL || has_face(e, NAMES_UTF16LE))
		granted |= explain_path(ex, clean, &who, NAMES_UTF16LE);
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
		    file, c->line, c->column,
		    most == PEER_TLS ? "TLS" : "TLS with a certificate",
		    most == PEER_TLS ? "a certificate" :
				       "a certificate and a tls-ca");
}

int
mountd_check(const struct mountd *m)
{
	struct exports_file file;
	int status = 0;

	if (!config_load(&file, m->d.exports_file, PEER_MTLS, NULL, true))
		return 1;
	warn_of_demand(m->d.exports_file, file.list);
	if (m->explain != NULL)
		status = explain(file.list, m);
	exports_file_clear(&file);
	return status;
}
