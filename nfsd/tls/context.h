/* SPDX-License-Identifier: ISC */
/*
 * The server's certificate and key, the authorities of clients and what they
 * have revoked, as an OpenSSL context. It has the rules of RPC with TLS: only
 * TLS 1.3, no tickets, no early data, ALPN "sunrpc" or none.
 * Runs in: nfsd tls; the check of a configuration (nfsd -n).
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

enum tls_file { TLS_CERT, TLS_KEY, TLS_CA, TLS_CRL, TLS_FILES };

struct tls_context {
	SSL_CTX *ctx;
	X509_STORE *store; /* of clients; NULL: none is asked for */
	/* When the first of each kind ends, in seconds since 1970; 0: none. */
	int64_t ends[TLS_FILES];
};

/*
 * Reads the files from these descriptors (-1: none; certificate and key must
 * be there). Returns NULL, or what is wrong; then nothing is kept.
 */
const char *tls_context_load(struct tls_context *, const int fds[TLS_FILES]);
void tls_context_clear(struct tls_context *);
/*
 * Verifies a client's certificate again. Returns NULL or what is wrong with it.
 */
const char *tls_context_verify(const struct tls_context *, X509 *,
    STACK_OF(X509) * chain);
/*
 * Verifies in a handshake, in place of OpenSSL's own: chain, dates and CRL, then
 * the usage. Returns NULL or what is wrong.
 */
const char *tls_context_check(X509_STORE_CTX *);
/* Text for an error of OpenSSL, from its queue. Never NULL. */
const char *tls_error(const char *otherwise);

#endif
