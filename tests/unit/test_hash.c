/* SPDX-License-Identifier: ISC */
/*
 * Hashes against the vectors of their authors, and against the numbers that
 * handles made by earlier versions hold.
 * Runs in: tests.
 */
#include <string.h>

#include "base/hash.h"
#include "tap.h"

static void
check_published(void)
{
	struct hash_key key;
	uint8_t message[15];
	size_t i;

	for (i = 0; i < sizeof(key.bytes); i++)
		key.bytes[i] = (uint8_t)i;
	for (i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)i;
	ok(hash_bytes(&key, message, sizeof(message)) == 0xa129ca6149be45e5u,
	    "SipHash gives the vector of its paper");
	ok(hash_text("") == 0xcbf29ce484222325u &&
		hash_text("a") == 0xaf63dc4c8601ec8cu &&
		hash_text("foobar") == 0x85944171f73967e8u,
	    "FNV-1a gives the vectors of its authors");
}

static void
check_lasting(void)
{
	static const struct hash_key submount = { "tern submount" };
	static const struct hash_key identity = { "tern identity" };
	static const char path[] = "/srv/music/usb";

	ok(hash_bytes(&submount, path, strlen(path)) == 0xea208c38c2132a16u,
	    "the number of a submount is that of earlier versions");
	ok(hash_bytes(&identity, path, strlen(path)) == 0xbc9809d2f235e65au,
	    "the digest of an identity is that of earlier versions");
}

static void
check_keys(void)
{
	struct hash_key a, b;

	hash_key_random(&a);
	hash_key_random(&b);
	ok(memcmp(&a, &b, sizeof(a)) != 0, "two random keys differ");
	ok(hash_bytes(&a, "x", 1) != hash_bytes(&b, "x", 1),
	    "their hashes differ");
	ok(hash_bytes(&a, "x", 1) == hash_bytes(&a, "x", 1),
	    "one key gives one hash");
}

static void
check_mix(void)
{
	size_t i, count[64] = { 0 }, most = 0;

	for (i = 0; i < 64000; i++)
		count[hash_mix((uint64_t)i << 20) % 64]++;
	for (i = 0; i < 64; i++)
		if (count[i] > most)
			most = count[i];
	cmp_ok(most, "<", 1200, "mix spreads numbers with equal low bits");
}

int
main(void)
{
	plan(NO_PLAN);
	check_published();
	check_lasting();
	check_keys();
	check_mix();
	done_testing();
}
