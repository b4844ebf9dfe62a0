/* SPDX-License-Identifier: ISC */
/*
 * Vectors of portmapd. Links: portmapd
 *
 * Words of setup, in any number and order:
 *	register, compat	calls come through that socket (else the network)
 *	set:PROG/VERS/NETID/UADDR	root has registered this
 * The vectors of version 2 are in pmap2, of 3 and 4 in rpcb3 and rpcb4.
 * Runs in: tests.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "replay.h"

#define WORD_MAX 256

/* The same program under two names: its vectors are in three folders. */
static const struct rpc_vers pmap_vers[] = {
	{ 2, PMAP2_PROCS, pmap2_procs },
};
static const struct rpc_vers rpcb_vers[] = {
	{ 3, RPCB3_PROCS, rpcb3_procs },
	{ 4, RPCB4_PROCS, rpcb4_procs },
};
static const struct rpc_prog pmap = { "pmap", PMAP_PROG, nitems(pmap_vers),
	pmap_vers };
static const struct rpc_prog rpcb = { "rpcb", PMAP_PROG, nitems(rpcb_vers),
	rpcb_vers };
static const struct rpc_prog *const folders[] = { &pmap, &rpcb };

static struct portmap pm;

static void
add(const char *text)
{
	static const struct pmap_owner root = { .link = PMAP_LINK_NONE };
	struct pmap_service svc = { .prog = 0 };
	char netid[8], at[UADDR_STRLEN];

	if (sscanf(text, "%u/%u/%7[^/]/%111s", &svc.prog, &svc.vers, netid,
		at) != 4)
		errx(1, "setup: %s: not PROG/VERS/NETID/UADDR", text);
	svc.netid = uaddr_netid((struct slice){
	    (const uint8_t *)netid, strlen(netid) });
	uaddr_parse(&svc.at, (struct slice){ (const uint8_t *)at, strlen(at) });
	if (!uaddr_fits(&svc.at, svc.netid) ||
	    !pmap_map_set(pm.map, &svc, &root))
		errx(1, "setup: %s: refused", text);
}

static struct rpc_server *
begin(const char *setup)
{
	enum pmap_socket via = SOCKET_NET;
	char word[WORD_MAX];
	int n;

	memset(&pm, 0, sizeof(pm));
	pm.map = pmap_map_new();
	policy_init(&pm.policy);
	for (; sscanf(setup, "%255s%n", word, &n) == 1; setup += n) {
		if (strcmp(word, "register") == 0)
			via = SOCKET_REGISTER;
		else if (strcmp(word, "compat") == 0)
			via = SOCKET_COMPAT;
		else if (strncmp(word, "set:", 4) == 0)
			add(word + 4);
		else
			errx(1, "setup: unknown word %s", word);
	}
	return pmap_server_new(&pm, via);
}

static void
end(struct rpc_server *server)
{
	rpc_server_free(server);
	pmap_map_free(pm.map);
}

static const struct replay_fixture fixture = {
	.progs = folders, .nprogs = nitems(folders), .begin = begin, .end = end
};

int
main(void)
{
	return replay_main(&fixture);
}
