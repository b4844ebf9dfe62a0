/* SPDX-License-Identifier: ISC */
/*
 * The caller after squashing. The thread acts as this user.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <string.h>
#include <strings.h>

#include "nfsd/door/identity.h"
#include "nfsd/door/state.h"

const struct export_user *
door_user(const struct call_ctx *ctx)
{
	const struct door_thread *t = ctx->thread;
	const struct served_exports *x = atomic_load(&t->held.list);
	const struct peer_identity *id = ctx->call->peer->identity;
	const char *at;

	if (peer_security(id) != PEER_MTLS || t->door->domain == NULL)
		return NULL;
	at = strrchr(id->user, '@');
	if (at == NULL || strcasecmp(at + 1, t->door->domain) != 0)
		return NULL;
	return exports_user(x->conf, id->user, (size_t)(at - id->user));
}

/* The credential of a user, in place of that of the call. */
static struct rpc_cred
cred_of(const struct export_user *u)
{
	struct rpc_cred c = { .flavor = AUTH_SYS,
		.uid = u->uid,
		.gid = u->gid,
		.ngids = u->ngids };

	_Static_assert(sizeof(c.gids) == sizeof(u->gids), "all groups fit");
	memcpy(c.gids, u->gids, sizeof(c.gids));
	return c;
}

/* Squashes the caller: the user of the call, or the one in its certificate. */
static bool
squash(struct call_ctx *ctx, const struct export_options *options)
{
	const struct export_user *user;
	struct rpc_cred cred;

	if (!options->certuser) {
		cred_squash(&ctx->thread->cred, &ctx->call->cred, options);
		return true;
	}
	user = door_user(ctx);
	if (user == NULL)
		return false;
	cred = cred_of(user);
	cred_squash(&ctx->thread->cred, &cred, options);
	return true;
}

int
door_act_as_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;

	if (!t->started) {
		cred_init(&t->acting, t->door->mode);
		t->started = true;
	}
	if (t->acting.switches) {
		if (!squash(ctx, options))
			return -1;
	} else
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
