/* SPDX-License-Identifier: ISC */
/*
 * Three hash functions, chosen by the cost of a collision.
 *
 * hash_bytes() is SipHash. A random key is for data that a peer chooses: no
 * peer can aim at a bucket. A constant key makes values that must stay the same
 * after a restart.
 * hash_text() is for short words that no peer chooses. The id of an export is
 * made with it and is part of every handle: it must never change.
 * hash_mix() spreads a number where a collision costs little: a peer that aims at
 * a bucket slows down a bounded search. It costs two multiplications.
 * Runs in: every process.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_KEY_SIZE 16

struct hash_key {
	uint8_t bytes[HASH_KEY_SIZE]; /* a constant key: { "tern caller" } */
};

/*
 * Makes a key that differs in each process. Ends the process if there are no
 * random numbers.
 */
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
