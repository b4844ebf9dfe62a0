/* SPDX-License-Identifier: ISC */
/*
 * See client.h. The entries of an export are sorted, most specific first, so
 * the first that matches decides.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exports/client.h"

#define PORT_RESERVED 1024 /* IPPORT_RESERVED */
#define CERT_PREFIX   5 /* of "cert:laptop.example.org" */

static bool
has_peer_name(const struct peer_identity *id, const char *wanted)
{
	const char *name;
	uint32_t i;

	for (i = 0; (name = peer_name(id, i)) != NULL; i++) {
		if (strcasecmp(name, wanted) == 0)
			return true;
	}
	return false;
}

static bool
cert_matches(const struct export_client *c, const struct peer_identity *id)
{
	if (peer_security(id) != PEER_MTLS)
		return false;
	if (c->cert == CERT_FINGERPRINT)
		return memcmp(c->fingerprint, id->fingerprint,
			   sizeof(c->fingerprint)) == 0;
	return c->cert == CERT_ANY || has_peer_name(id, c->text + CERT_PREFIX);
}

static bool
client_matches(const struct export_client *c, const struct addr *host,
    const struct peer_identity *id)
{
	if (c->cert != 0)
		return cert_matches(c, id);
	return c->any || addr_in_prefix(host, &c->net, c->plen);
}

const struct export_client *
exports_client(const struct export *e, const struct addr *host,
    const struct peer_identity *id, enum export_names names)
{
	const struct export_client *c;
	size_t i;

	for (i = 0; i < e->nclients; i++) {
		c = &e->clients[i];
		if (c->options.names == names && client_matches(c, host, id))
			return c;
	}
	return NULL;
}

const struct export_client *
exports_client_cert(const struct export *e, enum export_names names)
{
	size_t i;

	/* They come first. */
	for (i = 0; i < e->nclients && e->clients[i].cert != 0; i++) {
		if (e->clients[i].options.names == names)
			return &e->clients[i];
	}
	return NULL;
}

const char *
exports_xprtsec(enum peer_security s)
{
	static const char *const names[] = {
		[PEER_PLAIN] = "none", [PEER_TLS] = "tls", [PEER_MTLS] = "mtls"
	};

	return names[s];
}

const struct export_client *
exports_demand(const struct exports *ex, enum peer_security *most)
{
	const struct export_client *c, *found = NULL;
	enum peer_security s;
	size_t i, j;

	*most = PEER_PLAIN;
	for (i = 0; i < ex->n; i++) {
		for (j = 0; j < ex->list[i].nclients; j++) {
			c = &ex->list[i].clients[j];
			s = c->cert != 0 ? PEER_MTLS : c->options.xprtsec;
			if (s <= *most)
				continue;
			*most = s;
			found = c;
		}
	}
	return found;
}

const char *
exports_where(const struct exports_source *source, int line,
    char out[EXPORTS_WHERE])
{
	if (source == NULL)
		(void)snprintf(out, EXPORTS_WHERE, "line %d", line);
	else
		(void)snprintf(out, EXPORTS_WHERE, "line %d of %s", line,
		    source->name);
	return out;
}

bool
exports_port_ok(const struct export_client *c, const struct addr *host)
{
	return c->options.insecure || host->port < PORT_RESERVED;
}
