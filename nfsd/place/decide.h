/* SPDX-License-Identifier: ISC */
/*
 * Decides which workers give connections to which. The kernel places a connection
 * by a hash, so one worker may get many and another none. If a worker is busy and
 * the machine has a processor left, a worker that is far from busy gets half of its
 * connections that send calls. If the clients use up the processors of this
 * machine themselves, nothing moves: another worker would only be in their way.
 *
 * Nothing goes to and fro. A worker that had none to give is left alone, longer
 * each time. So is one that did not answer: it may seem idle because it hangs. And
 * there are only so many moves in a second, whatever clients do.
 *
 * Pure: numbers in, numbers out.
 * Runs in: nfsd parent.
 */
#ifndef PLACE_DECIDE_H
#define PLACE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/meter.h"
#include "nfsd/nfsd.h"

#define PLACE_ONE	1000u /* a processor; shares of one are thousandths */
#define PLACE_BUSY	700u /* from here on a worker gives */
#define PLACE_FREE	350u /* up to here it takes */
#define PLACE_SPARE	400u /* unused: two workers take a third more to wake */
#define PLACE_SETTLE_MS 120u /* after a move its workers are left alone */
#define PLACE_WAIT_MS	1000u /* the same if nothing came of it; it doubles */
#define PLACE_WAIT_MAX	64000u

/* What is known of a worker. */
struct place_worker {
	bool serves;
	bool asked; /* it has not answered an offer */
	uint32_t busy; /* thousandths of a processor since the last look */
};

struct place_look {
	uint64_t now_ms;
	uint32_t unused; /* thousandths of a processor that nothing uses */
	unsigned int n;
	struct place_worker workers[NFSD_WORKERS_MAX];
};

/* What is remembered of a worker. */
struct place_past {
	uint64_t not_before_ms; /* until then it neither gives nor takes */
	uint32_t wait_ms; /* the last one after which nothing came */
	bool owes; /* it was asked something; what came of it is not known */
};

/* Zeroed, it has no past. */
struct place_memory {
	struct place_past past[NFSD_WORKERS_MAX];
	struct bucket moves;
};

struct place_move {
	unsigned int from, to;
};

struct place_plan {
	unsigned int n;
	struct place_move moves[NFSD_WORKERS_MAX / 2];
};

/* Plans moves. Each is for the worker that takes to accept. */
void place_decide(struct place_memory *, const struct place_look *,
    struct place_plan *);
/* It has accepted: the other one is asked to give. */
void place_accepted(struct place_memory *, const struct place_move *,
    uint64_t now_ms);
/* A worker has given a connection. */
void place_given(struct place_memory *, unsigned int worker);
/* Is any worker busy enough for the unused processors to matter? */
bool place_is_busy(const struct place_look *);

#endif
