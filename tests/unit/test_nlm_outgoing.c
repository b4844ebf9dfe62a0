/* SPDX-License-Identifier: ISC */
/*
 * Calls to clients: ports are asked for and kept, answers must fit, and the
 * limits hold. The transport is replaced: what would be sent is kept. Also
 * call-backs and notifies, which use these calls.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/callback.h"
#include "nfsd/nlm/notify.h"
#include "nfsd/nlm/nlm_xdr.h"
#include "nfsd/nlm/ports.h"
#include "rpc/msg.h"
#include "tap.h"

#define SENT_MAX 1024

struct sent {
	const void *via;
	struct rpc_peer peer;
	struct rpc_head head;
	uint8_t msg[OUTGOING_MAX];
	size_t len;
	struct xdr_in args;
};

static struct sent sent[SENT_MAX];
static unsigned int nsent;
static struct event_base *base;
static struct outgoing *out;
static struct locks_stats stats;
static uint8_t nlm4, nlm6, nsm4; /* stand for sockets */
static unsigned int answers;

bool
rpc_udp_send(struct rpc_udp *u, const struct rpc_peer *peer, const uint8_t *msg,
    size_t len)
{
	struct sent *s = &sent[nsent++ % SENT_MAX];

	s->via = u;
	s->peer = *peer;
	memcpy(s->msg, msg, len);
	s->len = len;
	xdr_in_init(&s->args, s->msg, len);
	if (rpc_get_call(&s->args, &s->head) != RPC_HEAD_CALL)
		BAIL_OUT("what is sent is not a call");
	return true;
}

void
rpc_udp_on_reply(struct rpc_udp *u UNUSED, rpc_reply_fn *on_reply UNUSED,
    void *arg UNUSED)
{
}

static struct addr
at(const char *text)
{
	struct addr a = { .family = 0 };

	if (!addr_parse(&a, text))
		BAIL_OUT("%s", text);
	return a;
}

static void
begin(void)
{
	struct addr any4 = at("0.0.0.0:4045"), any6 = at("[::]:4045");

	outgoing_free(out);
	nsent = answers = 0;
	memset(&stats, 0, sizeof(stats));
	out = outgoing_new(base, NULL, &stats);
	outgoing_add_socket(out, NLM_PROGRAM, (struct rpc_udp *)(void *)&nlm4,
	    &any4);
	outgoing_add_socket(out, NLM_PROGRAM, (struct rpc_udp *)(void *)&nlm6,
	    &any6);
	outgoing_add_socket(out, NSM_PROGRAM, (struct rpc_udp *)(void *)&nsm4,
	    &any4);
}

static void
turn(void)
{
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
on_answer(void *arg UNUSED, uint64_t tag, struct xdr_in *results)
{
	if (tag == 77 && results != NULL && xdr_get_u32(results) == 99)
		answers++;
}

/* Sends a call with one word. */
static bool
send_to(const char *client, uint32_t prog, bool wants_answer)
{
	struct outgoing_call call = { .to = at(client),
		.from = at(strchr(client, ':') != NULL ? "2001:db8::1" :
							 "192.0.2.1"),
		.prog = prog,
		.vers = prog == NLM_PROGRAM ? 4 : 1,
		.proc = 10,
		.max = 200,
		.answered = wants_answer ? on_answer : NULL,
		.tag = 77 };
	static const uint8_t word[4] = { 0, 0, 0, 5 };
	bool done = outgoing_send(out, &call, word, sizeof(word));

	turn();
	return done;
}

/* Answers message i with one word, or text; wrongly if told to. */
static void
answer(unsigned int i, uint32_t word, const char *text, uint32_t wrong_xid,
    const char *from)
{
	struct rpc_peer peer = sent[i].peer;
	uint8_t msg[128];
	struct xdr_out x;

	xdr_out_init(&x, msg, sizeof(msg));
	rpc_put_accepted(&x, sent[i].head.xid ^ wrong_xid, RPC_SUCCESS);
	if (text != NULL)
		xdr_put_string(&x, text);
	else
		xdr_put_u32(&x, word);
	if (from != NULL)
		peer.from = at(from);
	outgoing_reply(out, &peer, msg, x.len);
	turn();
}

static bool
is_call(unsigned int i, uint32_t prog, uint32_t vers, uint32_t proc,
    uint16_t port)
{
	return i < nsent && sent[i].head.prog == prog &&
	    sent[i].head.vers == vers && sent[i].head.proc == proc &&
	    sent[i].peer.from.port == port;
}

static void
test_ports(void)
{
	begin();
	ok(send_to("192.0.2.9", NLM_PROGRAM, true), "a call is accepted");
	ok(nsent == 1 && is_call(0, PORTS_PROGRAM, 2, 3, 111),
	    "first the portmapper is asked: GETPORT");
	ok(xdr_get_u32(&sent[0].args) == NLM_PROGRAM &&
		xdr_get_u32(&sent[0].args) == 4 &&
		xdr_get_u32(&sent[0].args) == 17,
	    "for program, version and UDP");
	ok(sent[0].via == &nlm4, "from the socket of NLM");
	answer(0, 5000, NULL, 1, NULL);
	answer(0, 5000, NULL, 0, "192.0.2.8:111");
	answer(0, 5000, NULL, 0, "192.0.2.9:112");
	ok(nsent == 1, "another xid, address or port answers nothing");
	answer(0, 5000, NULL, 0, NULL);
	ok(nsent == 2 && is_call(1, NLM_PROGRAM, 4, 10, 5000),
	    "the call goes to the port that was named");
	ok(sent[1].head.cred.flavor == AUTH_SYS &&
		xdr_get_u32(&sent[1].args) == 5,
	    "as root, with its arguments");
	answer(1, 98, NULL, 0, NULL);
	ok(answers == 0, "an answer of other contents");
	(void)send_to("192.0.2.9", NLM_PROGRAM, true);
	ok(nsent == 3 && is_call(2, NLM_PROGRAM, 4, 10, 5000),
	    "the port is known for the next call");
	answer(2, 99, NULL, 0, "192.0.2.9:5001");
	ok(answers == 0, "an answer from another port is dropped");
	answer(2, 99, NULL, 0, NULL);
	ok(answers == 1, "the right one is taken");
	answer(2, 99, NULL, 0, NULL);
	ok(answers == 1, "but once");
	(void)send_to("192.0.2.9", NSM_PROGRAM, false);
	ok(is_call(3, PORTS_PROGRAM, 2, 3, 111) && sent[3].via == &nsm4,
	    "NSM has a port and a socket of its own");
	answer(3, 70000, NULL, 0, NULL);
	ok(nsent == 4, "70000 is no port");
	ok(stats.counts[LOCKS_COUNT_SILENT] == 1 &&
		stats.counts[LOCKS_COUNT_CALLBACKS] == 4,
	    "both are counted");
}

static void
test_ipv6(void)
{
	begin();
	(void)send_to("2001:db8::9", NLM_PROGRAM, false);
	ok(nsent == 1 && is_call(0, PORTS_PROGRAM, 3, 3, 111) &&
		sent[0].via == &nlm6,
	    "IPv6: RPCBIND's GETADDR is asked, by the socket of IPv6");
	answer(0, 0, "2001:db8::666.19.136", 0, NULL);
	ok(nsent == 2 && sent[1].peer.from.port == 5000 &&
		addr_same_host(&sent[1].peer.from, &sent[0].peer.from),
	    "of its answer only the port counts, not the address");
	begin();
	(void)send_to("2001:db8::9", NLM_PROGRAM, false);
	answer(0, 0, "rubbish", 0, NULL);
	ok(nsent == 1, "an answer that is no address is none");
}

static unsigned int
send_many(const char *client, unsigned int n)
{
	unsigned int i, sent_now = 0;

	for (i = 0; i < n; i++)
		sent_now += send_to(client, NLM_PROGRAM, false);
	return sent_now;
}

static void
test_limits(void)
{
	struct addr client = at("192.0.2.9");
	char text[32];
	unsigned int i;

	begin();
	(void)send_many("192.0.2.9", 50);
	ok(nsent == 1, "one lookup, however many calls wait for it");
	answer(0, 5000, NULL, 0, NULL);
	cmp_ok(nsent, "<=", 5,
	    "4 datagrams for an address that proves nothing");
	i = nsent;
	outgoing_prove(out, &client);
	(void)send_many("192.0.2.9", 50);
	ok(nsent == i + 50, "an address that has proved to ask is not limited");
	begin();
	for (i = 0; i < 300; i++) {
		(void)snprintf(text, sizeof(text), "10.0.%u.%u", i / 200,
		    1 + i % 200);
		(void)send_to(text, NLM_PROGRAM, false);
	}
	cmp_ok(nsent, "<=", 205, "200 datagrams in all");
	begin();
	for (i = 0; i < 20; i++) {
		(void)send_to("192.0.2.9", NLM_PROGRAM, true);
		answer(i, i == 0 ? 5000 : 99, NULL, 0, NULL);
		if (i == 0)
			answer(++i, 99, NULL, 0, NULL);
	}
	ok(answers > 15, "what is answered does not count: %u", answers);
	begin();
	outgoing_prove(out, &client);
	for (i = 0; i < 100; i++)
		(void)send_to("192.0.2.9", NLM_PROGRAM, true);
	answer(0, 5000, NULL, 0, NULL);
	cmp_ok(nsent, "<=", 1 + OUTGOING_PER_HOST,
	    "at most 64 calls to one client wait for an answer");
}

static void
test_length(void)
{
	struct outgoing_call call = { .to = at("192.0.2.9"),
		.from = at("192.0.2.1"),
		.prog = NLM_PROGRAM,
		.vers = 4,
		.proc = 10,
		.max = 80 };
	static const uint8_t args[100];

	begin();
	(void)outgoing_send(out, &call, args, 12);
	turn();
	answer(0, 5000, NULL, 0, NULL);
	ok(nsent == 2 && sent[1].len <= 80, "a message within its limit");
	(void)outgoing_send(out, &call, args, 100);
	turn();
	ok(nsent == 2, "one that is longer is not sent");
}

/* ---- call-backs */

static struct locks_reply replied;
static unsigned int nreplied;

static void
on_reply(void *arg UNUSED, const struct locks_reply *r)
{
	replied = *r;
	nreplied++;
}

static const struct slice name = { (const uint8_t *)"client", 6 };
static const struct slice owner = { (const uint8_t *)"7@client", 8 };

static struct locks_grant
grant_of(uint8_t cookie, uint32_t tries)
{
	struct locks_grant g = { .tries = tries,
		.svid = -7,
		.offset = 5,
		.length = UINT64_MAX - 5,
		.exclusive = true };

	memset(g.cookie, cookie, sizeof(g.cookie));
	memset(g.fh.bytes, 0x5e, sizeof(g.fh.bytes));
	g.client.from = at("192.0.2.9:700");
	g.client.to = at("192.0.2.1:4045");
	g.client.vers = 4;
	return g;
}

static void
test_grant(void)
{
	struct locks_grant g = grant_of(0xa1, 0);
	struct call_args got = { .stat = 0 };
	struct callbacks *c;
	uint8_t wrong[LOCKS_TEXT_MAX] = { 0 };

	begin();
	c = callback_new(out, &stats, on_reply, NULL);
	callback_grant(c, &g, name, owner);
	turn();
	answer(0, 5000, NULL, 0, NULL);
	ok(is_call(1, NLM_PROGRAM, 4, NLMPROC_GRANTED_MSG, 5000),
	    "first GRANTED_MSG");
	nlm4_get_test(&sent[1].args, &got);
	ok(!sent[1].args.failed && sent[1].args.left == 0 &&
		got.cookie.len == 8 && got.svid == -7 && got.offset == 5 &&
		got.length == UINT64_MAX - 5 && got.exclusive &&
		got.fh.len == 32 && got.name.len == 6 && got.oh.len == 8,
	    "with all that the client asked for");
	ok(addr_same_host(&sent[1].peer.to, &g.client.to),
	    "from the address that the client knows");
	memset(wrong, 0xa2, sizeof(wrong));
	callback_answer(c, (struct slice){ wrong, 8 }, LOCKS_GRANTED);
	callback_answer(c, (struct slice){ wrong, 0 }, LOCKS_GRANTED);
	callback_answer(c, (struct slice){ wrong, 1024 }, LOCKS_GRANTED);
	callback_answer(c, (struct slice){ g.cookie, 7 }, LOCKS_GRANTED);
	ok(nreplied == 0 && stats.counts[LOCKS_COUNT_FORGED] == 4,
	    "guessed answers are dropped and counted");
	callback_answer(c, (struct slice){ g.cookie, 8 }, LOCKS_DENIED);
	ok(nreplied == 1 && replied.stat == LOCKS_DENIED &&
		memcmp(replied.cookie, g.cookie, 8) == 0,
	    "the right cookie answers");
	callback_answer(c, (struct slice){ g.cookie, 8 }, LOCKS_GRANTED);
	ok(nreplied == 1, "but once");
	callback_free(c);
}

/* Answers GRANTED with nlm_res. */
static void
answer_granted(unsigned int i, uint8_t cookie, uint32_t stat)
{
	uint8_t msg[128], bytes[LOCKS_COOKIE];
	struct xdr_out x;

	memset(bytes, cookie, sizeof(bytes));
	xdr_out_init(&x, msg, sizeof(msg));
	rpc_put_accepted(&x, sent[i].head.xid, RPC_SUCCESS);
	xdr_put_opaque(&x, bytes, sizeof(bytes));
	xdr_put_u32(&x, stat);
	outgoing_reply(out, &sent[i].peer, msg, x.len);
}

static void
test_granted(void)
{
	struct locks_grant g = grant_of(0xb1, 1);
	struct callbacks *c;

	begin();
	nreplied = 0;
	c = callback_new(out, &stats, on_reply, NULL);
	callback_grant(c, &g, name, owner);
	turn();
	answer(0, 5000, NULL, 0, NULL);
	ok(is_call(1, NLM_PROGRAM, 4, NLMPROC_GRANTED, 5000), "then GRANTED");
	answer_granted(1, 0xb2, LOCKS_GRANTED);
	ok(nreplied == 0, "its reply needs the cookie, too");
	g = grant_of(0xb3, 3);
	callback_grant(c, &g, name, owner);
	turn();
	answer_granted(2, 0xb3, LOCKS_GRANTED);
	ok(nreplied == 1 && replied.stat == LOCKS_GRANTED,
	    "and has the answer");
	g = grant_of(0xb4, 0);
	g.client.vers = 1;
	g.length = 7;
	callback_grant(c, &g, name, owner);
	turn();
	answer(3, 5001, NULL, 0, NULL);
	ok(is_call(4, NLM_PROGRAM, 1, NLMPROC_GRANTED_MSG, 5001) &&
		sent[4].len == sent[2].len - 8,
	    "version 1 has its own port and short numbers");
	callback_free(c);
}

/* ---- restarts */

static unsigned int heard, proved;
static int32_t proved_state;

static void
on_heard(void *arg UNUSED, const struct locks_listed *listed,
    struct slice heard_name)
{
	heard += listed->state == 3 && heard_name.len == 6;
}

static void
on_proved(void *arg UNUSED, const struct locks_client *client,
    struct slice proved_name, int32_t state)
{
	proved += client->from.port == 700 && proved_name.len == 6;
	proved_state = state;
}

static void
test_notify(void)
{
	static const struct notify_hooks hooks = { on_heard, on_proved, NULL };
	struct locks_listed listed = { .state = 3, .server = 9 };
	struct slice text;
	struct notifier *n;

	begin();
	n = notify_new(base, out, &hooks);
	notify_start(n);
	listed.client = grant_of(0, 0).client;
	notify_listed(n, &listed, name);
	turn();
	turn();
	ok(nsent == 1 && is_call(0, PORTS_PROGRAM, 2, 3, 111),
	    "a restart: the port of the client's NSM is asked for");
	answer(0, 6000, NULL, 0, NULL);
	ok(is_call(1, NSM_PROGRAM, 1, NSMPROC_NOTIFY, 6000), "SM_NOTIFY");
	text = xdr_get_opaque(&sent[1].args, 100);
	ok(text.len == 9 && memcmp(text.data, "192.0.2.1", 9) == 0 &&
		xdr_get_i32(&sent[1].args) == 9,
	    "names the address that the client mounted, and the state");
	ok(is_call(2, NSM_PROGRAM, 1, NSMPROC_NOTIFY, 6000),
	    "and once more with the name of this machine");
	answer(1, 0, NULL, 0, "192.0.2.9:6001");
	ok(heard == 0, "a forged answer is none");
	answer(1, 0, NULL, 0, NULL);
	answer(2, 0, NULL, 0, NULL);
	ok(heard == 1, "the client was heard, once");
	notify_free(n);
}

static void
test_prove(void)
{
	static const struct notify_hooks hooks = { on_heard, on_proved, NULL };
	static const struct rpc_vers vers = { .vers = 1 };
	struct rpc_peer peer = { .kind = RPC_UDP };
	struct rpc_call call = { .peer = &peer, .vers = &vers };
	struct call_args args = { .name = name, .state = 5 };
	struct call_ctx ctx = { .call = &call, .args = &args };
	uint8_t msg[64];
	struct notifier *n;
	struct xdr_out x;
	int i;

	peer.from = at("192.0.2.9:700");
	peer.to = at("192.0.2.1:4045");
	begin();
	n = notify_new(base, out, &hooks);
	notify_prove(n, &ctx);
	notify_prove(n, &ctx);
	turn();
	turn();
	answer(0, 6000, NULL, 0, NULL);
	ok(nsent == 2 && is_call(1, NSM_PROGRAM, 1, NSMPROC_STAT, 6000),
	    "a client that says it has restarted is asked for its state, once");
	xdr_out_init(&x, msg, sizeof(msg));
	rpc_put_accepted(&x, sent[1].head.xid, RPC_SUCCESS);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 5);
	outgoing_reply(out, &sent[1].peer, msg, x.len);
	ok(proved == 1 && proved_state == 5, "its answer is its state");
	for (i = 0; i < 100; i++) {
		notify_prove(n, &ctx);
		turn();
	}
	ok(nsent == 2, "it is not asked again at once");
	notify_free(n);
}

int
main(void)
{
	plan(NO_PLAN);
	log_init("test");
	base = event_base_new();
	test_ports();
	test_ipv6();
	test_limits();
	test_length();
	test_grant();
	test_granted();
	test_notify();
	test_prove();
	outgoing_free(out);
	event_base_free(base);
	done_testing();
}
