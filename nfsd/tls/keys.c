/* SPDX-License-Identifier: ISC */
/*
 * Secrets and keys: see keys.h. OpenSSL makes the handshake. It tells the
 * secrets by its key log and in no other way.
 * Runs in: nfsd tls; the parent, which tries kernel TLS.
 */
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/kdf.h>

#include "base/util.h"
#include "nfsd/tls/keys.h"

/* Of the 2^24.5 records of a key of AES the last third is for what is under way. */
static const struct tls_suite suites[] = {
	{ 0x1301, "SHA256", EVP_aes_128_gcm, 16, 1 << 24 },
	{ 0x1302, "SHA384", EVP_aes_256_gcm, 32, 1 << 24 },
	{ 0x1303, "SHA256", EVP_chacha20_poly1305, 32, UINT64_MAX },
};

const struct tls_suite *
tls_suite_find(uint16_t number)
{
	size_t i;

	for (i = 0; i < nitems(suites); i++)
		if (suites[i].number == number)
			return &suites[i];
	return NULL;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the bytes of the hexadecimal text; 0 if it is not right. */
static size_t
unhex(uint8_t out[TLS_SECRET_MAX], const char *text)
{
	size_t n;
	int high, low;

	for (n = 0; n < TLS_SECRET_MAX && text[0] != '\0'; n++, text += 2) {
		high = digit(text[0]);
		low = high == -1 ? -1 : digit(text[1]);
		if (low == -1)
			return 0;
		out[n] = (uint8_t)(high << 4 | low);
	}
	return text[0] == '\0' ? n : 0;
}

void
tls_secrets_note(struct tls_secrets *s, const char *line)
{
	static const char client[] = "CLIENT_TRAFFIC_SECRET_0 ";
	static const char server[] = "SERVER_TRAFFIC_SECRET_0 ";
	const char *secret = strrchr(line, ' ');

	if (secret == NULL)
		return;
	if (strncmp(line, client, strlen(client)) == 0) {
		s->len = unhex(s->client, secret + 1);
		s->has_client = s->len > 0;
	} else if (strncmp(line, server, strlen(server)) == 0)
		s->has_server = unhex(s->server, secret + 1) > 0;
}

/* HKDF-Expand-Label with an empty context. */
bool
tls_expand(const struct tls_suite *suite, const uint8_t *secret,
    size_t secret_len, const char *label, uint8_t *out, size_t len)
{
	/* OpenSSL only reads these */
	union {
		const void *in;
		void *out;
	} digest = { .in = suite->digest }, key = { .in = secret },
	  prefix = { .in = "tls13 " }, name = { .in = label };
	int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
		    digest.out, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.out,
		    secret_len),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX,
		    prefix.out, 6),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL,
		    name.out, strlen(label)),
		OSSL_PARAM_construct_end(),
	};
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS13-KDF", NULL);
	EVP_KDF_CTX *ctx = kdf == NULL ? NULL : EVP_KDF_CTX_new(kdf);
	bool done = ctx != NULL && EVP_KDF_derive(ctx, out, len, params) == 1;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return done;
}
