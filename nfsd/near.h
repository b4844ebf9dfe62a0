/* SPDX-License-Identifier: ISC */
/*
 * On which processor nlm and the locks role run. If clients make one call at a time,
 * each call finds both asleep. On different processors, each call, question, answer
 * and reply would wake an idle one, which takes longer than the work. The kernel
 * often leaves them there. So the event loop of nlm stays where the kernel takes
 * packets in, and the thread of the locks role stays where nlm asks from. With
 * several calls at once they may run anywhere again.
 * Runs in: nfsd nlm, nfsd locks, tests.
 */
#ifndef NEAR_H
#define NEAR_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpc/rpc.h"

#define NEAR_ANY   UINT32_MAX
#define NEAR_AFTER 32 /* in a row: questions, or turns of the event loop */
#define NEAR_CHASE 2 /* times that nlm goes after packets in vain */
#define NEAR_REST  1024 /* looks, after that */

struct event;
struct event_base;
struct rpc_streams;

/* A thread of the locks role. */
struct near {
	uint32_t cpu; /* the thread stays there, or NEAR_ANY */
	uint32_t last; /* from which nlm asked last */
	unsigned int n; /* questions from there in a row, each alone */
};

/*
 * Where packets arrive. Those of a client on this machine arrive where the client
 * runs. When nlm comes there, the kernel moves the client to an idle processor. nlm
 * would go after it for ever.
 */
struct near_trail {
	uint32_t cpu; /* where to stay, or NEAR_ANY */
	unsigned int misses; /* looks in a row that found packets elsewhere */
	uint64_t of; /* the connection that was looked at last */
	unsigned int rest; /* looks until nlm goes after its packets again */
};

/* The event loop of nlm. */
struct near_packets {
	struct rpc_streams *streams;
	struct event *look; /* once a second while it stays */
	uint64_t caller; /* connection of the last call; 0: a datagram */
	unsigned int alone; /* turns with one call, in a row */
	struct near_trail trail;
	uint32_t cpu; /* where it stays, or NEAR_ANY */
	bool idle; /* no turn since the last look */
	cpu_set_t anywhere;
};

void near_init(struct near *);
/*
 * nlm has asked from this processor, one question alone or several. Returns true
 * if that changes where the thread must stay.
 */
bool near_note(struct near *, uint32_t cpu, bool alone);

void near_trail_init(struct near_trail *);
/*
 * A look has found that packets of this connection arrive at this processor.
 * Returns where to stay: there, or NEAR_ANY if they went elsewhere each time that nlm
 * came.
 */
uint32_t near_trail_follow(struct near_trail *, uint64_t of, uint32_t cpu);

/* The streams are those that calls come from. */
void near_packets_init(struct near_packets *, struct event_base *,
    struct rpc_streams *);
/* A call of this peer is asked about in this turn. */
void near_packets_call(struct near_packets *, const struct rpc_peer *);
/* The questions of a turn are asked. So many calls wait for an answer. */
void near_packets_turn(struct near_packets *, unsigned int calls);

/* Where this process may run. */
void near_learn(cpu_set_t *anywhere);
/* This thread stays on that processor if it may run there, or runs anywhere. */
void near_go(uint32_t cpu, const cpu_set_t *anywhere);
/* Asks for short turns of the processor, for threads that are started later too. */
void near_take_short_turns(void);

#endif
