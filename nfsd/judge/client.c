/* SPDX-License-Identifier: ISC */
/*
 * Which entry of an export decides for a client, and which user of this machine
 * its certificate names.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#include <string.h>
#include <strings.h>

#include "nfsd/judge/judge.h"

static bool
is_about(const struct judge_peer *p, const struct served_export *e, bool utf16,
    const struct addr *from, uint64_t identity)
{
	return p->export == e && p->utf16 == utf16 && p->identity == identity &&
	    addr_same_host(&p->from, from);
}

/*
 * The row for this peer, from the thread's memory if it is there. Calls of one
 * connection follow each other, so the last one is mostly asked for again.
 */
static const struct export_client *
find_client(struct judge_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer)
{
	uint64_t identity = peer_key(peer->identity);
	struct judge_peer *p = t->last;

	if (p != NULL && is_about(p, e, utf16, &peer->from, identity))
		return p->client;
	p = &t->peers[(addr_hash(&peer->from) + e->id + identity) %
	    JUDGE_PEERS];
	t->last = p;
	if (!is_about(p, e, utf16, &peer->from, identity)) {
		p->export = e;
		p->utf16 = utf16;
		p->from = peer->from;
		p->identity = identity;
		p->client = exports_client(e->conf, &peer->from, peer->identity,
		    utf16 ? NAMES_UTF16LE : NAMES_BYTES);
	}
	return p->client;
}

/* The user of this machine in a certificate, or NULL. */
static const struct export_user *
user_of(const struct judge_thread *t, const struct peer_identity *id)
{
	const struct served_exports *x = atomic_load(&t->held.list);
	const char *domain = t->judge->domain, *at;

	if (peer_security(id) != PEER_MTLS || domain == NULL)
		return NULL;
	at = strrchr(id->user, '@');
	if (at == NULL || strcasecmp(at + 1, domain) != 0)
		return NULL;
	return exports_user(x->conf, id->user, (size_t)(at - id->user));
}

/* Judges the row of a client. NULL with *why, unless why is NULL. */
static const struct export_client *
judge_row(const struct judge_thread *t, const struct export_client *c,
    const struct rpc_peer *peer, bool any_port, enum judge_refusal *why)
{
	enum judge_refusal refusal;

	if (c == NULL)
		refusal = JUDGE_UNKNOWN;
	else if (peer_security(peer->identity) < c->options.xprtsec)
		refusal = JUDGE_WEAK;
	else if (!any_port && !exports_port_ok(c, &peer->from))
		refusal = JUDGE_PORT;
	else if (c->options.certuser && user_of(t, peer->identity) == NULL)
		refusal = JUDGE_USER;
	else
		return c;
	if (why != NULL)
		*why = refusal;
	return NULL;
}

const struct export_client *
judge_client(struct judge_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer, enum judge_refusal *why)
{
	return judge_row(t, find_client(t, e, utf16, peer), peer, false, why);
}

const struct export_client *
judge_call(const struct judge_case *c, const struct served_export *e,
    bool utf16, enum judge_refusal *why)
{
	const struct rpc_peer *peer = c->call->peer;

	return judge_row(c->thread, find_client(c->thread, e, utf16, peer),
	    peer, (c->call->proc->flags & RPC_ANY_PORT) != 0, why);
}

const struct export_user *
judge_user(const struct judge_case *c)
{
	return user_of(c->thread, c->call->peer->identity);
}
