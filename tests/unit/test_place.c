/* SPDX-License-Identifier: ISC */
/*
 * Which worker gives connections to which: the decision alone, and whole machines
 * that follow it. What is unused, as the kernel says it.
 * Runs in: tests.
 */
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "nfsd/place/decide.h"
#include "nfsd/place/unused.h"
#include "tap.h"

#define LOOK_MS	  50
#define CONNS_MAX 256

static struct place_memory memory;
static struct place_look look;
static struct place_plan plan;

static void
reset(unsigned int n)
{
	unsigned int i;

	memset(&memory, 0, sizeof(memory));
	memset(&look, 0, sizeof(look));
	look.n = n;
	look.now_ms = 1000;
	for (i = 0; i < n; i++)
		look.workers[i].serves = true;
}

/* The next look. Returns how many moves it wants. */
static unsigned int
decide(void)
{
	look.now_ms += LOOK_MS;
	place_decide(&memory, &look, &plan);
	return plan.n;
}

static void
test_rules(void)
{
	reset(2);
	look.workers[0].busy = PLACE_ONE;
	cmp_ok(decide(), "==", 0, "no move where the clients use all");
	look.unused = PLACE_ONE;
	cmp_ok(decide(), "==", 1, "a busy worker gives");
	ok(plan.moves[0].from == 0 && plan.moves[0].to == 1,
	    "to the one that is not");
	reset(2);
	look.unused = PLACE_ONE;
	look.workers[0].busy = PLACE_ONE;
	look.workers[1].busy = PLACE_FREE + 1;
	cmp_ok(decide(), "==", 0, "one that has work takes none");
	look.workers[1].busy = 0;
	look.workers[1].serves = false;
	cmp_ok(decide(), "==", 0, "nor one that does not serve");
	look.workers[1].serves = true;
	look.workers[1].asked = true;
	cmp_ok(decide(), "==", 0, "nor one that has not answered");
	look.workers[1].asked = false;
	look.workers[0].busy = PLACE_BUSY - 1;
	cmp_ok(decide(), "==", 0, "a worker that is not busy gives none");
	reset(6);
	look.workers[0].busy = look.workers[1].busy = look.workers[2].busy =
	    PLACE_ONE;
	look.unused = PLACE_ONE + PLACE_SPARE;
	cmp_ok(decide(), "==", 2, "as many moves as processors are unused");
}

/* Looks until there is a move, for ms at most. Returns how long it took. */
static unsigned int
next_move(unsigned int ms)
{
	unsigned int t;

	for (t = LOOK_MS; t <= ms; t += LOOK_MS)
		if (decide() > 0)
			return t;
	return 0;
}

static void
test_waiting(void)
{
	unsigned int first, second, i;

	reset(2);
	look.unused = PLACE_ONE;
	look.workers[0].busy = PLACE_ONE;
	(void)decide();
	place_accepted(&memory, &plan.moves[0], look.now_ms);
	first = next_move(100000);
	place_accepted(&memory, &plan.moves[0], look.now_ms);
	second = next_move(100000);
	ok(first >= PLACE_WAIT_MS && second >= 2 * PLACE_WAIT_MS,
	    "one that has none to give is left alone, longer each time");
	place_accepted(&memory, &plan.moves[0], look.now_ms);
	place_given(&memory, 0);
	first = next_move(100000);
	ok(first >= PLACE_SETTLE_MS && first <= PLACE_SETTLE_MS + LOOK_MS,
	    "one that gave may soon give again");
	reset(3);
	look.unused = PLACE_ONE;
	look.workers[0].busy = PLACE_ONE;
	look.workers[2].busy = 1;
	(void)decide();
	cmp_ok(plan.moves[0].to, "==", 1, "the least busy one takes");
	for (i = 0; i < 3; i++)
		(void)decide();
	cmp_ok(plan.n == 1 ? plan.moves[0].to : 9, "==", 2,
	    "one that does not answer is passed over");
}

/* A machine: each connection has a worker and wants so much of a processor. */
static struct machine {
	unsigned int nworkers, nconns, cpus, moved;
	struct {
		unsigned int worker;
		uint32_t wants;
	} conns[CONNS_MAX];
	uint64_t chance;
} m;

static uint32_t
wanted_of(unsigned int worker)
{
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < m.nconns; i++)
		if (m.conns[i].worker == worker)
			sum += m.conns[i].wants;
	return sum;
}

/* Returns what all get, where a worker can use one processor. */
static uint32_t
served(void)
{
	uint32_t sum = 0, wants;
	unsigned int i;

	for (i = 0; i < m.nworkers; i++) {
		wants = wanted_of(i);
		look.workers[i].busy = wants < PLACE_ONE ? wants : PLACE_ONE;
		sum += look.workers[i].busy;
	}
	look.unused = m.cpus * PLACE_ONE > sum ? m.cpus * PLACE_ONE - sum : 0;
	return sum;
}

/* As rpc_streams_give() does it. */
static void
move(const struct place_move *how)
{
	unsigned int i, seen = 0, at = (unsigned int)(m.chance % m.nconns);

	place_accepted(&memory, how, look.now_ms);
	for (i = 0; i < m.nconns; i++, at = (at + 1) % m.nconns) {
		if (m.conns[at].worker != how->from || m.conns[at].wants == 0 ||
		    seen++ % 2 == 0)
			continue;
		m.conns[at].worker = how->to;
		place_given(&memory, how->from);
		m.moved++;
	}
}

/* Returns the mean of what was served in the second half of the time. */
static uint32_t
run(unsigned int ms)
{
	uint64_t sum = 0;
	unsigned int t, i, n = 0;

	for (t = 0; t < ms; t += LOOK_MS) {
		uint32_t now = served();

		m.chance = hash_mix(m.chance + 1);
		(void)decide();
		for (i = 0; i < plan.n; i++)
			move(&plan.moves[i]);
		if (t + LOOK_MS > ms / 2) {
			sum += now;
			n++;
		}
	}
	return (uint32_t)(sum / n);
}

static void
machine(unsigned int workers, unsigned int conns, uint32_t wants, bool hash)
{
	unsigned int i;

	reset(workers);
	m.nworkers = m.cpus = workers;
	m.nconns = conns;
	m.moved = 0;
	for (i = 0; i < conns; i++) {
		m.chance = hash_mix(m.chance + 1);
		m.conns[i].worker =
		    hash ? (unsigned int)(m.chance % workers) : 0;
		m.conns[i].wants = wants;
	}
}

static void
test_machines(void)
{
	uint32_t least = 64 * PLACE_ONE, now;
	unsigned int round, moved;

	for (round = 0; round < 20; round++) {
		machine(64, 64, PLACE_ONE, true);
		now = run(8000);
		least = now < least ? now : least;
	}
	cmp_ok(least, ">=", 64 * 900,
	    "64 busy connections reach 0.9 of 64 workers, 20 times of 20");
	machine(64, 64, PLACE_ONE, false);
	cmp_ok(run(8000), ">=", 64 * 900, "also if all began at one");
	moved = m.moved;
	(void)run(60000);
	cmp_ok(m.moved - moved, "<=", 6, "then they stay where they are");
	machine(8, 200, 40, false);
	cmp_ok(run(4000), ">=", 7600, "so do many that want little");
	machine(2, 4, 600, false);
	cmp_ok(run(4000), "==", 2000, "four on two workers");
}

/* No state in which all is well: the moves are few all the same. */
static void
test_restless(void)
{
	unsigned int i;

	machine(2, 3, 640, false);
	(void)run(60000);
	cmp_ok(m.moved, "<=", 10, "three on two workers do not go to and fro");
	machine(4, 16, 0, true);
	for (i = 0; i < 600; i++) { /* as a client would do it: 30 s */
		unsigned int c, from = i / 4 % 4;

		for (c = 0; c < m.nconns; c++)
			m.conns[c].wants = m.conns[c].worker == from ? 900 : 0;
		(void)run(LOOK_MS);
	}
	cmp_ok(m.moved, "<=", (8 + 30 * 1) * 8,
	    "clients that try to cause moves cause few");
}

static bool
odd(unsigned int number)
{
	return number % 2 == 1;
}

static void
test_unused(void)
{
	static const char text[] = "cpu  9 9 9 9 9 9 9 0 0 0\n"
				   "cpu0 1 2 3 400 5 6 7 8 9 10\n"
				   "cpu1 1 2 3 500 70 6 7 8 9 10\n"
				   "cpu13 1 2 3 1000 0 6 7 8 9 10\n"
				   "intr 5 6 7\n"
				   "cpu15 1 1 1 1 1\n";
	uint64_t idle_ns = 1;

	ok(unused_parse(text, odd, 10, &idle_ns) && idle_ns == 15700,
	    "idle and waiting time of the processors that count");
	ok(!unused_parse("cpu  1 2 3 4 5\nintr\n", odd, 10, &idle_ns) &&
		!unused_parse("", odd, 10, &idle_ns) &&
		!unused_parse("cpu1 1 2", odd, 10, &idle_ns) &&
		!unused_parse("cpu1", odd, 10, &idle_ns),
	    "a text without them says nothing");
	cmp_ok(unused_processors(), ">=", 1, "there is a processor");
}

int
main(void)
{
	plan(NO_PLAN);
	test_rules();
	test_waiting();
	test_machines();
	test_restless();
	test_unused();
	done_testing();
}
