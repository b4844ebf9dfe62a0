/* SPDX-License-Identifier: ISC */
/*
 * A client that may not use an export: what it is told, and what the log says.
 * A Linux client shows "access denied by server" for every reason there is, so
 * only the log can name the right one.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "nfsd/door/state.h"

#define SHOWN 512

/* Describes the connection: plain, TLS, or with which certificate. */
static void
show_peer(char out[SHOWN], const struct rpc_peer *peer)
{
	const struct peer_identity *id = peer->identity;
	char subject[PEER_TEXT];

	if (peer_security(id) == PEER_MTLS)
		(void)snprintf(out, SHOWN, "certificate %s, serial %s",
		    log_text(subject, sizeof(subject), id->subject,
			strlen(id->subject)),
		    id->serial);
	else
		(void)snprintf(out, SHOWN, "%s",
		    peer_security(id) == PEER_TLS ? "TLS, no certificate" :
			peer->kind == RPC_UDP	  ? "UDP, no TLS" :
						    "no TLS");
}

/* Says which user the certificate has, and why that is not enough. */
static void
show_user(char out[SHOWN], const struct call_ctx *ctx,
    const struct export_client *c)
{
	const struct peer_identity *id = ctx->call->peer->identity;
	const char *domain = ctx->thread->door->domain;
	char user[PEER_TEXT];

	(void)snprintf(out, SHOWN,
	    "line %d demands a user of this machine in domain %s, the "
	    "certificate has \"%s\"",
	    c->line, domain == NULL ? "(none: -o tls-domain)" : domain,
	    log_text(user, sizeof(user), id->user, strlen(id->user)));
}

/* Says what the export demands of this client. */
static void
show_demand(char out[SHOWN], const struct call_ctx *ctx,
    const struct served_export *e, enum export_names names,
    enum door_refusal why)
{
	const struct rpc_peer *peer = ctx->call->peer;
	const struct export_client *c, *cert;

	c = exports_client(e->conf, &peer->from, peer->identity, names);
	cert = exports_client_cert(e->conf, names);
	if (c != NULL && why == DOOR_WEAK)
		(void)snprintf(out, SHOWN, "line %d demands xprtsec=%s of %s",
		    c->line, exports_xprtsec(c->options.xprtsec), c->text);
	else if (c != NULL && why == DOOR_USER)
		show_user(out, ctx, c);
	else if (c != NULL)
		(void)snprintf(out, SHOWN,
		    "line %d demands a port below 1024 of %s (or add "
		    "\"insecure\")",
		    c->line, c->text);
	else if (cert != NULL)
		(void)snprintf(out, SHOWN,
		    "no line allows its address, line %d demands a certificate "
		    "(%s)",
		    cert->line, cert->text);
	else
		(void)snprintf(out, SHOWN, "no line allows its address");
}

void
door_refuse(struct call_ctx *ctx, const struct served_export *e, bool utf16,
    enum door_refusal why)
{
	enum export_names names = utf16 ? NAMES_UTF16LE : NAMES_BYTES;
	const struct rpc_peer *peer = ctx->call->peer;
	char from[ADDR_STRLEN], who[SHOWN], demand[SHOWN];

	/* A certificate would help, or a better connection. */
	if (why == DOOR_WEAK ||
	    (why == DOOR_UNKNOWN &&
		peer_security(peer->identity) != PEER_MTLS &&
		exports_client_cert(e->conf, names) != NULL))
		ctx->call->deny = AUTH_TOOWEAK;
	/* Operations open an object again to send its attributes. */
	if (ctx->refused)
		return;
	ctx->refused = true;
	if (!log_permit("export refused",
		addr_hash(&peer->from) ^ peer_key(peer->identity) ^
		    ((uint64_t)peer->kind << 24 | (uint64_t)why << 16 | e->id)))
		return;
	show_peer(who, peer);
	show_demand(demand, ctx, e, names, why);
	log_info("refused %s from %s (%s): %s: export %s",
	    ctx->call->proc->name, addr_print(&peer->from, from), who, demand,
	    e->path);
}
