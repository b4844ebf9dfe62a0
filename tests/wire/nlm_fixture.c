/* SPDX-License-Identifier: ISC */
/*
 * See nlm_fixture.h.
 * Runs in: tests, fuzzers.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nlm_fixture.h"
#include "rpc/server.h"

#define LOCKS_HERE 16
#define STATE	   7 /* NSM state of this server */

struct held {
	bool used, exclusive;
	char name[LOCKS_TEXT_MAX];
	size_t name_len;
	int32_t svid;
	uint64_t offset, length;
};

struct nlm_fixture_sent nlm_fixture_sent;
static struct held table[LOCKS_HERE];
static struct nlm nlm;
static long always; /* the answer to everything; -1: none */
static bool gone;

static bool
is_owner(const struct held *h, const struct nlm_question *q)
{
	return h->name_len == q->name.len && h->svid == q->ask.svid &&
	    (h->name_len == 0 ||
		memcmp(h->name, q->name.data, h->name_len) == 0);
}

static uint64_t
last_of(uint64_t offset, uint64_t length)
{
	return length == 0 || length > UINT64_MAX - offset ?
	    UINT64_MAX :
	    offset + length - 1;
}

static struct held *
find(const struct nlm_question *q, bool own)
{
	const struct locks_ask *a = &q->ask;
	struct held *h;

	for (h = table; h < table + LOCKS_HERE; h++)
		if (h->used && is_owner(h, q) == own &&
		    (own || h->exclusive || a->exclusive) &&
		    h->offset <= last_of(a->offset, a->length) &&
		    a->offset <= last_of(h->offset, h->length))
			return h;
	return NULL;
}

static void
hold(const struct nlm_question *q)
{
	struct held *h;

	for (h = table; h < table + LOCKS_HERE && h->used; h++)
		continue;
	if (h == table + LOCKS_HERE)
		return;
	h->used = true;
	h->exclusive = q->ask.exclusive;
	h->name_len = q->name.len;
	if (q->name.len > 0)
		memcpy(h->name, q->name.data, q->name.len);
	h->svid = q->ask.svid;
	h->offset = q->ask.offset;
	h->length = q->ask.length;
}

static uint32_t
release(const struct nlm_question *q)
{
	struct held *h;

	while ((h = find(q, true)) != NULL)
		h->used = false;
	return LOCKS_GRANTED;
}

static uint32_t
restart(const struct nlm_question *q)
{
	if (!q->ask.proven)
		return LOCKS_BLOCKED;
	nlm_fixture_sent.freed++;
	return LOCKS_GRANTED;
}

/* The lock in the way has the owner of the question, reversed. */
static void
describe(const struct held *h, const struct nlm_question *q,
    struct locks_answer *answer, uint8_t *owner)
{
	size_t i;

	answer->stat = LOCKS_DENIED;
	answer->exclusive = h->exclusive;
	answer->svid = h->svid;
	answer->offset = h->offset;
	answer->length = h->length;
	answer->owner_len = (uint32_t)q->owner.len;
	for (i = 0; i < q->owner.len; i++)
		owner[i] = q->owner.data[q->owner.len - 1 - i];
}

static bool
ask(void *arg UNUSED, unsigned int thread UNUSED, const struct nlm_question *q,
    struct locks_answer *answer, uint8_t *owner)
{
	const struct held *other = find(q, false);

	if (gone)
		return false;
	if (q->ask.type != LOCKS_FREE &&
	    (q->name.len != q->ask.client.name_len ||
		q->owner.len != q->ask.owner_len))
		abort(); /* the texts are not those of the question */
	memset(answer, 0, sizeof(*answer));
	answer->admitted = true;
	if (always != -1)
		answer->stat = (uint32_t)always;
	else if (q->ask.type == LOCKS_FREE)
		answer->stat = restart(q);
	else if (q->ask.type == LOCKS_UNLOCK || q->ask.type == LOCKS_CANCEL)
		answer->stat = release(q);
	else if (q->ask.type == LOCKS_TEST && other != NULL)
		describe(other, q, answer, owner);
	else if (q->ask.type == LOCKS_LOCK && other != NULL)
		answer->stat = q->ask.block ? LOCKS_BLOCKED : LOCKS_DENIED;
	else if (q->ask.type == LOCKS_LOCK)
		hold(q);
	return true;
}

static void
answered(void *arg UNUSED, struct slice cookie, uint32_t stat)
{
	if (cookie.len <= LOCKS_TEXT_MAX && stat <= LOCKS_FAILED)
		nlm_fixture_sent.answers++;
}

/* Encodes the result as nlm would send it. */
static void
respond(void *arg UNUSED, const struct call_ctx *ctx,
    const struct call_res *res)
{
	const struct rpc_call *call = ctx->call;
	uint8_t args[NLM_REPLY_MAX];
	struct xdr_out x;

	xdr_out_init(&x, args, sizeof(args));
	call->vers->procs[call->procnum - NLM_MSG_TO_CALL].put(&x, res);
	if (x.failed)
		abort();
	nlm_fixture_sent.responses++;
}

static void
prove(void *arg UNUSED, const struct call_ctx *ctx UNUSED)
{
	nlm_fixture_sent.proofs++;
}

struct rpc_server *
nlm_fixture_begin(const char *setup)
{
	static const struct rpc_prog *const progs[] = { &nlm_program,
		&nsm_program };
	struct rpc_hooks hooks;

	memset(table, 0, sizeof(table));
	memset(&nlm_fixture_sent, 0, sizeof(nlm_fixture_sent));
	nlm = (struct nlm){ .states = { .own = STATE },
		.ask = ask,
		.answered = answered,
		.respond = respond,
		.prove = prove };
	always = -1;
	gone = strcmp(setup, "gone") == 0;
	nlm.nolocks = strcmp(setup, "nolocks") == 0;
	if (strncmp(setup, "stat ", 5) == 0)
		always = strtol(setup + 5, NULL, 10);
	else if (strcmp(setup, "holder") == 0)
		table[0] = (struct held){ .used = true,
			.exclusive = true,
			.name = "other",
			.name_len = 5,
			.svid = 42,
			.offset = 100,
			.length = 50 };
	else if (setup[0] != '\0' && !gone && !nlm.nolocks)
		errx(1, "setup: unknown words %s", setup);
	hooks = nlm_hooks(&nlm);
	return rpc_server_new(progs, nitems(progs), &hooks);
}

void
nlm_fixture_end(struct rpc_server *server)
{
	rpc_server_free(server);
}
