/* SPDX-License-Identifier: ISC */
/*
 * Which calls leave the event loop. A call is deferred before it waits; all
 * calls on an export are, while its metadata comes from a network or a process,
 * or for some time after calls on it slept in the event loop or at the broker.
 *
 * On a busy machine a call may take long only because the event loop was not
 * scheduled. So a long call alone proves nothing. It makes the loop count how
 * often it sleeps in each of the next calls. A long call that slept is proof.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/resource.h>

#include "base/clock.h"
#include "nfsd/door/state.h"

#define SLOW_NS	     2000000u /* a call that took longer in the loop is slow */
#define WATCH_NS     2000000000u /* sleeps are counted for this long */
#define SLOW_FOR_NS  2000000000u /* an export is slow for this long at first */
#define SLOW_FOR_MAX 64000000000u /* if slow again and again: twice as long */
#define SLOW_ASK_NS  10000000u /* a question that took longer is slow */
#define SLOW_ASKS    4 /* so many slow questions */
#define SLOW_IN_NS   1000000000u /* within this time make an export slow */

/* Deferred calls that run in turn, so that each batch wakes one thread. */
#define TURN_CHANGES   1u
#define TURN_QUESTIONS 2u /* a change that waits does not keep them waiting */

static bool
defer(struct call_ctx *ctx)
{
	if (ctx->call->may_block)
		return false;
	ctx->call->deferred = true;
	return true;
}

/* What a call waited for in the event loop, before it is deferred, counts. */
bool
door_must_defer(struct call_ctx *ctx)
{
	uint64_t now_ns;

	if (!defer(ctx))
		return false;
	now_ns = clock_ns();
	door_note_latency(ctx->thread, now_ns, now_ns - ctx->call->started_ns);
	return true;
}

/* A change is deferred first of all. */
bool
door_must_defer_change(struct call_ctx *ctx, bool sync)
{
	if (!defer(ctx))
		return false;
	ctx->call->turn = sync ? 0 : TURN_CHANGES;
	return true;
}

bool
door_must_defer_question(struct call_ctx *ctx)
{
	if (!door_must_defer(ctx))
		return false;
	ctx->call->turn = TURN_QUESTIONS;
	return true;
}

bool
door_must_defer_export(struct call_ctx *ctx, const struct served_export *e)
{
	if (ctx->call->may_block)
		return false;
	if (e->local_metadata &&
	    atomic_load_explicit(&e->slow_until, memory_order_relaxed) <=
		ctx->call->started_ns)
		return false;
	ctx->call->deferred = true;
	return true;
}

/* Returns how often this thread has slept. */
static long
sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == -1 ? 0 : usage.ru_nvcsw;
}

void
door_watch(struct door_thread *t, uint64_t now_ns)
{
	struct door *door = t->door;

	door->watched = now_ns < door->watch_until;
	if (door->watched)
		door->sleeps = sleeps();
}

/* Makes an export slow; twice as long as the last time if that is not long ago. */
static void
set_slow(struct served_export *e, uint64_t now_ns)
{
	uint64_t until = atomic_load(&e->slow_until);
	uint64_t last = atomic_load(&e->slow_for), ns = SLOW_FOR_NS;

	if (until > now_ns)
		return;
	if (now_ns - until < last)
		ns = last * 2 < SLOW_FOR_MAX ? last * 2 : SLOW_FOR_MAX;
	atomic_store(&e->slow_for, ns);
	atomic_store(&e->slow_until, now_ns + ns);
}

void
door_note_latency(struct door_thread *t, uint64_t now_ns, uint64_t ns)
{
	struct door *door = t->door;

	if (ns < SLOW_NS || t->export == NULL)
		return;
	if (door->watched && sleeps() > door->sleeps)
		set_slow(t->export, now_ns);
	door->watch_until = now_ns + WATCH_NS;
}

void
door_note_answer(struct door_thread *t, uint64_t asked_ns)
{
	struct served_export *e = t->export;
	uint64_t now_ns = clock_ns();

	if (e == NULL || now_ns - asked_ns < SLOW_ASK_NS)
		return;
	if (now_ns - t->asks_since > SLOW_IN_NS) {
		t->asks_since = now_ns;
		t->slow_asks = 0;
	}
	if (++t->slow_asks >= SLOW_ASKS)
		set_slow(e, now_ns);
}
