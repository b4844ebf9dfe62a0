/* SPDX-License-Identifier: ISC */
/*
 * See locks_ask.h.
 * Runs in: tests.
 */
#include <string.h>

#include "locks_ask.h"

const struct model_client model_clients[MODEL_OWNERS / MODEL_SVIDS] = {
	{ 1, "one", RPC_UDP }, { 1, "one", RPC_TCP }, { 2, "two", RPC_TCP },
	{ 2, "three", RPC_TCP }, { 3, "one", RPC_TCP }, { 4, "", RPC_UDP }
};

struct locks_client
model_client(unsigned int owner)
{
	struct locks_client c = {
		.from = { .family = AF_INET,
		    .port = (uint16_t)(600 + owner),
		    .bytes = { 10, 0, 0,
			model_clients[owner / MODEL_SVIDS].host } },
		.vers = 4,
		.kind = model_clients[owner / MODEL_SVIDS].kind,
		.name_len =
		    (uint32_t)strlen(model_clients[owner / MODEL_SVIDS].name)
	};

	return c;
}

static struct fh
handle_of(const struct model_lock *l)
{
	/* Two handles lead to each file. */
	struct fh fh = { .bytes = { 0x51, 1, 0, 7, (uint8_t)l->file,
			     (uint8_t)(l->owner & 1) } };

	return fh;
}

struct locks_ask
model_ask(const struct model_lock *l)
{
	struct locks_ask a = { .client = model_client(l->owner),
		.fh = handle_of(l),
		.svid = (int32_t)(l->owner % MODEL_SVIDS),
		.offset = l->start,
		.length = l->end == MODEL_LAST ? 0 : l->end - l->start + 1,
		.exclusive = l->kind == MODEL_WRITE,
		.monitored = true,
		.owner_len = 4,
		.state = 0 };

	return a;
}

struct table_ask
model_question(const struct model_lock *l, const struct locks_ask *a)
{
	const char *name = model_clients[l->owner / MODEL_SVIDS].name;

	return (struct table_ask){ a, (const uint8_t *)name,
		(const uint8_t *)"ownr" };
}

struct model_lock
model_lock_of(const struct locks_grant *g)
{
	struct model_lock l = { .file = g->fh.bytes[4],
		.start = (unsigned int)g->offset,
		.kind = g->exclusive ? MODEL_WRITE : MODEL_READ };

	l.end = g->length == 0 ? MODEL_LAST :
				 (unsigned int)(g->offset + g->length - 1);
	while (l.owner < MODEL_OWNERS - MODEL_SVIDS &&
	    (model_clients[l.owner / MODEL_SVIDS].host !=
		    g->client.from.bytes[3] ||
		model_clients[l.owner / MODEL_SVIDS].kind != g->client.kind ||
		strlen(model_clients[l.owner / MODEL_SVIDS].name) !=
		    g->client.name_len))
		l.owner += MODEL_SVIDS;
	l.owner += (unsigned int)g->svid;
	return l;
}
