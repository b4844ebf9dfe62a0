/* SPDX-License-Identifier: ISC */
/*
 * Which worker gets a connection. A new one goes to the worker that has fewest.
 * One from an address and port that was seen lately goes to the worker that it
 * had: that one knows the replies of its calls. A connection that its worker has
 * not taken yet is kept, and goes to the successor if the worker ends.
 *
 * The table makes no system call and reads no clock.
 * Runs in: nfsd accept.
 */
#ifndef ACCEPT_PLACE_H
#define ACCEPT_PLACE_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/rank.h"

#define PLACE_HOME_MS	125000 /* more than a reply is remembered */
#define PLACE_PATIENCE	200 /* ms: a worker that takes longer gets no new one */
#define PLACE_ENDED_MAX 65536 /* ended connections that are remembered */

struct place;
struct place_client;

enum place_state {
	PLACE_WAITS, /* for room in the channel, or for the worker's start */
	PLACE_SENT,
	PLACE_TAKEN,
	PLACE_ENDED, /* only its place is remembered */
	PLACE_STATES
};

struct place_conn {
	TAILQ_ENTRY(place_conn)
	order; /* of its worker and state; oldest first */
	LIST_ENTRY(place_conn) by_addr, by_id;
	struct place_client *client;
	struct addr from;
	uint64_t id;
	uint64_t since_ms; /* of PLACE_SENT or PLACE_ENDED */
	unsigned int worker;
	int fd; /* -1: the worker has taken it */
	enum place_state state;
};

/* No worker gets more than max connections. The ids begin after first_id. */
struct place *place_new(unsigned int workers, size_t max, uint64_t first_id);
void place_free(struct place *);
/* Chooses a worker. Returns NULL if none has a place, or without memory. */
struct place_conn *place_add(struct place *, const struct addr *from, int fd,
    uint64_t now_ms);
/*
 * A worker begins or ends. The connections that it had taken have ended with it,
 * and the others wait for its successor.
 */
void place_worker(struct place *, unsigned int worker, bool runs,
    uint64_t now_ms);
/* Returns the next connection to send to a worker; NULL: there is none. */
struct place_conn *place_next(const struct place *, unsigned int worker);
void place_sent(struct place *, struct place_conn *, uint64_t now_ms);
/*
 * The worker answers for the oldest that was sent. Returns the descriptor, which
 * is the caller's now, or -1 if the answer cannot be.
 */
int place_answer(struct place *, unsigned int worker, uint64_t id, bool taken,
    uint64_t now_ms);
/* A connection has ended. One that is not known is no mistake. */
void place_end(struct place *, unsigned int worker, uint64_t id,
    uint64_t now_ms);
/* How many connections a worker has; how many no worker has taken yet. */
size_t place_count(const struct place *, unsigned int worker);
size_t place_waiting(const struct place *);

#endif
