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

#include <openssl/crypto.h>

#include "base/util.h"
#include "nfsd/tls/kernel.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

union crypto_info {
	struct tls_crypto_info head;
	struct tls12_crypto_info_aes_gcm_128 gcm128;
	struct tls12_crypto_info_aes_gcm_256 gcm256;
	struct tls12_crypto_info_chacha20_poly1305 chacha;
};

/* How the kernel wants the keys of a cipher suite. */
struct form {
	uint16_t number; /* of TLS */
	uint16_t cipher; /* of the kernel */
	size_t salt; /* first bytes of the iv that the kernel wants apart */
	size_t size; /* of the struct for the kernel */
	size_t iv_at, key_at, salt_at; /* in it */
};

#define AT(type, field) offsetof(struct tls12_crypto_info_##type, field)

static const struct form forms[] = {
	{ 0x1301, TLS_CIPHER_AES_GCM_128, 4,
	    sizeof(struct tls12_crypto_info_aes_gcm_128), AT(aes_gcm_128, iv),
	    AT(aes_gcm_128, key), AT(aes_gcm_128, salt) },
	{ 0x1302, TLS_CIPHER_AES_GCM_256, 4,
	    sizeof(struct tls12_crypto_info_aes_gcm_256), AT(aes_gcm_256, iv),
	    AT(aes_gcm_256, key), AT(aes_gcm_256, salt) },
	{ 0x1303, TLS_CIPHER_CHACHA20_POLY1305, 0,
	    sizeof(struct tls12_crypto_info_chacha20_poly1305),
	    AT(chacha20_poly1305, iv), AT(chacha20_poly1305, key),
	    AT(chacha20_poly1305, iv) },
};

/* Installs the key of one direction: TLS_TX or TLS_RX. */
static bool
install(int fd, int direction, const struct form *form, const uint8_t *secret,
    size_t len)
{
	const struct tls_suite *suite = tls_suite_find(form->number);
	union crypto_info info;
	uint8_t key[TLS_KEY_MAX], iv[TLS_IV], *at = (uint8_t *)&info;
	bool done = false;

	memset(&info, 0, sizeof(info)); /* begins with record 0 */
	info.head.version = TLS_1_3_VERSION;
	info.head.cipher_type = form->cipher;
	if (tls_expand(suite, secret, len, "key", key, suite->key) &&
	    tls_expand(suite, secret, len, "iv", iv, sizeof(iv))) {
		memcpy(at + form->key_at, key, suite->key);
		memcpy(at + form->salt_at, iv, form->salt);
		memcpy(at + form->iv_at, iv + form->salt, TLS_IV - form->salt);
		done = setsockopt(fd, SOL_TLS, direction, &info,
			   (socklen_t)form->size) == 0;
	}
	OPENSSL_cleanse(key, sizeof(key));
	OPENSSL_cleanse(iv, sizeof(iv));
	OPENSSL_cleanse(&info, sizeof(info));
	return done;
}

const char *
tls_kernel_install(int fd, uint16_t number, const struct tls_secrets *s)
{
	const struct form *form = NULL;
	size_t i;

	for (i = 0; i < nitems(forms); i++)
		if (forms[i].number == number)
			form = &forms[i];
	if (form == NULL || !s->has_client || !s->has_server)
		return "kernel TLS: no keys for this cipher";
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) == -1)
		return "kernel TLS: the kernel refuses it";
	if (!install(fd, TLS_TX, form, s->server, s->len) ||
	    !install(fd, TLS_RX, form, s->client, s->len))
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
	    install(client, TLS_TX, &forms[0], nothing, sizeof(nothing)) &&
	    install(client, TLS_RX, &forms[0], nothing, sizeof(nothing));

	if (server != -1)
		close(server);
	if (client != -1)
		close(client);
	return works;
}
