/* SPDX-License-Identifier: ISC */
/*
 * Where nlm and the locks role run: see near.h.
 * Runs in: nfsd nlm, nfsd locks, tests.
 */
#include <sys/syscall.h>

#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/near.h"
#include "transport/transport.h"

#define TURN_NS 100000 /* of the processor; the least that Linux knows */

void
near_learn(cpu_set_t *anywhere)
{
	if (sched_getaffinity(0, sizeof(*anywhere), anywhere) == -1)
		memset(anywhere, 0xff, sizeof(*anywhere));
}

void
near_go(uint32_t cpu, const cpu_set_t *anywhere)
{
	cpu_set_t set = *anywhere;

	if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set)) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
	}
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Linux 6.12 lets a thread that has shorter turns run as soon as it is woken. Its
 * share of the processor remains the same. An administrator's choice of another
 * policy is kept.
 */
void
near_take_short_turns(void)
{
	/* That of sched_setattr(2), which libc does not have. */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == -1 ||
	    a.policy != SCHED_OTHER)
		return;
	a.runtime = TURN_NS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

void
near_init(struct near *near)
{
	*near = (struct near){ .cpu = NEAR_ANY, .last = NEAR_ANY };
}

bool
near_note(struct near *near, uint32_t cpu, bool alone)
{
	uint32_t old = near->cpu;

	if (!alone || cpu != near->last)
		near->n = 0;
	near->last = cpu;
	if (alone && near->n < NEAR_AFTER)
		near->n++;
	near->cpu = near->n < NEAR_AFTER ? NEAR_ANY : cpu;
	return near->cpu != old;
}

void
near_trail_init(struct near_trail *t)
{
	*t = (struct near_trail){ .cpu = NEAR_ANY };
}

uint32_t
near_trail_follow(struct near_trail *t, uint64_t of, uint32_t cpu)
{
	bool is_miss = cpu != t->cpu && cpu != NEAR_ANY && t->cpu != NEAR_ANY;

	if (t->rest > 0 && of == t->of) {
		t->rest--;
		return NEAR_ANY;
	}
	t->of = of;
	t->rest = 0;
	t->misses = is_miss ? t->misses + 1 : 0;
	t->cpu = cpu;
	if (t->misses > NEAR_CHASE) {
		t->misses = 0;
		t->cpu = NEAR_ANY;
		t->rest = NEAR_REST;
	}
	return t->cpu;
}

static void
stay(struct near_packets *p, uint32_t cpu)
{
	static const struct timeval second = { .tv_sec = 1 };

	if (cpu != p->cpu)
		near_go(cpu, &p->anywhere);
	p->cpu = cpu;
	if (cpu != NEAR_ANY && !evtimer_pending(p->look, NULL))
		(void)event_add(p->look, &second);
}

static void
run_anywhere(struct near_packets *p)
{
	p->alone = 0;
	near_trail_init(&p->trail);
	stay(p, NEAR_ANY);
}

static void
on_look(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct near_packets *p = arg;

	if (p->idle)
		run_anywhere(p);
	p->idle = true;
	stay(p, p->cpu);
}

void
near_packets_init(struct near_packets *p, struct event_base *base,
    struct rpc_streams *streams)
{
	*p = (struct near_packets){ .streams = streams, .cpu = NEAR_ANY };
	near_trail_init(&p->trail);
	near_learn(&p->anywhere);
	p->look = evtimer_new(base, on_look, p);
	if (p->look == NULL)
		fatalx("event: out of memory");
}

void
near_packets_call(struct near_packets *p, const struct rpc_peer *peer)
{
	p->caller = peer->kind == RPC_TCP ? peer->id : 0;
}

/* The kernel is asked after so many turns, and after as many again. */
void
near_packets_turn(struct near_packets *p, unsigned int calls)
{
	p->idle = false;
	if (calls != 1)
		run_anywhere(p);
	else if (++p->alone % NEAR_AFTER == 0)
		stay(p,
		    near_trail_follow(&p->trail, p->caller,
			rpc_streams_processor(p->streams, p->caller)));
}
