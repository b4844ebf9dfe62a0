/* SPDX-License-Identifier: ISC */
/*
 * What a client's certificate says, as the worker gets it.
 * Runs in: nfsd tls.
 */
#ifndef TLS_CERTIFICATE_H
#define TLS_CERTIFICATE_H

#include <openssl/x509.h>

#include "rpc/identity.h"

/* Fills in everything except key, users and security. */
void tls_certificate_read(struct peer_identity *, X509 *);

#endif
