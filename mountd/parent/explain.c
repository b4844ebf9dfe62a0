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

#define PORT_ASSUMED 1023 /* a port that "secure" permits */

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
	if (o->async)
		printf("; async");
	if (o->crossmnt)
		printf("; crossmnt");
	for (i = 0; i < c->naliases; i++)
		printf("%s%s", i == 0 ? "; also as " : ", ", c->aliases[i]);
}

/* Prints "/srv/x: granted: line 3 allows 10.0.0.0/8; read-only; ...". */
static void
explain_path(const struct exports *ex, const char *path,
    const struct addr *host, enum export_names names)
{
	struct mount_verdict v;

	mount_access(&v, ex, path, names, host);
	printf("%s%s: %s: %s", path, face[names],
	    v.status == MNT_OK ? "granted" : "refused", v.why);
	if (v.at.client != NULL)
		print_options(v.at.client);
	if (v.at.export != NULL && strcmp(v.at.export->path, path) != 0)
		printf("; inside export %s", v.at.export->path);
	printf("\n");
}

/* Is a line printed for this dialect? An export without clients gets one. */
static bool
has_face(const struct export *e, enum export_names names)
{
	return exports_speaks(e, names) ||
	    (names == NAMES_BYTES && e->nclients == 0);
}

static void
explain_all(const struct exports *ex, const struct addr *host)
{
	const struct export *e;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		if (has_face(e, NAMES_BYTES))
			explain_path(ex, e->path, host, NAMES_BYTES);
		if (has_face(e, NAMES_UTF16LE))
			explain_path(ex, e->path, host, NAMES_UTF16LE);
	}
}

static int
explain(const struct exports *ex, const struct mountd *m)
{
	char clean[EXPORTS_PATH_MAX + 1], shown[ADDR_STRLEN];
	const struct export *e;
	const char *path;
	struct addr host;

	if (!addr_parse(&host, m->explain)) {
		(void)fprintf(stderr,
		    "-x %s: not an address (10.0.0.5, 10.0.0.5:912, ::1, "
		    "[::1]:912)\n",
		    m->explain);
		return 1;
	}
	if (host.port == 0)
		host.port = PORT_ASSUMED;
	printf("client %s\n", addr_print(&host, shown));
	if (m->d.noperands == 0) {
		explain_all(ex, &host);
		return 0;
	}
	path = m->d.operands[0];
	if (!exports_clean_path(path, strlen(path), clean)) {
		(void)fprintf(stderr, "%s: not an absolute path\n", path);
		return 1;
	}
	e = exports_find_above(ex, clean);
	if (e == NULL || has_face(e, NAMES_BYTES))
		explain_path(ex, clean, &host, NAMES_BYTES);
	if (e == NULL || has_face(e, NAMES_UTF16LE))
		explain_path(ex, clean, &host, NAMES_UTF16LE);
	return 0;
}

int
mountd_check(const struct mountd *m)
{
	struct exports_file file;
	int status = 0;

	if (!config_load(&file, m->d.exports_file, true))
		return 1;
	if (m->explain != NULL)
		status = explain(file.list, m);
	exports_file_clear(&file);
	return status;
}
