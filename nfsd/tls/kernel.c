/* SPDX-License-Identifier: ISC */
/*
 * Kernel TLS: see kernel.h. OpenSSL 3.0 itself gives the kernel only the
 * sending half of TLS 1.3. So the keys are derived here from the traffic
 * secrets, as RFC 8446, 7.3 says. Both directions begin with record 0, since
 * no ticket is sent and OpenSSL has read nothing ahead.
 * Runs in: nfsd tls; tls_kernel_works in the parent.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <linux/tls.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "base/util.h"
#include "nfsd/tls/kernel.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

#define KEY_MAX 32
#define IV	12

union crypto_info {
	struct tls_crypto_info head;
	struct tls12_crypto_info_aes_gcm_128 gcm128;
	struct tls12_crypto_info_aes_gcm_256 gcm256;
	struct tls12_crypto_info_chacha20_poly1305 chacha;
};

struct suite {
	uint16_t number; /* of TLS */
	uint16_t cipher; /* of the kernel */
	const char *digest;
	size_t key;
	size_t salt; /* first bytes of the iv that the kernel wants apart */
	size_t size; /* of the struct for the kernel */
	size_t iv_at, key_at, salt_at; /* in it */
};

#define AT(type, field) offsetof(struct tls12_crypto_info_##type, field)

static const struct suite suites[] = {
	{ 0x1301, TLS_CIPHER_AES_GCM_128, "SHA256", 16, 4,
	    sizeof(struct tls12_crypto_info_aes_gcm_128), AT(aes_gcm_128, iv),
	    AT(aes_gcm_128, key), AT(aes_gcm_128, salt) },
	{ 0x1302, TLS_CIPHER_AES_GCM_256, "SHA384", 32, 4,
	    sizeof(struct tls12_crypto_info_aes_gcm_256), AT(aes_gcm_256, iv),
	    AT(aes_gcm_256, key), AT(aes_gcm_256, salt) },
	{ 0x1303, TLS_CIPHER_CHACHA20_POLY1305, "SHA256", 32, 0,
	    sizeof(struct tls12_crypto_info_chacha20_poly1305),
	    AT(chacha20_poly1305, iv), AT(chacha20_poly1305, key),
	    AT(chacha20_poly1305, iv) },
};

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

/* HKDF-Expand-Label with an empty context: RFC 8446, 7.1. */
static bool
expand(const struct suite *suite, const uint8_t *secret, size_t secret_len,
    const char *label, uint8_t *out, size_t len)
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

/* Installs the key of one direction: TLS_TX or TLS_RX. */
static bool
install(int fd, int direction, const struct suite *suite, const uint8_t *secret,
    size_t len)
{
	union crypto_info info;
	uint8_t key[KEY_MAX], iv[IV], *at = (uint8_t *)&info;
	bool done = false;

	memset(&info, 0, sizeof(info)); /* begins with record 0 */
	info.head.version = TLS_1_3_VERSION;
	info.head.cipher_type = suite->cipher;
	if (expand(suite, secret, len, "key", key, suite->key) &&
	    expand(suite, secret, len, "iv", iv, sizeof(iv))) {
		memcpy(at + suite->key_at, key, suite->key);
		memcpy(at + suite->salt_at, iv, suite->salt);
		memcpy(at + suite->iv_at, iv + suite->salt, IV - suite->salt);
		done = setsockopt(fd, SOL_TLS, direction, &info,
			   (socklen_t)suite->size) == 0;
	}
	OPENSSL_cleanse(key, sizeof(key));
	OPENSSL_cleanse(iv, sizeof(iv));
	OPENSSL_cleanse(&info, sizeof(info));
	return done;
}

const char *
tls_kernel_install(int fd, uint16_t number, const struct tls_secrets *s)
{
	const struct suite *suite = NULL;
	size_t i;

	for (i = 0; i < nitems(suites); i++)
		if (suites[i].number == number)
			suite = &suites[i];
	if (suite == NULL || !s->has_client || !s->has_server)
		return "kernel TLS: no keys for this cipher";
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) == -1)
		return "kernel TLS: the kernel refuses it";
	if (!install(fd, TLS_TX, suite, s->server, s->len) ||
	    !install(fd, TLS_RX, suite, s->client, s->len))
		return "kernel TLS: the kernel refuses the keys";
	return NULL;
}

bool
tls_kernel_works(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const uint8_t nothing[TLS_SECRET_MAX];
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool works = server != -1 && client != -1 &&
	    bind(server, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(server, 1) == 0 &&
	    getsockname(server, (struct sockaddr *)&at, &len) == 0 &&
	    connect(client, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    setsockopt(client, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) ==
		0 &&
	    /* A kernel may lack the ciphers. */
	    install(client, TLS_TX, &suites[0], nothing, sizeof(nothing)) &&
	    install(client, TLS_RX, &suites[0], nothing, sizeof(nothing));

	if (server != -1)
		close(server);
	if (client != -1)
		close(client);
	return works;
}
