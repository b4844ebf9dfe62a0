/* SPDX-License-Identifier: ISC */
/*
 * Buckets and proofs: see base/meter.h. The table of buckets is divided into
 * sets. A new client takes the fullest bucket of its set, and what is in it, so
 * a client cannot renew its bucket by displacing it.
 * Runs in: the process that reads the network.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"

#define METER_SETS 1024
#define METER_WAYS 4
#define THOUSAND   1000
#define MINUTE_MS  60000

struct meter_slot {
	uint64_t client; /* 0: none */
	struct bucket bucket;
};

struct meter {
	struct bucket_rate rate;
	struct hash_key secret;
	struct meter_slot slots[METER_SETS][METER_WAYS];
};

/* Adds what has flowed in since the last look. */
static void
fill(struct bucket *b, const struct bucket_rate *rate, uint64_t now_ms)
{
	uint64_t most = rate->burst * THOUSAND, ms = now_ms - b->at_ms;

	if (b->at_ms == 0 || ms > most / (rate->per_second + 1) ||
	    b->level + ms * rate->per_second > most)
		b->level = most;
	else
		b->level += ms * rate->per_second;
	b->at_ms = now_ms;
}

bool
bucket_take(struct bucket *b, const struct bucket_rate *rate, uint64_t n,
    uint64_t now_ms)
{
	fill(b, rate, now_ms);
	if (b->level < n * THOUSAND)
		return false;
	b->level -= n * THOUSAND;
	return true;
}

void
bucket_give(struct bucket *b, uint64_t n)
{
	b->level += n * THOUSAND; /* fill() cuts it to the burst */
}

struct meter *
meter_new(const struct bucket_rate *rate)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (m == NULL)
		fatal("meter");
	m->rate = *rate;
	hash_key_random(&m->secret);
	return m;
}

void
meter_free(struct meter *m)
{
	free(m);
}

static uint64_t
sum_of(const struct hash_key *key, const struct addr *a)
{
	uint8_t flat[sizeof(a->bytes) + sizeof(a->scope) + 1];

	memcpy(flat, a->bytes, sizeof(a->bytes));
	memcpy(flat + sizeof(a->bytes), &a->scope, sizeof(a->scope));
	flat[sizeof(flat) - 1] = a->family;
	return hash_bytes(key, flat, sizeof(flat));
}

/* Returns the bucket of a client, or the fullest one of its set. */
static struct bucket *
bucket_of(struct meter *m, const struct addr *a, uint64_t now_ms)
{
	struct addr client = addr_client(a);
	uint64_t sum = sum_of(&m->secret, &client) | 1;
	struct meter_slot *set = m->slots[(sum >> 1) % METER_SETS], *best = set;
	size_t i;

	for (i = 0; i < METER_WAYS; i++) {
		if (set[i].client == sum)
			return &set[i].bucket;
		fill(&set[i].bucket, &m->rate, now_ms);
		if (set[i].bucket.level > best->bucket.level)
			best = &set[i];
	}
	best->client = sum;
	return &best->bucket;
}

bool
meter_take(struct meter *m, const struct addr *client, uint64_t n,
    uint64_t now_ms)
{
	return bucket_take(bucket_of(m, client, now_ms), &m->rate, n, now_ms);
}

void
meter_give(struct meter *m, const struct addr *client, uint64_t n)
{
	bucket_give(bucket_of(m, client, clock_coarse_ms()), n);
}

/* A slot holds 40 bits of the address's hash and the minute of the proof. */
static uint64_t
proof_of(uint64_t sum, uint64_t now_ms)
{
	return (sum & ~UINT64_C(0xffffff)) |
	    ((now_ms / MINUTE_MS) & UINT64_C(0xffffff));
}

void
proofs_add(struct proofs *p, const struct addr *a, uint64_t now_ms)
{
	uint64_t sum = sum_of(&p->key, a);

	atomic_store_explicit(&p->slots[sum % PROOFS_SLOTS],
	    proof_of(sum, now_ms), memory_order_relaxed);
}

bool
proofs_have(struct proofs *p, const struct addr *a, uint64_t now_ms)
{
	uint64_t sum = sum_of(&p->key, a), age,
		 have = atomic_load_explicit(&p->slots[sum % PROOFS_SLOTS],
		     memory_order_relaxed);

	age = (now_ms / MINUTE_MS - have) & UINT64_C(0xffffff);
	return have != 0 && proof_of(sum, 0) == (have & ~UINT64_C(0xffffff)) &&
	    age < PROOFS_MINUTES;
}
