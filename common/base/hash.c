/* SPDX-License-Identifier: ISC */
/*
 * SipHash, called short hash in libsodium: see base/hash.h.
 * Runs in: every process.
 */
#include <sodium.h>

#include "base/hash.h"
#include "base/log.h"

_Static_assert(HASH_KEY_SIZE == crypto_shorthash_KEYBYTES, "a whole key");
_Static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES, "one word");

void
hash_key_random(struct hash_key *key)
{
	if (sodium_init() == -1)
		fatalx("the kernel provides no random numbers");
	randombytes_buf(key->bytes, sizeof(key->bytes));
}

uint64_t
hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	uint64_t h;

	(void)crypto_shorthash((unsigned char *)&h, data, len, key->bytes);
	return h;
}
