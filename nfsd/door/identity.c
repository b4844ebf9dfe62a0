/* SPDX-License-Identifier: ISC */
/*
 * Who the caller is after squashing, and the thread that acts as this user. The
 * result is kept for the next call: most callers call again.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <string.h>

#include "nfsd/door/state.h"

static bool
is_same_caller(const struct rpc_cred *a, const struct rpc_cred *b)
{
	return a->flavor == b->flavor && a->uid == b->uid && a->gid == b->gid &&
	    a->ngids == b->ngids &&
	    memcmp(a->gids, b->gids, a->ngids * sizeof(a->gids[0])) == 0;
}

int
door_act_as_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;
	const struct rpc_cred *raw = &ctx->call->cred;

	if (!t->started) {
		cred_init(&t->acting, t->door->mode);
		t->started = true;
	}
	if (t->raw_options != options || !is_same_caller(raw, &t->raw)) {
		t->raw = *raw;
		t->raw_options = options;
		if (t->acting.switches)
			cred_squash(&t->cred, raw, options);
		else
			t->cred = t->acting.now;
		t->caller = cred_key(&t->cred);
	}
	ctx->options = options;
	ctx->uid = t->cred.uid;
	ctx->gid = t->cred.gid;
	return cred_switch(&t->acting, &t->cred);
}

bool
door_is_root(const struct call_ctx *ctx)
{
	return ctx->uid == 0 && ctx->thread->acting.switches;
}

bool
door_may_mknod(const struct call_ctx *ctx)
{
	return door_is_root(ctx) && ctx->thread->door->mknod;
}

uint32_t
door_uid(const struct call_ctx *ctx)
{
	return ctx->uid;
}
