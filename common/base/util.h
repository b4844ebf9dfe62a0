/* SPDX-License-Identifier: ISC */
/*
 * Small things every file may use: nothing here has state or a home elsewhere.
 * Runs in: every process.
 */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NO_RETURN		__attribute__((noreturn))
#define UNUSED			__attribute__((unused))

static inline bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Spreads numbers that are no secret, for hash tables. */
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
