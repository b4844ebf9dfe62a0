/* SPDX-License-Identifier: ISC */
/*
 * The traffic secrets of a TLS 1.3 session, and what is derived from them
 * (RFC 8446, 7).
 * Runs in: nfsd tls; the parent, which tries kernel TLS.
 */
#ifndef TLS_KEYS_H
#define TLS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#define TLS_SECRET_MAX 48 /* SHA-384 */
#define TLS_KEY_MAX    32
#define TLS_IV	       12

struct tls_secrets {
	uint8_t client[TLS_SECRET_MAX], server[TLS_SECRET_MAX];
	size_t len; /* of each */
	bool has_client, has_server;
};

struct tls_suite {
	uint16_t number; /* of TLS */
	const char *digest;
	const EVP_CIPHER *(*cipher)(void);
	size_t key; /* bytes */
	uint64_t lasts; /* records that one key may make (RFC 8446, 5.5) */
};

/* Takes a line of OpenSSL's key log. */
void tls_secrets_note(struct tls_secrets *, const char *line);
/* Returns NULL if Tern does not offer it. */
const struct tls_suite *tls_suite_find(uint16_t number);
/*
 * Derives len bytes from a secret: "key", "iv", or "traffic upd", which is the
 * secret after a KeyUpdate. Returns false without memory.
 */
bool tls_expand(const struct tls_suite *, const uint8_t *secret,
    size_t secret_len, const char *label, uint8_t *out, size_t len);

#endif
