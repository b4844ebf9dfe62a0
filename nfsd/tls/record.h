/* SPDX-License-Identifier: ISC */
/*
 * The records of an established TLS 1.3 session (RFC 8446, 5). OpenSSL has made
 * the handshake and is asked for its ciphers alone. Its own record layer copies
 * each byte twice more, keeps buffers for each session, and takes about six
 * times as long for a record with one small call.
 * Pure: no socket, no clock, no logging.
 * Runs in: nfsd tls.
 */
#ifndef TLS_RECORD_H
#define TLS_RECORD_H

#include "nfsd/tls/keys.h"

#define TLS_RECORD_HEAD	 5
#define TLS_RECORD_TAG	 16 /* of every cipher that Tern offers */
#define TLS_RECORD_PLAIN (16 * 1024) /* bytes of content */
/* What a record adds to its content: the head, the type and the tag. */
#define TLS_RECORD_MORE (TLS_RECORD_HEAD + 1 + TLS_RECORD_TAG)
#define TLS_RECORD_MAX	(TLS_RECORD_PLAIN + TLS_RECORD_MORE)

enum tls_type { /* of content */
	TLS_TYPE_ALERT = 21,
	TLS_TYPE_HANDSHAKE = 22,
	TLS_TYPE_DATA = 23
};

enum tls_alert {
	TLS_ALERT_CLOSE_NOTIFY = 0,
	TLS_ALERT_UNEXPECTED_MESSAGE = 10,
	TLS_ALERT_BAD_RECORD_MAC = 20,
	TLS_ALERT_RECORD_OVERFLOW = 22,
	TLS_ALERT_ILLEGAL_PARAMETER = 47,
	TLS_ALERT_DECODE_ERROR = 50,
	TLS_ALERT_INTERNAL_ERROR = 80,
	TLS_ALERT_USER_CANCELED = 90
};

/* What a record of the client was. */
enum tls_got {
	TLS_GOT_PART, /* the rest of it has not arrived */
	TLS_GOT_DATA,
	TLS_GOT_UPDATE, /* the client's next records have a new key */
	TLS_GOT_UPDATE_ASKED, /* and it wants a new one of the server's */
	TLS_GOT_CANCEL, /* close_notify will follow */
	TLS_GOT_CLOSE, /* close_notify */
	TLS_GOT_BAD /* the session must end, with the alert */
};

struct tls_direction {
	EVP_CIPHER_CTX *cipher; /* has the key */
	uint8_t secret[TLS_SECRET_MAX];
	uint8_t iv[TLS_IV];
	uint64_t number; /* of the next record */
};

struct tls_records {
	const struct tls_suite *suite;
	size_t secret_len;
	struct tls_direction in, out;
	size_t most; /* bytes of content that the client takes */
	uint64_t lasts; /* records that the server's key may make */
	enum tls_alert alert; /* after TLS_GOT_BAD */
};

/*
 * Takes over after a handshake of which nothing was sent or read behind its
 * end. Returns false without memory, or for a cipher that Tern does not offer.
 */
bool tls_records_init(struct tls_records *, uint16_t suite,
    const struct tls_secrets *);
/* Forgets the keys. Accepts zeroed ones. */
void tls_records_clear(struct tls_records *);
/*
 * Decrypts the first record of in. Sets the bytes that it took and those of its
 * data. Writes less to out than it takes from in, and nothing of it may be used
 * unless TLS_GOT_DATA is returned.
 */
enum tls_got tls_record_get(struct tls_records *, const uint8_t *in, size_t len,
    uint8_t *out, size_t *taken, size_t *got);
/*
 * Encrypts up to r->most bytes into one record. out has room for TLS_RECORD_MORE
 * bytes more. Returns the bytes written; 0: cannot be.
 */
size_t tls_record_put(struct tls_records *r, enum tls_type,
    const uint8_t *content, size_t len, uint8_t *out);
/* Has the server's key made as many records as it should? */
bool tls_records_worn(const struct tls_records *);
/* Says that the server's next records have a new key. */
size_t tls_record_put_update(struct tls_records *, uint8_t *out);
size_t tls_record_put_alert(struct tls_records *, enum tls_alert, uint8_t *out);

#endif
