/* SPDX-License-Identifier: ISC */
/*
 * Call-backs: see nlm/callback.h.
 * Runs in: nfsd nlm (event loop).
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/callback.h"
#include "nfsd/nlm/nlm_xdr.h"

#define COOKIES_MAX 4096 /* that are remembered */
#define COOKIE_MS   35000 /* the locks role waits 30 s for an answer */

/* A call-back without answer. */
struct granted {
	uint8_t cookie[LOCKS_COOKIE];
	struct addr to;
	uint64_t until_ms; /* 0: none */
};

struct callbacks {
	struct outgoing *out;
	struct locks_stats *stats;
	void (*reply)(void *arg, const struct locks_reply *);
	void *arg;
	struct granted granted[COOKIES_MAX];
};

struct callbacks *
callback_new(struct outgoing *out, struct locks_stats *stats,
    void (*reply)(void *arg, const struct locks_reply *), void *arg)
{
	struct callbacks *c = calloc(1, sizeof(*c));

	if (c == NULL)
		fatal("call-backs");
	c->out = out;
	c->stats = stats;
	c->reply = reply;
	c->arg = arg;
	return c;
}

void
callback_free(struct callbacks *c)
{
	free(c);
}

/* Cookies are random, so each has its own place, as good as any. */
static struct granted *
place_of(struct callbacks *c, const uint8_t cookie[LOCKS_COOKIE])
{
	uint64_t n;

	_Static_assert(sizeof(n) == LOCKS_COOKIE, "a cookie is a number");
	memcpy(&n, cookie, sizeof(n));
	return &c->granted[n % COOKIES_MAX];
}

void
callback_answer(struct callbacks *c, struct slice cookie, uint32_t stat)
{
	struct locks_reply reply = { .stat = stat };
	struct granted *g = NULL;

	if (cookie.len == LOCKS_COOKIE)
		g = place_of(c, cookie.data);
	if (g == NULL || g->until_ms < clock_ms() ||
	    memcmp(g->cookie, cookie.data, LOCKS_COOKIE) != 0) {
		if (c->stats != NULL)
			c->stats->counts[LOCKS_COUNT_FORGED]++;
		return;
	}
	memcpy(reply.cookie, g->cookie, sizeof(reply.cookie));
	g->until_ms = 0;
	outgoing_prove(c->out, &g->to);
	c->reply(c->arg, &reply);
}

/* nlm_res in the reply to GRANTED. */
static void
on_granted(void *arg, uint64_t tag UNUSED, struct xdr_in *results)
{
	struct call_args args = { .stat = LOCKS_FAILED };

	if (results == NULL)
		return; /* it may know GRANTED_MSG only */
	nlm_get_res(results, &args);
	if (!results->failed)
		callback_answer(arg, args.cookie, args.stat);
}

void
callback_grant(struct callbacks *c, const struct locks_grant *g,
    struct slice name, struct slice owner)
{
	struct outgoing_call call = { .to = g->client.from,
		.from = g->client.to,
		.prog = NLM_PROGRAM,
		.vers = g->client.vers,
		.proc = NLMPROC_GRANTED_MSG,
		.arg = c };
	struct granted *place = place_of(c, g->cookie);
	uint8_t args[OUTGOING_MAX];
	struct xdr_out x;

	memcpy(place->cookie, g->cookie, sizeof(place->cookie));
	place->to = g->client.from;
	place->until_ms = clock_ms() + COOKIE_MS;
	if (g->tries > 0)
		outgoing_forget_port(c->out, &call.to, call.prog, call.vers);
	if (g->tries % 2 == 1) {
		call.proc = NLMPROC_GRANTED;
		call.answered = on_granted;
	}
	xdr_out_init(&x, args, sizeof(args));
	nlm_put_granted(&x, call.vers, g, name, owner);
	if (!x.failed)
		(void)outgoing_send(c->out, &call, args, x.len);
}

/* Returns the least length of the message that these arguments came in. */
static size_t
length_of(const struct call_args *a)
{
	const size_t texts[] = { a->cookie.len, a->name.len, a->fh.len,
		a->oh.len };
	size_t i, len = RPC_HEADER_MIN;

	for (i = 0; i < nitems(texts); i++)
		len += 4 + texts[i] + xdr_pad(texts[i]);
	return len;
}

/*
 * The result must not be much longer than the call. Only the owner of another
 * client's lock can be: it is left out then, since no client needs it.
 */
void
callback_respond(struct callbacks *c, const struct call_ctx *ctx,
    const struct call_res *res)
{
	const struct rpc_call *rpc = ctx->call;
	struct outgoing_call call = { .to = rpc->peer->from,
		.from = rpc->peer->to,
		.prog = NLM_PROGRAM,
		.vers = rpc->vers->vers,
		.proc = rpc->procnum + NLM_MSG_TO_RES,
		.max = length_of(ctx->args) + OUTGOING_EXTRA };
	struct call_res brief = *res;
	uint8_t args[OUTGOING_MAX];
	struct xdr_out x;

	if (!res->answer.admitted && !outgoing_is_proven(c->out, &call.to))
		return;
	if (brief.answer.owner_len > ctx->args->oh.len)
		brief.answer.owner_len = 0;
	xdr_out_init(&x, args, sizeof(args));
	rpc->vers->procs[rpc->procnum - NLM_MSG_TO_CALL].put(&x, &brief);
	if (!x.failed)
		(void)outgoing_send(c->out, &call, args, x.len);
}
