/* SPDX-License-Identifier: ISC */
/*
 * A client that may not use an export: what it is told, and what the log says.
 * A Linux client shows "access denied by server" for every reason there is, so
 * only the log can name the right one.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "nfsd/judge/judge.h"

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
show_user(char out[SHOWN], const struct judge_case *judged,
    const struct export_client *c)
{
	const struct peer_identity *id = judged->call->peer->identity;
	const char *domain = judged->thread->judge->domain;
	char user[PEER_TEXT], where[EXPORTS_WHERE];

	(void)snprintf(out, SHOWN,
	    "%s demands a user of this machine in domain %s, the certificate "
	    "has \"%s\"",
	    exports_where(c->source, c->line, where),
	    domain == NULL ? "(none: -o tls-domain)" : domain,
	    log_text(user, sizeof(user), id->user, strlen(id->user)));
}

/* Says what the export demands of this client, or why no client gets it. */
static void
show_demand(char out[SHOWN], const struct judge_case *judged,
    const struct served_export *e, enum export_names names,
    enum judge_refusal why)
{
	const struct rpc_peer *peer = judged->call->peer;
	const struct export_client *c, *cert;
	char where[EXPORTS_WHERE];

	c = exports_client(e->conf, &peer->from, peer->identity, names);
	cert = exports_client_cert(e->conf, names);
	if (why == JUDGE_ABSENT)
		(void)snprintf(out, SHOWN,
		    "it is not there at the moment, clients are told to try "
		    "again");
	else if (c != NULL && why == JUDGE_WEAK)
		(void)snprintf(out, SHOWN, "%s demands xprtsec=%s of %s",
		    exports_where(c->source, c->line, where),
		    exports_xprtsec(c->options.xprtsec), c->text);
	else if (c != NULL && why == JUDGE_USER)
		show_user(out, judged, c);
	else if (c != NULL)
		(void)snprintf(out, SHOWN,
		    "%s demands a port below 1024 of %s (or add \"insecure\")",
		    exports_where(c->source, c->line, where), c->text);
	else if (cert != NULL)
		(void)snprintf(out, SHOWN,
		    "no line allows its address, %s demands a certificate (%s)",
		    exports_where(cert->source, cert->line, where), cert->text);
	else
		(void)snprintf(out, SHOWN, "no line allows its address");
}

void
judge_refuse(const struct judge_case *judged, const struct served_export *e,
    bool utf16, enum judge_refusal why)
{
	enum export_names names = utf16 ? NAMES_UTF16LE : NAMES_BYTES;
	const struct rpc_peer *peer = judged->call->peer;
	char from[ADDR_STRLEN], who[SHOWN], demand[SHOWN];

	/* A certificate would help, or a better connection. */
	if (why == JUDGE_WEAK ||
	    (why == JUDGE_UNKNOWN &&
		peer_security(peer->identity) != PEER_MTLS &&
		exports_client_cert(e->conf, names) != NULL))
		judged->call->deny = AUTH_TOOWEAK;
	/* Operations open an object again to send its attributes. */
	if (*judged->refused)
		return;
	*judged->refused = true;
	if (!log_permit("export refused",
		addr_hash(&peer->from) ^ peer_key(peer->identity) ^
		    ((uint64_t)peer->kind << 24 | (uint64_t)why << 16 | e->id)))
		return;
	show_peer(who, peer);
	show_demand(demand, judged, e, names, why);
	log_info("refused %s from %s (%s): %s: export %s",
	    judged->call->proc->name, addr_print(&peer->from, from), who,
	    demand, e->path);
}

void
judge_refuse_unlisted(const struct judge_case *judged, uint16_t id)
{
	const struct rpc_peer *peer = judged->call->peer;
	char from[ADDR_STRLEN];

	if (*judged->refused)
		return;
	*judged->refused = true;
	if (log_permit("export unlisted", addr_hash(&peer->from)))
		log_info("refused %s from %s: its handle is of an export that "
			 "is not listed (number %u): it was removed, or the "
			 "handle is another server's",
		    judged->call->proc->name, addr_print(&peer->from, from),
		    (unsigned int)id);
}
