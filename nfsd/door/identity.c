/* SPDX-License-Identifier: ISC */
/*
 * The caller after squashing. The thread acts as this user.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <string.h>

#include "nfsd/door/identity.h"
#include "nfsd/door/state.h"

/* Whom the call acts as. A lookup of groups is waited for in a file thread. */
static enum nfsstat
find_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;
	const struct judge_case c = door_case(ctx);

	switch (judge_squash(&c, options, &t->cred)) {
	case JUDGE_ACTS:
		return NFS_OK;
	case JUDGE_NOBODY:
		return NFSERR_SERVERFAULT;
	case JUDGE_GROUPS:
		break;
	}
	if (door_must_defer(ctx))
		return NFS_DEFERRED;
	return judge_await(&t->door->judge.groups, options, &t->cred) ?
	    NFS_OK :
	    NFSERR_JUKEBOX;
}

/*
 * Does the thread act as this caller already? What a credential is squashed to
 * depends on nothing but it and the options, unless a certificate names the user,
 * or the groups are those of this machine: these may change with each call. The
 * options belong to the exports that the thread holds (door_hold()).
 */
static bool
is_acting(const struct door_thread *t, const struct rpc_cred *caller,
    const struct export_options *options)
{
	return t->caller_under == options && !options->certuser &&
	    t->door->judge.groups.table == NULL &&
	    memcmp(&t->caller, caller, RPC_CRED_USED(caller)) == 0;
}

/* Squashes the caller, and has the thread act as the result. */
static enum nfsstat
become_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;
	enum nfsstat status = NFS_OK;

	t->caller_under = NULL;
	if (!t->started) {
		cred_init(&t->acting, t->door->mode);
		t->started = true;
	}
	if (t->acting.switches)
		status = find_caller(ctx, options);
	else
		cred_copy(&t->cred, &t->acting.now);
	if (status != NFS_OK)
		return status;
	if (cred_switch(&t->acting, &t->cred) == -1)
		return NFSERR_SERVERFAULT;
	memcpy(&t->caller, &ctx->call->cred, RPC_CRED_USED(&ctx->call->cred));
	t->caller_under = options;
	return NFS_OK;
}

enum nfsstat
door_act_as_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;
	enum nfsstat status = NFS_OK;

	if (!is_acting(t, &ctx->call->cred, options))
		status = become_caller(ctx, options);
	if (status != NFS_OK)
		return status;
	ctx->options = options;
	ctx->uid = t->cred.uid;
	ctx->gid = t->cred.gid;
	return NFS_OK;
}

bool
door_is_root(const struct call_ctx *ctx)
{
	return ctx->uid == 0 && ctx->thread->acting.switches;
}

bool
door_is_user_kept(const struct call_ctx *ctx)
{
	uint32_t uid = ctx->call->cred.uid;

	return ctx->call->cred.flavor == AUTH_SYS &&
	    id_map_in(&ctx->options->uids, &uid) && uid == ctx->uid;
}

bool
door_is_group_kept(const struct call_ctx *ctx)
{
	uint32_t gid = ctx->call->cred.gid;

	return ctx->call->cred.flavor == AUTH_SYS &&
	    id_map_in(&ctx->options->gids, &gid) && gid == ctx->gid;
}

bool
door_may_mknod(const struct call_ctx *ctx)
{
	return door_is_root(ctx) && ctx->thread->door->mknod;
}
