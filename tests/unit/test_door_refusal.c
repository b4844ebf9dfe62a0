/* SPDX-License-Identifier: ISC */
/*
 * What TLS proved about a peer decides at the door, for each call. Peers with
 * one address and different proofs never inherit each other's rights.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "door_call.h"
#include "door_fixture.h"
#include "tap.h"

#define HEX64 "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"

enum peer { PLAIN, UDP, TLS, LAPTOP, DESK, PEERS };

static struct peer_identity tls = { .key = 1, .security = PEER_TLS };
static struct peer_identity laptop = { .key = 2,
	.security = PEER_MTLS,
	.serial = "0A",
	.subject = "CN=laptop",
	.nnames = 2,
	.names = "Laptop.example.org\0laptop" };
static struct peer_identity desk = { .key = 3,
	.security = PEER_MTLS,
	.serial = "0B",
	.subject = "CN=desk",
	.nnames = 1,
	.names = "desk" };

static struct peer_identity *const identities[PEERS] = {
	[TLS] = &tls, [LAPTOP] = &laptop, [DESK] = &desk
};
static const char *const peer_names[PEERS] = { "plain", "UDP", "TLS", "laptop",
	"desk" };

/* One letter for what a peer gets: w, r, - (no access), T (too weak). */
static char
tries(struct door_call *c, enum peer peer)
{
	enum nfsstat status;

	c->peer.identity = identities[peer];
	c->peer.kind = peer == UDP ? RPC_UDP : RPC_TCP;
	c->call.deny = AUTH_OK;
	c->ctx.refused = false;
	status = door_call_try(c, DOOR_MODIFY);
	if (c->call.deny == AUTH_TOOWEAK)
		return status == NFSERR_ACCES ? 'T' : '?';
	if (c->call.deny != AUTH_OK)
		return '?';
	return status == NFS_OK	   ? 'w' :
	    status == NFSERR_ROFS  ? 'r' :
	    status == NFSERR_ACCES ? '-' :
				     '?';
}

static const struct {
	const char *clients;
	const char *want; /* a letter for each peer */
} rows[] = {
	/* clang-format off */
	{ "127.0.0.1(rw)", "wwwww" },
	{ "127.0.0.1(rw,xprtsec=none)", "wwwww" },
	{ "127.0.0.1(rw,xprtsec=tls)", "TTwww" },
	{ "127.0.0.1(rw,xprtsec=mtls)", "TTTww" },
	{ "127.0.0.1(rw,xprtsec=mtls:tls)", "TTwww" },
	{ "10.0.0.0/8(rw,xprtsec=mtls)", "-----" },
	{ "cert:*(rw)", "TTTww" },
	{ "cert:laptop.EXAMPLE.org(rw)", "TTTw-" },
	{ "cert:laptop(rw) cert:desk", "TTTwr" },
	{ "cert:example.org(rw)", "TTT--" },
	{ "cert:sha256:" HEX64 "(rw)", "TTTw-" },
	{ "127.0.0.1 cert:laptop(rw)", "rrrwr" },
	{ "127.0.0.1(rw) cert:laptop", "wwwrw" },
	{ "127.0.0.1(xprtsec=tls) cert:laptop(rw)", "TTrwr" },
	{ "cert:*(rw) cert:laptop", "TTTrw" },
	{ "cert:*(rw) cert:desk(rw) cert:sha256:" HEX64, "TTTrw" },
	{ "cert:laptop cert:sha256:" HEX64 "(rw)", "TTTw-" },
	/* clang-format on */
};

static void
decisions(struct door_call *c)
{
	char got[PEERS + 1] = "", again[PEERS + 1] = "";
	unsigned int i, p;

	for (i = 0; i < nitems(rows); i++) {
		door_call_clients(c, rows[i].clients);
		for (p = 0; p < PEERS; p++)
			got[p] = tries(c, p);
		/* From the thread's memory, and in another order. */
		for (p = PEERS; p-- > 0;)
			again[p] = tries(c, p);
		ok(strcmp(got, rows[i].want) == 0 && strcmp(again, got) == 0,
		    "%s: %s", rows[i].clients, rows[i].want);
		if (strcmp(got, rows[i].want) != 0)
			diag("got %s, then %s", got, again);
	}
}

/* Every order of two peers of one address, from an empty memory. */
static void
inheritance(struct door_call *c)
{
	static const char clients[] =
	    "127.0.0.1(xprtsec=tls) cert:laptop(rw) cert:desk";
	static const char want[] = "TTrwr";
	unsigned int a, b, wrong = 0;

	for (a = 0; a < PEERS; a++)
		for (b = 0; b < PEERS; b++) {
			door_call_clients(c, clients);
			if (tries(c, a) == want[a] && tries(c, b) == want[b] &&
			    tries(c, a) == want[a])
				continue;
			diag("%s and %s", peer_names[a], peer_names[b]);
			wrong++;
		}
	cmp_ok(wrong, "==", 0, "no peer inherits the decision for another");
}

int
main(void)
{
	struct door_call c;

	plan(NO_PLAN);
	memset(laptop.fingerprint, 0xa1, sizeof(laptop.fingerprint));
	door_call_init(&c, "rw");
	decisions(&c);
	inheritance(&c);
	door_call_clear(&c);
	done_testing();
}
