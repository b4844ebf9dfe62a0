/* SPDX-License-Identifier: ISC */
/*
 * Any records of a client that has finished its handshake. The input is a list
 * of steps: a type, a length, and so many bytes. They are content that the client
 * encrypts, a KeyUpdate (type 24), or bytes as they are (type 255).
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/tls/record.h"

#define ROOM  65536
#define PLAIN 255

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Returns the bytes for the wire. */
static size_t
make_wire(struct tls_records *client, const uint8_t *data, size_t len,
    uint8_t wire[ROOM])
{
	size_t n, at = 0;

	while (len >= 2 && at + 255 + TLS_RECORD_MORE <= ROOM) {
		n = data[1] < len - 2 ? data[1] : len - 2;
		if (data[0] == PLAIN) {
			memcpy(wire + at, data + 2, n);
			at += n;
		} else if (data[0] == 24)
			at += tls_record_put_update(client, wire + at);
		else
			at += tls_record_put(client, (enum tls_type)data[0],
			    data + 2, n, wire + at);
		data += 2 + n;
		len -= 2 + n;
	}
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct tls_secrets secrets = {
		.len = 32, .has_client = true, .has_server = true
	};
	static uint8_t wire[ROOM], plain[ROOM];
	struct tls_records server, client;
	size_t at = 0, sum = 0, taken, got, n;
	enum tls_got what;

	if (!tls_records_init(&server, 0x1301, &secrets) ||
	    !tls_records_init(&client, 0x1301, &secrets))
		abort();
	n = make_wire(&client, data, len, wire);
	while ((what = tls_record_get(&server, wire + at, n - at, plain + sum,
		    &taken, &got)) != TLS_GOT_PART &&
	    what != TLS_GOT_BAD) {
		/* The relay's buffer has room for less than it reads. */
		if (taken < got + TLS_RECORD_MORE || taken > n - at ||
		    (got > 0 && what != TLS_GOT_DATA))
			abort();
		at += taken;
		sum += got;
	}
	tls_records_clear(&server);
	tls_records_clear(&client);
	return 0;
}
