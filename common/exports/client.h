/* SPDX-License-Identifier: ISC */
/*
 * Which client entry of an export decides for a host, and what it demands: an
 * address, a port, TLS, a certificate. Pure.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#ifndef EXPORTS_CLIENT_H
#define EXPORTS_CLIENT_H

#include "exports/exports.h"

/*
 * Returns the client entry that decides for this host, or NULL if none permits
 * it. Only entries of this dialect count; the most specific one decides, and
 * one for the host's certificate is more specific than any address.
 */
const struct export_client *exports_client(const struct export *,
    const struct addr *host, const struct peer_identity *, enum export_names);
/* Returns the first entry of this dialect that names certificates, or NULL. */
const struct export_client *exports_client_cert(const struct export *,
    enum export_names);
/* A file that adds to the exports file; NULL stands for the exports file. */
struct exports_source {
	struct exports_source *next;
	unsigned int number; /* in the order of reading, from 1 */
	char name[]; /* "/etc/exports.d/media.exports" */
};

#define EXPORTS_WHERE 320
/* Writes "line 3", or "line 3 of /etc/exports.d/x.exports". Returns out. */
const char *exports_where(const struct exports_source *, int line,
    char out[EXPORTS_WHERE]);
/* Does "secure" permit the host's port? */
bool exports_port_ok(const struct export_client *, const struct addr *host);

/*
 * Reads a fingerprint: 64 hexadecimal digits; a colon may be between bytes. out
 * must be zero.
 */
bool exports_fingerprint(const char *, uint8_t out[PEER_FINGERPRINT]);
#define EXPORTS_OPTIONS_TEXT 4096
/* Writes options as in the file, with their defaults: "ro,root_squash,...". */
void exports_options_print(const struct export_options *,
    char out[EXPORTS_OPTIONS_TEXT]);
/* Returns "none", "tls" or "mtls". */
const char *exports_xprtsec(enum peer_security);
/*
 * Returns the client entry that demands most of the connection, if that is TLS
 * or a certificate, else NULL. A certificate entry demands a certificate.
 */
const struct export_client *exports_demand(const struct exports *,
    enum peer_security *);

/* Root is squashed by its number here, so that no map makes a caller root. */
static inline uint32_t
exports_number(const struct export_options *o, const struct id_map *map,
    uint32_t id, uint32_t anonymous)
{
	if (map->n > 0 && !id_map_in(map, &id))
		return anonymous;
	return id == 0 && !o->no_root_squash ? anonymous : id;
}

/*
 * The user or group here that a number of the client becomes: mapped, then
 * squashed. all_squash is left to the functions that call these.
 */
static inline uint32_t
exports_uid(const struct export_options *o, uint32_t uid)
{
	return exports_number(o, &o->uids, uid, o->anonuid);
}

static inline uint32_t
exports_gid(const struct export_options *o, uint32_t gid)
{
	return exports_number(o, &o->gids, gid, o->anongid);
}

/* The export to which the path of a MNT call leads. */
struct exports_place {
	const struct export *export; /* NULL: none */
	const struct export_client *client; /* NULL: the host is refused */
	const char *alias; /* the alias that matched, or NULL */
	const char *below; /* the rest of path: "" or "sub/dir" */
};

/*
 * Finds the export of a cleaned path. An alias for this host and dialect is
 * preferred if it matches at least as much of path as an export's own path.
 */
struct exports_place exports_place(const struct exports *, const char *path,
    const struct addr *host, const struct peer_identity *, enum export_names);

#endif
