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
/* Does "secure" permit the host's port? */
bool exports_port_ok(const struct export_client *, const struct addr *host);

/*
 * Reads a fingerprint: 64 hexadecimal digits; a colon may be between bytes. out
 * must be zero.
 */
bool exports_fingerprint(const char *, uint8_t out[PEER_FINGERPRINT]);
/* Returns "none", "tls" or "mtls". */
const char *exports_xprtsec(enum peer_security);
/*
 * Returns the client entry that demands most of the connection, if that is TLS
 * or a certificate, else NULL. A certificate entry demands a certificate.
 */
const struct export_client *exports_demand(const struct exports *,
    enum peer_security *);

#endif
