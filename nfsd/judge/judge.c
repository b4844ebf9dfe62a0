/* SPDX-License-Identifier: ISC */
/*
 * The steps in their order: see judge.h. A thread holds the list of exports it
 * worked with last and forgets every decision made under it when it takes
 * another one.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "nfsd/judge/guess.h"
#include "nfsd/judge/judge.h"

void
judge_init(struct judge *j, const struct fh_subkey *key, const char *domain)
{
	active_init(&j->active);
	j->key = *key;
	j->guesses = guesses_new();
	if (domain != NULL && domain[0] != '\0' &&
	    (j->domain = strdup(domain)) == NULL)
		fatal("judge");
}

void
judge_clear(struct judge *j)
{
	guesses_free(j->guesses);
	active_clear(&j->active);
	free(j->domain);
}

void
judge_set_exports(struct judge *j, struct served_exports *x)
{
	active_swap(&j->active, x);
}

bool
judge_hold(struct judge_thread *t, bool pinned)
{
	if (!active_hold(&t->judge->active, &t->held, pinned))
		return false;
	t->listed = NULL;
	memset(t->peers, 0, sizeof(t->peers));
	return true;
}

void
judge_release(struct judge_thread *t)
{
	active_done(atomic_exchange(&t->held.list, NULL));
	atomic_store(&t->held.generation, 0);
}

/*
 * A check of the worker's own: no client list has it. It gets what the last, the
 * most general client of the export gets.
 */
static enum judge_verdict
judge_self(struct judged *out)
{
	const struct export *e = out->export->conf;

	if (e->nclients == 0)
		return JUDGE_REFUSED;
	out->options = &e->clients[e->nclients - 1].options;
	return JUDGE_PASSES;
}

/* The export of this number in the list in use. Mostly that of the last handle. */
static struct served_export *
find_export(struct judge_thread *t, uint16_t id)
{
	const struct served_exports *x;

	if (t->listed != NULL && t->listed->id == id)
		return t->listed;
	x = atomic_load(&t->held.list);
	t->listed = x == NULL ? NULL : served_listed(x, id);
	return t->listed;
}

enum judge_verdict
judge_client_of(const struct judge_case *c, const struct fh *fh,
    struct judged *out)
{
	const struct rpc_peer *peer = c->call->peer;
	const struct export_client *client;
	enum judge_refusal why;

	if (!fh_is_formed(fh))
		return JUDGE_MALFORMED;
	out->export = find_export(c->thread, fh_export_id(fh));
	if (out->export == NULL) {
		judge_refuse_unlisted(c, fh_export_id(fh));
		return JUDGE_STALE;
	}
	out->utf16 = fh_is_utf16(fh);
	if (peer->kind == RPC_SELF)
		return judge_self(out);
	client = judge_call(c, out->export, out->utf16, &why);
	/*
	 * The dialect is not verified yet. A client of the other dialect may
	 * have altered the handle.
	 */
	if (client == NULL &&
	    judge_call(c, out->export, !out->utf16, NULL) != NULL &&
	    !judge_check_tag(c, out->export, fh))
		return JUDGE_STALE;
	if (client == NULL) {
		judge_refuse(c, out->export, out->utf16, why);
		return JUDGE_REFUSED;
	}
	out->options = &client->options;
	return JUDGE_PASSES;
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

enum judge_identity
judge_squash(const struct judge_case *c, const struct export_options *options,
    struct cred *out)
{
	struct judge *j = c->thread->judge;
	const struct export_user *user;
	struct rpc_cred cred;

	if (!options->certuser || c->call->peer->kind == RPC_SELF)
		cred_squash(out, &c->call->cred, options);
	else {
		user = judge_user(c);
		if (user == NULL)
			return JUDGE_NOBODY;
		cred = cred_of(user);
		cred_squash(out, &cred, options);
	}
	if (j->groups.table == NULL || judge_manage(&j->groups, options, out))
		return JUDGE_ACTS;
	return JUDGE_GROUPS;
}
