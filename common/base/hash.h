/* SPDX-License-Identifier: ISC */
/*
 * Hashes, by what a collision would cost.
 *
 * hash_bytes() is SipHash. With a random key it is for what a peer chooses: no
 * peer can aim at a bucket. With a constant key it makes numbers that must be
 * the same after a restart.
 * hash_text() is for short words of our own. The number of an export is made
 * with it and is part of every handle: it must never change.
 * hash_mix() spreads a number that no peer chooses, at the cost of two
 * multiplications.
 * Runs in: every process.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_KEY_SIZE 16

struct hash_key {
	uint8_t bytes[HASH_KEY_SIZE]; /* a constant one: { "tern caller" } */
};

/* Another key in each process; ends the process without random numbers. */
void hash_key_random(struct hash_key *);
uint64_t hash_bytes(const struct hash_key *, const void *, size_t);

/* FNV-1a. */
static inline uint64_t
hash_text(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text != '\0'; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return h;
}

static inline uint64_t
hash_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

#endif
