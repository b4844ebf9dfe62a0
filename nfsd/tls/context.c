/* SPDX-License-Identifier: ISC */
/*
 * Makes the OpenSSL context: see context.h. Everything is read from memory, so
 * that a sandboxed process can do it again at a reload.
 * Runs in: nfsd tls; the check of a configuration (nfsd -n).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/util.h"
#include "nfsd/tls/context.h"

#define FILE_MAX  (4 * 1024 * 1024) /* bytes; a CRL may be long */
#define DEPTH_MAX 8 /* authorities between a client and a root */
#define CHAIN_MAX (64 * 1024) /* bytes of certificates that a client sends */

/* The first that a client has is taken: it costs a fifth less than the next. */
static const char suites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
			     "TLS_CHACHA20_POLY1305_SHA256";
#define GROUPS "X25519:P-256:P-384"
static const unsigned char alpn[] = { 6, 's', 'u', 'n', 'r', 'p', 'c' };

const char *
tls_error(const char *otherwise)
{
	unsigned long code = ERR_peek_last_error();
	const char *text = code == 0 ? NULL : ERR_reason_error_string(code);

	return text != NULL ? text : otherwise;
}

/* Reads a whole file into a new buffer, or returns NULL. */
static char *
read_all(int fd, size_t *len)
{
	char *buf = malloc(FILE_MAX);
	ssize_t n;

	for (*len = 0; buf != NULL && *len < FILE_MAX; *len += (size_t)n) {
		n = pread(fd, buf + *len, FILE_MAX - *len, (off_t)*len);
		if (n == 0)
			return buf;
		if (n == -1)
			break;
	}
	free(buf);
	return NULL;
}

/* A file in memory. The key must not stay in memory that was freed. */
struct text {
	char *buf;
	size_t len;
	BIO *bio;
};

static bool
text_open(struct text *t, int fd)
{
	t->buf = read_all(fd, &t->len);
	t->bio = t->buf == NULL ? NULL : BIO_new_mem_buf(t->buf, (int)t->len);
	return t->bio != NULL;
}

static void
text_close(struct text *t)
{
	BIO_free(t->bio);
	if (t->buf != NULL)
		OPENSSL_cleanse(t->buf, t->len);
	free(t->buf);
}

/* Keeps the earliest end. */
static void
note_end(int64_t *end, const ASN1_TIME *at)
{
	struct tm tm;
	int64_t when;

	if (at == NULL || ASN1_TIME_to_tm(at, &tm) != 1)
		return;
	when = (int64_t)timegm(&tm);
	if (*end == 0 || when < *end)
		*end = when;
}

/* A key with a passphrase is refused: there is no terminal to ask at. */
static int
no_passphrase(char *buf UNUSED, int size UNUSED, int rw UNUSED,
    void *arg UNUSED)
{
	return 0;
}

/* OpenSSL reports the end of a file as an error: was it the end? */
static bool
at_end(void)
{
	unsigned long code = ERR_peek_last_error();
	bool end = ERR_GET_LIB(code) == ERR_LIB_PEM &&
	    ERR_GET_REASON(code) == PEM_R_NO_START_LINE;

	ERR_clear_error();
	return end;
}

static const char *
use_certificate(struct tls_context *t, struct text *text)
{
	X509 *cert = PEM_read_bio_X509(text->bio, NULL, no_passphrase, NULL);
	int used;

	if (cert == NULL)
		return "certificate: no PEM certificate in the file";
	note_end(&t->ends[TLS_CERT], X509_get0_notAfter(cert));
	used = SSL_CTX_use_certificate(t->ctx, cert);
	X509_free(cert);
	if (used != 1)
		return tls_error("certificate: cannot be used");
	while ((cert = PEM_read_bio_X509(text->bio, NULL, no_passphrase,
		    NULL)) != NULL) {
		note_end(&t->ends[TLS_CERT], X509_get0_notAfter(cert));
		used = (int)SSL_CTX_add1_chain_cert(t->ctx, cert);
		X509_free(cert);
		if (used != 1)
			return tls_error("certificate chain: cannot be used");
	}
	return at_end() ? NULL : "certificate: the file is damaged";
}

static const char *
use_key(struct tls_context *t, struct text *text)
{
	EVP_PKEY *key =
	    PEM_read_bio_PrivateKey(text->bio, NULL, no_passphrase, NULL);
	const char *why = NULL;

	if (key == NULL)
		return "key: no private key without passphrase in the file";
	if (SSL_CTX_use_PrivateKey(t->ctx, key) != 1 ||
	    SSL_CTX_check_private_key(t->ctx) != 1)
		why = "key: does not belong to the certificate";
	EVP_PKEY_free(key);
	return why;
}

static const char *
use_authorities(struct tls_context *t, struct text *text)
{
	X509 *cert;
	int n = 0;

	t->store = X509_STORE_new();
	if (t->store == NULL)
		return "out of memory";
	/* An authority of the file is trusted, with any signature. */
	(void)X509_STORE_set_flags(t->store, X509_V_FLAG_PARTIAL_CHAIN);
	for (; (cert = PEM_read_bio_X509(text->bio, NULL, no_passphrase,
		    NULL)) != NULL;
	     n++) {
		note_end(&t->ends[TLS_CA], X509_get0_notAfter(cert));
		if (X509_STORE_add_cert(t->store, cert) != 1)
			n = -1;
		X509_free(cert);
		if (n == -1)
			return tls_error("client CA: cannot be used");
	}
	if (!at_end())
		return "client CA: the file is damaged";
	return n > 0 ? NULL : "client CA: no PEM certificate in the file";
}

/* A list of the authority above an authority is used if there is one. */
static int
forgive_no_list(int ok, X509_STORE_CTX *x)
{
	if (ok || X509_STORE_CTX_get_error(x) != X509_V_ERR_UNABLE_TO_GET_CRL ||
	    X509_STORE_CTX_get_error_depth(x) == 0)
		return ok;
	X509_STORE_CTX_set_error(x, X509_V_OK);
	return 1;
}

static const char *
use_revocations(struct tls_context *t, struct text *text)
{
	X509_CRL *crl;
	int n = 0;

	if (t->store == NULL)
		return "CRL: useless without a client CA (-o tls-ca)";
	for (; (crl = PEM_read_bio_X509_CRL(text->bio, NULL, no_passphrase,
		    NULL)) != NULL;
	     n++) {
		note_end(&t->ends[TLS_CRL], X509_CRL_get0_nextUpdate(crl));
		if (X509_STORE_add_crl(t->store, crl) != 1)
			n = -1;
		X509_CRL_free(crl);
		if (n == -1)
			return tls_error("CRL: cannot be used");
	}
	if (!at_end())
		return "CRL: the file is damaged";
	(void)X509_STORE_set_flags(t->store,
	    X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
	X509_STORE_set_verify_cb(t->store, forgive_no_list);
	return n > 0 ? NULL : "CRL: none in PEM in the file";
}

/* None offered: go on, as clients send none. Others only: alert 120. */
static int
choose_alpn(SSL *ssl UNUSED, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned int inlen, void *arg UNUSED)
{
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, outlen, alpn, sizeof(alpn), in,
		inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/*
 * Is the certificate for a client of RPC or TLS, or for any use? OpenSSL's own
 * check refuses one that is for clients of RPC alone (RFC 9289, 7.3).
 */
static bool
usage_is_good(X509 *cert)
{
	static const char rpc_client[] = "1.3.6.1.5.5.7.3.33";
	EXTENDED_KEY_USAGE *usage;
	char oid[64];
	bool good;
	int i;

	if ((X509_get_extension_flags(cert) & EXFLAG_XKUSAGE) == 0)
		return true;
	if ((X509_get_extended_key_usage(cert) &
		(XKU_SSL_CLIENT | XKU_ANYEKU)) != 0)
		return true;
	usage = X509_get_ext_d2i(cert, NID_ext_key_usage, NULL, NULL);
	good = false;
	for (i = 0; i < sk_ASN1_OBJECT_num(usage) && !good; i++)
		good = OBJ_obj2txt(oid, sizeof(oid),
			   sk_ASN1_OBJECT_value(usage, i), 1) > 0 &&
		    strcmp(oid, rpc_client) == 0;
	sk_ASN1_OBJECT_pop_free(usage, ASN1_OBJECT_free);
	return good;
}

const char *
tls_context_check(X509_STORE_CTX *x)
{
	X509_VERIFY_PARAM *p = X509_STORE_CTX_get0_param(x);
	STACK_OF(X509) * chain;
	int i;

	(void)X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_ANY);
	X509_VERIFY_PARAM_set_depth(p, DEPTH_MAX);
	if (X509_verify_cert(x) != 1)
		return X509_verify_cert_error_string(
		    X509_STORE_CTX_get_error(x));
	/* Of the client and of every authority below the one of the file. */
	chain = X509_STORE_CTX_get0_chain(x);
	for (i = 0; i == 0 || i + 1 < sk_X509_num(chain); i++) {
		if (usage_is_good(sk_X509_value(chain, i)))
			continue;
		X509_STORE_CTX_set_error(x, X509_V_ERR_INVALID_PURPOSE);
		return "the certificate is not for clients (extendedKeyUsage)";
	}
	return NULL;
}

const char *
tls_context_verify(const struct tls_context *t, X509 *cert,
    STACK_OF(X509) * chain)
{
	X509_STORE_CTX *x;
	const char *why = "no client CA";

	if (t->store == NULL)
		return why;
	x = X509_STORE_CTX_new();
	if (x == NULL || X509_STORE_CTX_init(x, t->store, cert, chain) != 1)
		why = "out of memory";
	else
		why = tls_context_check(x);
	X509_STORE_CTX_free(x);
	ERR_clear_error();
	return why;
}

static bool
set_rules(SSL_CTX *ctx)
{
	char groups[] = GROUPS; /* OpenSSL's macro takes no const */

	(void)SSL_CTX_set_options(ctx,
	    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET |
		SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_max_cert_list(ctx, CHAIN_MAX);
	SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
	    SSL_CTX_set_max_early_data(ctx, 0) == 1 &&
	    SSL_CTX_set_ciphersuites(ctx, suites) == 1 &&
	    SSL_CTX_set1_groups_list(ctx, groups) == 1;
}

/* Without an authority no certificate is asked for: none could be verified. */
static void
ask_clients(struct tls_context *t)
{
	if (t->store == NULL)
		return;
	SSL_CTX_set_cert_store(t->ctx, t->store);
	(void)X509_STORE_up_ref(t->store);
	SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
}

const char *
tls_context_load(struct tls_context *t, const int fds[TLS_FILES])
{
	static const struct {
		const char *(*use)(struct tls_context *, struct text *);
		const char *unreadable;
	} rows[TLS_FILES] = {
		[TLS_CERT] = { use_certificate, "certificate: cannot be read" },
		[TLS_KEY] = { use_key, "key: cannot be read" },
		[TLS_CA] = { use_authorities, "client CA: cannot be read" },
		[TLS_CRL] = { use_revocations, "CRL: cannot be read" },
	};
	const char *why = NULL;
	struct text text;
	size_t i;

	memset(t, 0, sizeof(*t));
	t->ctx = SSL_CTX_new(TLS_server_method());
	if (t->ctx == NULL || !set_rules(t->ctx))
		why = tls_error("out of memory");
	for (i = 0; i < TLS_FILES && why == NULL; i++) {
		if (fds[i] == -1)
			continue;
		why = text_open(&text, fds[i]) ? rows[i].use(t, &text) :
						 rows[i].unreadable;
		text_close(&text);
	}
	if (why == NULL)
		ask_clients(t);
	else
		tls_context_clear(t);
	ERR_clear_error();
	return why;
}

void
tls_context_clear(struct tls_context *t)
{
	X509_STORE_free(t->store);
	SSL_CTX_free(t->ctx);
	memset(t, 0, sizeof(*t));
}
