/* SPDX-License-Identifier: ISC */
/*
 * Records of TLS 1.3: see record.h. Of the handshake messages that a client may
 * send now, only KeyUpdate is accepted, alone in its record, as clients send it:
 * there are no tickets, and no certificate is asked for later.
 * Runs in: nfsd tls.
 */
#include <string.h>

#include <openssl/crypto.h>

#include "nfsd/tls/record.h"

#define ALERT_WARNING 1
#define ALERT_FATAL   2

/* A KeyUpdate (RFC 8446, 4.6.3) without its last byte, the request. */
static const uint8_t update[] = { 24, 0, 0, 1 };

enum { UPDATE_NOT_REQUESTED, UPDATE_REQUESTED };

/* Derives the key of a secret, and begins with record 0. */
static bool
use_secret(const struct tls_records *r, struct tls_direction *d)
{
	uint8_t key[TLS_KEY_MAX];
	bool done = tls_expand(r->suite, d->secret, r->secret_len, "key", key,
			r->suite->key) &&
	    tls_expand(r->suite, d->secret, r->secret_len, "iv", d->iv,
		sizeof(d->iv)) &&
	    EVP_CipherInit_ex(d->cipher, r->suite->cipher(), NULL, key, d->iv,
		d == &r->out) == 1;

	OPENSSL_cleanse(key, sizeof(key));
	d->number = 0;
	return done;
}

static bool
next_secret(const struct tls_records *r, struct tls_direction *d)
{
	uint8_t next[TLS_SECRET_MAX];
	bool done = tls_expand(r->suite, d->secret, r->secret_len,
	    "traffic upd", next, r->secret_len);

	if (done)
		memcpy(d->secret, next, r->secret_len);
	OPENSSL_cleanse(next, sizeof(next));
	return done && use_secret(r, d);
}

bool
tls_records_init(struct tls_records *r, uint16_t suite,
    const struct tls_secrets *s)
{
	memset(r, 0, sizeof(*r));
	r->suite = tls_suite_find(suite);
	r->secret_len = s->len;
	r->most = TLS_RECORD_PLAIN;
	r->lasts = r->suite == NULL ? 0 : r->suite->lasts;
	memcpy(r->in.secret, s->client, sizeof(r->in.secret));
	memcpy(r->out.secret, s->server, sizeof(r->out.secret));
	r->in.cipher = EVP_CIPHER_CTX_new();
	r->out.cipher = EVP_CIPHER_CTX_new();
	if (r->suite != NULL && s->has_client && s->has_server &&
	    r->in.cipher != NULL && r->out.cipher != NULL &&
	    use_secret(r, &r->in) && use_secret(r, &r->out))
		return true;
	tls_records_clear(r);
	return false;
}

void
tls_records_clear(struct tls_records *r)
{
	EVP_CIPHER_CTX_free(r->in.cipher);
	EVP_CIPHER_CTX_free(r->out.cipher);
	OPENSSL_cleanse(r, sizeof(*r));
}

/* Begins a record. Its nonce has its number in it (5.3), and the tag its head. */
static bool
begin(struct tls_direction *d, const uint8_t head[TLS_RECORD_HEAD])
{
	uint8_t nonce[TLS_IV];
	size_t i;
	int n;

	memcpy(nonce, d->iv, sizeof(nonce));
	for (i = 0; i < sizeof(d->number); i++)
		nonce[TLS_IV - 1 - i] ^= (uint8_t)(d->number >> (8 * i));
	d->number++;
	return EVP_CipherInit_ex(d->cipher, NULL, NULL, NULL, nonce, -1) == 1 &&
	    EVP_CipherUpdate(d->cipher, NULL, &n, head, TLS_RECORD_HEAD) == 1;
}

/* Decrypts len bytes, behind which the tag is. */
static bool
decrypt(struct tls_direction *d, const uint8_t *in, size_t len, uint8_t *out)
{
	uint8_t tag[TLS_RECORD_TAG], none[1];
	int n;

	memcpy(tag, in + len, sizeof(tag));
	return EVP_CipherUpdate(d->cipher, out, &n, in, (int)len) == 1 &&
	    (size_t)n == len &&
	    EVP_CIPHER_CTX_ctrl(d->cipher, EVP_CTRL_AEAD_SET_TAG, sizeof(tag),
		tag) == 1 &&
	    EVP_CipherFinal_ex(d->cipher, none, &n) == 1;
}

static enum tls_got
bad(struct tls_records *r, enum tls_alert alert)
{
	r->alert = alert;
	return TLS_GOT_BAD;
}

static enum tls_got
get_alert(struct tls_records *r, const uint8_t *content, size_t len)
{
	if (len != 2) /* none, half of one or several (5.1, 5.4) */
		return bad(r, TLS_ALERT_UNEXPECTED_MESSAGE);
	if (content[1] == TLS_ALERT_CLOSE_NOTIFY)
		return TLS_GOT_CLOSE;
	if (content[1] == TLS_ALERT_USER_CANCELED)
		return TLS_GOT_CANCEL;
	return bad(r, TLS_ALERT_CLOSE_NOTIFY); /* it has ended the session */
}

static enum tls_got
get_handshake(struct tls_records *r, const uint8_t *content, size_t len)
{
	uint8_t request;

	if (len >= sizeof(update) && content[0] == update[0] &&
	    memcmp(content, update, sizeof(update)) != 0)
		return bad(r, TLS_ALERT_DECODE_ERROR);
	if (len != sizeof(update) + 1 || content[0] != update[0])
		return bad(r, TLS_ALERT_UNEXPECTED_MESSAGE);
	request = content[sizeof(update)];
	if (request > UPDATE_REQUESTED)
		return bad(r, TLS_ALERT_ILLEGAL_PARAMETER);
	if (!next_secret(r, &r->in))
		return bad(r, TLS_ALERT_INTERNAL_ERROR);
	return request == UPDATE_REQUESTED ? TLS_GOT_UPDATE_ASKED :
					     TLS_GOT_UPDATE;
}

enum tls_got
tls_record_get(struct tls_records *r, const uint8_t *in, size_t len,
    uint8_t *out, size_t *taken, size_t *got)
{
	size_t body;

	*taken = *got = 0;
	if (len < TLS_RECORD_HEAD)
		return TLS_GOT_PART;
	body = (size_t)in[3] << 8 | in[4];
	if (in[0] != TLS_TYPE_DATA)
		return bad(r, TLS_ALERT_UNEXPECTED_MESSAGE);
	if (body > TLS_RECORD_MAX - TLS_RECORD_HEAD)
		return bad(r, TLS_ALERT_RECORD_OVERFLOW);
	if (body < TLS_RECORD_TAG)
		return bad(r, TLS_ALERT_BAD_RECORD_MAC);
	if (len - TLS_RECORD_HEAD < body)
		return TLS_GOT_PART;
	*taken = TLS_RECORD_HEAD + body;
	body -= TLS_RECORD_TAG;
	if (!begin(&r->in, in) ||
	    !decrypt(&r->in, in + TLS_RECORD_HEAD, body, out))
		return bad(r, TLS_ALERT_BAD_RECORD_MAC);
	while (body > 0 && out[body - 1] == 0) /* padding (5.4) */
		body--;
	if (body == 0)
		return bad(r, TLS_ALERT_UNEXPECTED_MESSAGE);
	body--;
	switch (out[body]) {
	case TLS_TYPE_DATA:
		*got = body;
		return TLS_GOT_DATA;
	case TLS_TYPE_ALERT:
		return get_alert(r, out, body);
	case TLS_TYPE_HANDSHAKE:
		return get_handshake(r, out, body);
	}
	return bad(r, TLS_ALERT_UNEXPECTED_MESSAGE);
}

size_t
tls_record_put(struct tls_records *r, enum tls_type type,
    const uint8_t *content, size_t len, uint8_t *out)
{
	const size_t body = len + 1 + TLS_RECORD_TAG;
	const uint8_t last = (uint8_t)type;
	EVP_CIPHER_CTX *c = r->out.cipher;
	uint8_t *at = out + TLS_RECORD_HEAD;
	int n;

	if (len > r->most)
		return 0;
	out[0] = TLS_TYPE_DATA; /* always, and TLS 1.2 (5.2) */
	out[1] = out[2] = 3;
	out[3] = (uint8_t)(body >> 8);
	out[4] = (uint8_t)body;
	if (!begin(&r->out, out) ||
	    EVP_CipherUpdate(c, at, &n, content, (int)len) != 1 ||
	    EVP_CipherUpdate(c, at + len, &n, &last, 1) != 1 ||
	    EVP_CipherFinal_ex(c, at + len + 1, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TLS_RECORD_TAG,
		at + len + 1) != 1)
		return 0;
	return TLS_RECORD_HEAD + body;
}

bool
tls_records_worn(const struct tls_records *r)
{
	return r->out.number >= r->lasts;
}

size_t
tls_record_put_update(struct tls_records *r, uint8_t *out)
{
	uint8_t message[sizeof(update) + 1];
	size_t n;

	memcpy(message, update, sizeof(update));
	message[sizeof(update)] = UPDATE_NOT_REQUESTED;
	n = tls_record_put(r, TLS_TYPE_HANDSHAKE, message, sizeof(message),
	    out);
	return n > 0 && next_secret(r, &r->out) ? n : 0;
}

size_t
tls_record_put_alert(struct tls_records *r, enum tls_alert alert, uint8_t *out)
{
	const uint8_t content[] = {
		alert == TLS_ALERT_CLOSE_NOTIFY ? ALERT_WARNING : ALERT_FATAL,
		(uint8_t)alert
	};

	return tls_record_put(r, TLS_TYPE_ALERT, content, sizeof(content), out);
}
