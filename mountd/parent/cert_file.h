/* SPDX-License-Identifier: ISC */
/*
 * The certificate of a client whose rights "mountd -n -x" explains. Nothing is
 * verified: the question is what a verified certificate would be given.
 * Runs in: mountd -n -x.
 */
#ifndef PARENT_CERT_FILE_H
#define PARENT_CERT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/identity.h"

/*
 * Fills in the identity of a client with this certificate. A value with a slash
 * is a file (PEM or DER), "sha256:HEX" a fingerprint, any other a name. Returns
 * NULL, or what is wrong with it.
 */
const char *cert_identity(struct peer_identity *, const char *value);
/* The same for the bytes of a certificate (DER). False: it is not one. */
bool cert_read(struct peer_identity *, const uint8_t *der, size_t len);

#endif
