/* SPDX-License-Identifier: ISC */
/*
 * Records of TLS 1.3 against OpenSSL as the client, with every cipher that Tern
 * offers; and what a hostile client may put into them.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/util.h"
#include "nfsd/tls/record.h"
#include "tap.h"

static struct tls_secrets secrets;
static struct tls_records server;
static SSL *client;
static BIO *from_client, *to_client; /* memory */
static uint8_t wire[4 * TLS_RECORD_MAX], plain[TLS_RECORD_MAX],
    data[TLS_RECORD_PLAIN + 1];

static void
note_secret(const SSL *ssl, const char *line)
{
	(void)ssl;
	tls_secrets_note(&secrets, line);
}

/* A server of OpenSSL makes the handshake, with a certificate of its own. */
static SSL *
make_server(SSL_CTX *ctx)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	SSL *ssl;

	(void)X509_gmtime_adj(X509_getm_notBefore(cert), 0);
	(void)X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	(void)X509_set_pubkey(cert, key);
	if (X509_sign(cert, key, EVP_sha256()) == 0 ||
	    SSL_CTX_use_certificate(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, key) != 1)
		BAIL_OUT("no certificate");
	(void)SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_keylog_callback(ctx, note_secret);
	ssl = SSL_new(ctx);
	SSL_set_accept_state(ssl);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ssl;
}

/* Makes a session whose server is then the records alone. */
static bool
connect_with(const char *suite)
{
	SSL_CTX *server_ctx = SSL_CTX_new(TLS_server_method()),
		*client_ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = make_server(server_ctx);
	uint16_t number;
	bool good;
	int i;

	(void)SSL_CTX_set_ciphersuites(client_ctx, suite);
	client = SSL_new(client_ctx);
	SSL_set_connect_state(client);
	from_client = BIO_new(BIO_s_mem());
	to_client = BIO_new(BIO_s_mem());
	(void)BIO_up_ref(from_client);
	(void)BIO_up_ref(to_client);
	SSL_set_bio(client, to_client, from_client);
	SSL_set_bio(ssl, from_client, to_client);
	for (i = 0; i < 4; i++) {
		(void)SSL_do_handshake(client);
		(void)SSL_do_handshake(ssl);
	}
	number = (uint16_t)SSL_CIPHER_get_id(SSL_get_current_cipher(ssl));
	good = SSL_is_init_finished(ssl) && SSL_is_init_finished(client) &&
	    tls_records_init(&server, number, &secrets);
	SSL_free(ssl);
	SSL_CTX_free(server_ctx);
	SSL_CTX_free(client_ctx);
	return good;
}

static void
disconnect(void)
{
	SSL_free(client);
	tls_records_clear(&server);
}

/* What the client has sent, as one record. */
static enum tls_got
receive(size_t *got)
{
	int n = BIO_read(from_client, wire, sizeof(wire));
	size_t taken;
	enum tls_got what = tls_record_get(&server, wire, n < 0 ? 0 : (size_t)n,
	    plain, &taken, got);

	return what == TLS_GOT_BAD || taken == (size_t)n ? what : TLS_GOT_BAD;
}

static bool
client_reads(const uint8_t *want, size_t len)
{
	return SSL_read(client, plain, (int)sizeof(plain)) == (int)len &&
	    memcmp(plain, want, len) == 0;
}

/* One record each way. */
static bool
echoes(size_t len)
{
	size_t got, n;
	bool good = SSL_write(client, data, (int)len) == (int)len &&
	    receive(&got) == TLS_GOT_DATA && got == len &&
	    memcmp(plain, data, len) == 0;

	n = tls_record_put(&server, TLS_TYPE_DATA, data, len, wire);
	return good && n == len + TLS_RECORD_MORE &&
	    BIO_write(to_client, wire, (int)n) == (int)n &&
	    client_reads(data, len);
}

static bool
updates(int kind, enum tls_got want)
{
	size_t got, n;

	if (SSL_key_update(client, kind) != 1 ||
	    SSL_do_handshake(client) != 1 || receive(&got) != want || got != 0)
		return false;
	if (want != TLS_GOT_UPDATE_ASKED)
		return true;
	n = tls_record_put_update(&server, wire);
	return n > 0 && BIO_write(to_client, wire, (int)n) == (int)n;
}

static void
test_suite(const char *suite)
{
	size_t got, n;

	ok(connect_with(suite), "%s: takes over after the handshake", suite);
	ok(echoes(1) && echoes(100) && echoes(TLS_RECORD_PLAIN) && echoes(1),
	    "%s: records of all sizes both ways", suite);
	ok(updates(SSL_KEY_UPDATE_NOT_REQUESTED, TLS_GOT_UPDATE) &&
		echoes(100) &&
		updates(SSL_KEY_UPDATE_REQUESTED, TLS_GOT_UPDATE_ASKED) &&
		echoes(100),
	    "%s: KeyUpdates of both kinds", suite);
	ok(SSL_shutdown(client) == 0 && receive(&got) == TLS_GOT_CLOSE,
	    "%s: the client's close_notify", suite);
	n = tls_record_put_alert(&server, TLS_ALERT_CLOSE_NOTIFY, wire);
	ok(BIO_write(to_client, wire, (int)n) == (int)n &&
		SSL_shutdown(client) == 1,
	    "%s: the server's", suite);
	disconnect();
}

/*
 * A client that puts anything into its records: the same code with the secrets
 * the other way round.
 */
static struct tls_records hostile;

static void
make_hostile(void)
{
	struct tls_secrets swapped = secrets;

	memcpy(swapped.client, secrets.server, sizeof(swapped.client));
	memcpy(swapped.server, secrets.client, sizeof(swapped.server));
	tls_records_clear(&server);
	tls_records_clear(&hostile);
	if (!tls_records_init(&server, 0x1301, &secrets) ||
	    !tls_records_init(&hostile, 0x1301, &swapped))
		BAIL_OUT("no keys");
}

/* Sends one record with this content; damage is xored into byte at. */
static enum tls_got
send_record(int type, const char *content, size_t len, size_t at,
    uint8_t damage)
{
	size_t n, taken, got;

	make_hostile();
	n = tls_record_put(&hostile, (enum tls_type)type,
	    (const uint8_t *)content, len, wire);
	if (at < n)
		wire[at] ^= damage;
	return tls_record_get(&server, wire, n, plain, &taken, &got);
}

static void
test_content(void)
{
	static const struct {
		const char *what;
		int type;
		const char *content;
		size_t len;
		enum tls_got want;
		enum tls_alert alert;
	} rows[] = {
		{ "no content, no type", 0, "", 0, TLS_GOT_BAD, 10 },
		{ "zeros only", 0, "\0\0\0\0", 4, TLS_GOT_BAD, 10 },
		{ "data of no bytes", 23, "", 0, TLS_GOT_DATA, 0 },
		{ "a type that does not exist", 99, "x", 1, TLS_GOT_BAD, 10 },
		{ "ChangeCipherSpec", 20, "\1", 1, TLS_GOT_BAD, 10 },
		{ "user_canceled", 21, "\1\x5a", 2, TLS_GOT_CANCEL, 0 },
		{ "a fatal alert", 21, "\2\x14", 2, TLS_GOT_BAD, 0 },
		{ "half an alert", 21, "\1", 1, TLS_GOT_BAD, 10 },
		{ "two alerts", 21, "\1\0\1\0", 4, TLS_GOT_BAD, 10 },
		{ "an empty alert", 21, "", 0, TLS_GOT_BAD, 10 },
		{ "KeyUpdate", 22, "\30\0\0\1\0", 5, TLS_GOT_UPDATE, 0 },
		{ "KeyUpdate, 2", 22, "\30\0\0\1\2", 5, TLS_GOT_BAD, 47 },
		{ "half of it", 22, "\30\0", 2, TLS_GOT_BAD, 10 },
		{ "one too long", 22, "\30\0\0\2\0\0", 6, TLS_GOT_BAD, 50 },
		{ "one too short", 22, "\30\0\0\0", 4, TLS_GOT_BAD, 50 },
		{ "two", 22, "\30\0\0\1\0\30\0\0\1\0", 10, TLS_GOT_BAD, 10 },
		{ "ClientHello", 22, "\1\0\0\0", 4, TLS_GOT_BAD, 10 },
		{ "an empty message", 22, "", 0, TLS_GOT_BAD, 10 },
	};
	size_t i;

	for (i = 0; i < nitems(rows); i++)
		ok(send_record(rows[i].type, rows[i].content, rows[i].len,
		       SIZE_MAX, 0) == rows[i].want &&
			(rows[i].want != TLS_GOT_BAD ||
			    server.alert == rows[i].alert),
		    "%s", rows[i].what);
}

/* The type of the first byte that is not zero, from the end (RFC 8446, 5.4). */
static void
test_padding(void)
{
	static const char padded[] = "abc\27\0\0\0";
	size_t n, taken, got;

	make_hostile();
	n = tls_record_put(&hostile, (enum tls_type)0, (const uint8_t *)padded,
	    sizeof(padded) - 1, wire);
	ok(tls_record_get(&server, wire, n, plain, &taken, &got) ==
		    TLS_GOT_DATA &&
		got == 3 && memcmp(plain, "abc", 3) == 0,
	    "padding is taken off");
}

static void
test_damage(void)
{
	static const char call[] = "a call";
	bool good = true;
	size_t at;

	for (at = 0; at < sizeof(call) - 1 + TLS_RECORD_MORE; at++)
		if (at != 3 && at != 4) /* the length: see below */
			good = good &&
			    send_record(TLS_TYPE_DATA, call, sizeof(call) - 1,
				at, 1) == TLS_GOT_BAD;
	ok(good, "a changed byte is noticed wherever it is");
	ok(send_record(TLS_TYPE_DATA, call, 6, 4, 1) == TLS_GOT_BAD &&
		server.alert == TLS_ALERT_BAD_RECORD_MAC,
	    "a shorter length is noticed");
	ok(send_record(TLS_TYPE_DATA, call, 6, 4, 8) == TLS_GOT_PART,
	    "a longer one is waited for");
	ok(send_record(TLS_TYPE_DATA, call, 6, 3, 0x80) == TLS_GOT_BAD &&
		server.alert == TLS_ALERT_RECORD_OVERFLOW,
	    "a record that is too long is refused before it has arrived");
	ok(send_record(TLS_TYPE_DATA, call, 6, 4, 6 + 17) == TLS_GOT_BAD &&
		server.alert == TLS_ALERT_BAD_RECORD_MAC,
	    "a record without room for a tag is refused");
	ok(tls_record_put(&server, TLS_TYPE_DATA, data, sizeof(data), wire) ==
		0,
	    "a longer one is never made");
}

static void
test_order(void)
{
	size_t first, n, taken, got, i;
	bool good = true;

	make_hostile();
	first = tls_record_put(&hostile, TLS_TYPE_DATA, data, 10, wire);
	n = first +
	    tls_record_put(&hostile, TLS_TYPE_DATA, data, 10, wire + first);
	for (i = 0; i < first; i++)
		good = good &&
		    tls_record_get(&server, wire, i, plain, &taken, &got) ==
			TLS_GOT_PART &&
		    taken == 0;
	ok(good, "a part of a record takes nothing");
	ok(tls_record_get(&server, wire, n, plain, &taken, &got) ==
		    TLS_GOT_DATA &&
		taken == first,
	    "the first of two records is taken alone");
	ok(tls_record_get(&server, wire, n, plain, &taken, &got) == TLS_GOT_BAD,
	    "the same record again is refused");
	make_hostile();
	(void)tls_record_put(&hostile, TLS_TYPE_DATA, data, 10, wire);
	n = tls_record_put(&hostile, TLS_TYPE_DATA, data, 10, wire);
	ok(tls_record_get(&server, wire, n, plain, &taken, &got) == TLS_GOT_BAD,
	    "a record is refused if the one before it is missing");
}

int
main(void)
{
	struct tls_secrets half;
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	test_suite("TLS_AES_256_GCM_SHA384");
	test_suite("TLS_CHACHA20_POLY1305_SHA256");
	test_suite("TLS_AES_128_GCM_SHA256");
	test_content();
	test_padding();
	test_damage();
	test_order();
	half = secrets;
	half.has_client = false;
	tls_records_clear(&server);
	ok(!tls_records_init(&server, 0x1301, &half),
	    "without the client's secret there is no session");
	ok(!tls_records_init(&server, 0x1304, &secrets),
	    "nor with a cipher that is not offered");
	tls_records_clear(&hostile);
	done_testing();
}
