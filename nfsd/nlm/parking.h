/* SPDX-License-Identifier: ISC */
/*
 * Calls of the event loop that wait for the locks role. Their questions are
 * gathered and sent at the end of the turn, in one message. The event loop goes
 * on meanwhile. When the answers are there, the calls run again, in the order in
 * which they came. What is gathered until then is the next message.
 *
 * A call whose question cannot be answered at once goes to the file threads. So
 * do all, if the locks role ends. The calls of one owner go there in their order.
 * So no thread waits for a call that is still parked.
 * Runs in: nfsd nlm (event loop), tests.
 */
#ifndef NLM_PARKING_H
#define NLM_PARKING_H

#include "nfsd/nlm/nlm.h"

#define PARKING_BATCHES 8 /* messages that are sent or gathered */
#define PARKING_MAX	(PARKING_BATCHES * LOCKS_TOGETHER)

struct event_base;
struct parking;

/* The answer is set in nlm while its call runs again. Never returns NULL. */
struct parking *parking_new(struct event_base *, struct nlm *);
/* No call may be parked. */
void parking_free(struct parking *);
/* Takes over the channel to the locks role, in place of one that has ended. */
void parking_set_channel(struct parking *, int fd);
/* See nlm.h: may_park and park. */
bool parking_may_add(const struct parking *, uint64_t owner,
    unsigned int queue);
bool parking_add(struct parking *, const struct call_ctx *, struct rpc_job *);

#endif
