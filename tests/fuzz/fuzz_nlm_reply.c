/* SPDX-License-Identifier: ISC */
/*
 * Replies of clients to calls of the nlm role. Two call-backs wait for
 * answers. Each part of the input is one: its first byte says if xid and port
 * are right. Links: nfsd
 * Runs in: fuzzers and their replay.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/callback.h"

#define SENT_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct {
	uint32_t xid;
	struct rpc_peer peer;
} sent[SENT_MAX];
static unsigned int nsent;
static uint8_t fake; /* socket */

/* The modules under test call these instead of the transport. */
bool
rpc_udp_send(struct rpc_udp *u UNUSED, const struct rpc_peer *peer,
    const uint8_t *msg, size_t len)
{
	struct xdr_in in;

	xdr_in_init(&in, msg, len);
	if (nsent < SENT_MAX) {
		sent[nsent].xid = xdr_get_u32(&in);
		sent[nsent++].peer = *peer;
	}
	if (peer->from.port == 0)
		abort();
	return true;
}

void
rpc_udp_on_reply(struct rpc_udp *u UNUSED, rpc_reply_fn *on_reply UNUSED,
    void *arg UNUSED)
{
}

static void
on_reply(void *arg UNUSED, const struct locks_reply *reply)
{
	if (reply->stat > LOCKS_FAILED)
		abort();
}

static void
ask_all(struct callbacks *callbacks, const char *client, const char *server)
{
	const struct slice name = { (const uint8_t *)"client", 6 };
	struct locks_grant g = { .tries = 1, .client.vers = 4 };

	(void)addr_parse(&g.client.from, client);
	(void)addr_parse(&g.client.to, server);
	callback_grant(callbacks, &g, name, name);
	g.client.vers = 1; /* has another port */
	callback_grant(callbacks, &g, name, name);
}

/* Feeds one reply, with the xid of a call and from its port, or not quite. */
static void
feed(struct outgoing *out, unsigned int i, uint8_t how, uint8_t *msg,
    size_t size)
{
	uint32_t xid = htobe32(sent[i].xid ^ (how & 1));

	memcpy(msg, &xid, size < sizeof(xid) ? size : sizeof(xid));
	sent[i].peer.from.port ^= how >> 2 & 1;
	outgoing_reply(out, &sent[i].peer, msg, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool six = size > 0 && (data[0] & 0x80) != 0;
	struct event_base *base;
	struct outgoing *out;
	struct callbacks *callbacks;
	unsigned int i;
	uint8_t msg[UINT8_MAX];
	struct addr any;
	size_t part;

	log_init("fuzz");
	nsent = 0;
	base = event_base_new();
	out = outgoing_new(base, NULL, NULL);
	callbacks = callback_new(out, NULL, on_reply, NULL);
	(void)addr_parse(&any, six ? "[::]:4045" : "0.0.0.0:4045");
	outgoing_add_socket(out, 100021, (struct rpc_udp *)(void *)&fake, &any);
	ask_all(callbacks, six ? "2001:db8::9" : "192.0.2.9",
	    six ? "2001:db8::1" : "192.0.2.1");
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	/* Parts of the input, each behind its kind and its length. */
	for (i = 0; size >= 2 && i < nsent; i++, size -= 2 + part) {
		part = data[1] < size - 2 ? data[1] : size - 2;
		memcpy(msg, data + 2, part);
		feed(out, i, data[0], msg, part);
		data += 2 + part;
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	}
	callback_free(callbacks);
	outgoing_free(out);
	event_base_free(base);
	return 0;
}
