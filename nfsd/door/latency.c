/* SPDX-License-Identifier: ISC */
/*
 * Which calls leave the event loop. A call is deferred before it blocks; all
 * calls on an export are, while its metadata comes from a network or a process,
 * or after several calls on it had to read from a disk.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/resource.h>

#include "nfsd/door/state.h"

#define SLOW_NS	    2000000u /* a call that took longer in the loop is slow */
#define SLOW_CALLS  4 /* so many slow calls */
#define SLOW_IN_NS  1000000000u /* within this time make their export slow */
#define SLOW_FOR_NS 2000000000u /* for this long */

bool
door_must_defer(struct call_ctx *ctx)
{
	if (ctx->call->may_block)
		return false;
	ctx->call->deferred = true;
	return true;
}

bool
door_must_defer_change(struct call_ctx *ctx, bool sync)
{
	if (!door_must_defer(ctx))
		return false;
	ctx->call->in_turn = !sync;
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

void
door_note_latency(struct door_thread *t, uint64_t now_ns, uint64_t ns)
{
	struct door *door = t->door;
	struct rusage usage;
	long reads;

	if (ns < SLOW_NS || t->export == NULL ||
	    getrusage(RUSAGE_THREAD, &usage) == -1)
		return;
	/*
	 * On a busy machine the event loop may just not have been scheduled.
	 * Only calls during which it read from a disk count.
	 */
	reads = usage.ru_inblock - door->reads;
	door->reads = usage.ru_inblock;
	if (reads == 0)
		return;
	if (now_ns - door->strikes_since > SLOW_IN_NS) {
		door->strikes_since = now_ns;
		door->strikes = 0;
	}
	if (++door->strikes >= SLOW_CALLS)
		atomic_store(&t->export->slow_until, now_ns + SLOW_FOR_NS);
}
