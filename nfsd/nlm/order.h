/* SPDX-License-Identifier: ISC */
/*
 * The calls of one owner for one file count in the order in which they came. A
 * client whose process is killed while a LOCK waits sends an UNLOCK: if that were
 * done first, the lock would stay for ever. File threads run calls side by side,
 * so each waits for those of its owner that came before it.
 * Runs in: nfsd nlm (event loop and file threads), tests.
 */
#ifndef NLM_ORDER_H
#define NLM_ORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

#define ORDER_BUCKETS 256
/* A call that came so long before delays no other: a new client waits 10 s. */
#define ORDER_MS 15000

struct order_entry;

struct order {
	struct hash_key key; /* of owners */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct order_entry *buckets[ORDER_BUCKETS];
};

void order_init(struct order *);
/* Event loop: a call of this owner that came at this time is on a file thread. */
void order_add(struct order *, uint64_t owner, uint64_t at_ns);
/* Event loop: it has ended. */
void order_remove(struct order *, uint64_t owner, uint64_t at_ns);
/* Is a call of the owner on a file thread that came before? */
bool order_has(struct order *, uint64_t owner, uint64_t before_ns);
/* File thread: waits for all that came before; not for ever, if one hangs. */
void order_wait(struct order *, uint64_t owner, uint64_t before_ns);

#endif
