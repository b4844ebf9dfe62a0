/* SPDX-License-Identifier: ISC */
/*
 * Which calls leave the event loop. A call is deferred before it waits: if it
 * changes something, asks the broker, or uses what may not be in memory. All calls
 * on an export are deferred if its metadata comes from a network or a process.
 *
 * Deferred calls run in turn where they seldom wait. Where they do, the export
 * is slow: for some time its calls run side by side.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include "base/clock.h"
#include "nfsd/cache/warm.h"
#include "nfsd/door/state.h"

#define SLOW_NS	    10000000u /* a wait that took longer is slow */
#define SLOW_WAITS  4 /* so many slow waits */
#define SLOW_IN_NS  1000000000u /* within this time make an export slow */
#define SLOW_FOR_NS 2000000000u /* for this long */

/* Deferred calls that run in turn, so that each batch wakes one thread. */
#define TURN_CHANGES   RPC_TURN_SHORT
#define TURN_QUESTIONS 2u /* a change that waits does not keep them waiting */

static bool
is_slow(const struct call_ctx *ctx)
{
	const struct served_export *e = ctx->thread->export;

	return e != NULL &&
	    atomic_load_explicit(&e->slow_until, memory_order_relaxed) >
	    ctx->call->started_ns;
}

/* turn: 0 if the call runs side by side with others. */
static bool
defer(struct call_ctx *ctx, unsigned int turn)
{
	if (ctx->call->may_block)
		return false;
	ctx->call->deferred = true;
	ctx->call->turn = is_slow(ctx) ? 0 : turn;
	return true;
}

bool
door_must_defer(struct call_ctx *ctx)
{
	return defer(ctx, 0);
}

bool
door_must_defer_change(struct call_ctx *ctx, bool sync)
{
	return defer(ctx, sync ? 0 : TURN_CHANGES);
}

bool
door_must_defer_question(struct call_ctx *ctx)
{
	return defer(ctx, TURN_QUESTIONS);
}

bool
door_must_defer_cold(struct call_ctx *ctx, const struct door_obj *obj,
    const char *name, struct door_use *use)
{
	const struct warm *warm = ctx->thread->door->warm;
	const struct rpc_call *call = ctx->call;

	use->key = warm_key(warm, &obj->st, ctx->uid, name);
	use->since_ns = call->may_block ? clock_ns() : call->started_ns;
	return !call->may_block && !warm_has(warm, use->key, use->since_ns) &&
	    door_must_defer_question(ctx);
}

void
door_used(struct call_ctx *ctx, const struct door_use *use)
{
	uint64_t now_ns = use->since_ns;

	if (ctx->call->may_block)
		now_ns = door_note_wait(ctx->thread, use->since_ns);
	warm_add(ctx->thread->door->warm, use->key, now_ns);
}

uint64_t
door_note_wait(struct door_thread *t, uint64_t since_ns)
{
	struct served_export *e = t->export;
	uint64_t now_ns = clock_ns();

	if (e == NULL || now_ns - since_ns < SLOW_NS)
		return now_ns;
	/* Two threads at once may lose a count: the next wait is counted. */
	if (now_ns - atomic_load(&e->waits_since) > SLOW_IN_NS) {
		atomic_store(&e->waits_since, now_ns);
		atomic_store(&e->slow_waits, 0);
	}
	if (atomic_fetch_add(&e->slow_waits, 1) + 1 >= SLOW_WAITS)
		atomic_store(&e->slow_until, now_ns + SLOW_FOR_NS);
	return now_ns;
}
