/* SPDX-License-Identifier: ISC */
/*
 * The caller after squashing. The thread acts as this user.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include "nfsd/door/identity.h"
#include "nfsd/door/state.h"

int
door_act_as_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;

	if (!t->started) {
		cred_init(&t->acting, t->door->mode);
		t->started = true;
	}
	if (t->acting.switches)
		cred_squash(&t->cred, &ctx->call->cred, options);
	else
		t->cred = t->acting.now;
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
door_is_user_kept(const struct call_ctx *ctx)
{
	return ctx->call->cred.flavor == AUTH_SYS &&
	    ctx->call->cred.uid == ctx->uid;
}

bool
door_is_group_kept(const struct call_ctx *ctx)
{
	return ctx->call->cred.flavor == AUTH_SYS &&
	    ctx->call->cred.gid == ctx->gid;
}

bool
door_may_mknod(const struct call_ctx *ctx)
{
	return door_is_root(ctx) && ctx->thread->door->mknod;
}
