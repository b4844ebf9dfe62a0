/* SPDX-License-Identifier: ISC */
/*
 * Gives connections to another process: see transport/give.h. No connection is
 * searched for: each is looked at when it was served. So those that send calls go,
 * and idle ones stay.
 * Runs in: the process that reads the network.
 */
#include "base/clock.h"
#include "transport/conn.h"

void
rpc_streams_give(struct rpc_streams *s, unsigned int ms,
    bool (*give)(void *, int), void *arg)
{
	struct rpc_giving *g = &s->giving;

	g->left = RPC_GIVE_MAX;
	g->seen = 0;
	g->number++;
	g->until_ms = clock_ms() + ms;
	g->give = give;
	g->arg = arg;
}

/* Every second one goes, and the first one stays. */
static bool
goes(struct rpc_conn *c)
{
	struct rpc_giving *g = &c->tcp->streams->giving;

	if (c->chosen.number != g->number) {
		c->chosen.number = g->number;
		c->chosen.goes = g->seen++ % 2 == 1;
	}
	return c->chosen.goes;
}

bool
rpc_give(struct rpc_conn *c)
{
	struct rpc_giving *g = &c->tcp->streams->giving;

	if (clock_ms() > g->until_ms) {
		g->left = 0;
		return false;
	}
	if (c->tls.stage != RPC_PLAIN || c->tcp->local || c->eof ||
	    c->skipped || !goes(c) || !rpc_conn_is_idle(c))
		return false;
	if (!g->give(g->arg, c->fd)) {
		g->left = 0;
		return false;
	}
	g->left--;
	return true;
}
