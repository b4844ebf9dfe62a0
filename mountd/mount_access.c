/* SPDX-License-Identifier: ISC */
/*
 * Decides which client may mount which path, and gives a reason that an
 * administrator can act on.
 * Runs in: mountd worker; mountd -n -x.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "mountd/mount_access.h"

#define CLIENTS_SHOWN 3 /* permitted clients that a refusal names */

enum reason {
	GRANTED = 1,
	NOT_EXPORTED,
	OTHER_CLIENTS,
	OTHER_DIALECT,
	HIGH_PORT,
	BY_CERTIFICATE,
	BELOW_CERTIFICATE
};

static void decide(struct mount_verdict *, enum reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void
decide(struct mount_verdict *v, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	v->status = reason == GRANTED || reason == BY_CERTIFICATE ?
	    MNT_OK :
	    MNTERR_ACCES;
	v->key = (uint64_t)reason << 16;
	if (v->at.export != NULL)
		v->key |= v->at.export->id;
	va_start(ap, fmt);
	(void)vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

/* Refuses: "line 3 allows 10.0.0.1, line 4 allows 10.0.0.2 and 7 more". */
static void
refuse_client(struct mount_verdict *v, enum export_names names)
{
	const struct export *e = v->at.export;
	const struct export_client *c, *last = NULL;
	char text[512] = "", where[EXPORTS_WHERE];
	size_t i, n = 0, len = 0;
	int added;

	for (i = 0; i < e->nclients; i++) {
		c = &e->clients[i];
		if (c->options.names != names || c->again ||
		    ++n > CLIENTS_SHOWN || len >= sizeof(text))
			continue;
		if (last != NULL && c->line == last->line &&
		    c->source == last->source)
			added = snprintf(text + len, sizeof(text) - len, ", %s",
			    c->text);
		else
			added = snprintf(text + len, sizeof(text) - len,
			    "%s%s allows %s", len > 0 ? ", " : "",
			    exports_where(c->source, c->line, where), c->text);
		last = c;
		len += added > 0 ? (size_t)added : 0;
	}
	if (n > CLIENTS_SHOWN)
		decide(v, OTHER_CLIENTS, "%.400s and %zu more", text,
		    n - CLIENTS_SHOWN);
	else if (n > 0)
		decide(v, OTHER_CLIENTS, "%s", text);
	else
		decide(v, OTHER_CLIENTS, "%s allows no client%s",
		    exports_where(e->source, e->line, where),
		    names == NAMES_UTF16LE ?
			" with names in UTF-16 (add \"names=utf16le\")" :
			"");
}

/* No entry is for the host's address: does one wait for a certificate? */
static bool
is_by_certificate(struct mount_verdict *v, enum export_names names)
{
	const struct export_client *c =
	    exports_client_cert(v->at.export, names);
	char where[EXPORTS_WHERE];

	if (c == NULL)
		return false;
	(void)exports_where(c->source, c->line, where);
	if (*v->at.below == '\0')
		decide(v, BY_CERTIFICATE,
		    "%s allows %.150s: the root's handle, by which nfsd does "
		    "nothing without the certificate",
		    where, c->text);
	else
		decide(v, BELOW_CERTIFICATE,
		    "%s allows %.150s: only the root of the export can be "
		    "mounted, since mountd sees no certificate",
		    where, c->text);
	return true;
}

/* No entry is for the host. */
static void
refuse_host(struct mount_verdict *v, enum export_names names,
    const struct addr *host, const struct peer_identity *id)
{
	const struct export_client *other;
	char where[EXPORTS_WHERE];

	if (id == NULL && is_by_certificate(v, names))
		return;
	other = exports_client(v->at.export, host, id,
	    names == NAMES_BYTES ? NAMES_UTF16LE : NAMES_BYTES);
	if (other != NULL)
		decide(v, OTHER_DIALECT, "%s is for clients %s",
		    exports_where(other->source, other->line, where),
		    names == NAMES_BYTES ?
			"whose names are UTF-16 (names=utf16le)" :
			"whose names are bytes (add "
			"\"names=utf16le\")");
	else
		refuse_client(v, names);
}

void
mount_access(struct mount_verdict *v, const struct exports *ex,
    const char *path, enum export_names names, const struct addr *host,
    const struct peer_identity *id)
{
	char where[EXPORTS_WHERE];

	memset(v, 0, sizeof(*v));
	v->at = exports_place(ex, path, host, id, names);
	if (v->at.export == NULL) {
		decide(v, NOT_EXPORTED, "not exported");
		return;
	}
	if (v->at.client == NULL) {
		refuse_host(v, names, host, id);
		return;
	}
	if (!exports_port_ok(v->at.client, host)) {
		decide(v, HIGH_PORT,
		    "port %u is not below 1024 (add \"insecure\")", host->port);
		return;
	}
	decide(v, GRANTED, "%s allows %s",
	    exports_where(v->at.client->source, v->at.client->line, where),
	    v->at.client->text);
}
