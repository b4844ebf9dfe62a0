/* SPDX-License-Identifier: ISC */
/*
 * Restarts of this server and of clients: see nlm/notify.h. The clients to tell
 * and the clients to ask are rows of one list, each with the time of its next
 * try.
 * Runs in: nfsd nlm (event loop).
 */
#include <sys/queue.h>
#include <sys/utsname.h>

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/notify.h"

#define FIRST_GAP 2 /* seconds; doubles */
#define AGAIN_MS  1000 /* after a try that a limit forbade */
#define REST_MS	  2000 /* between two questions to a client about its state */
#define ARGS_MAX  1100 /* a name and a number */

/* A client to tell of our restart, or to ask about its own. */
struct errand {
	TAILQ_ENTRY(errand) entry;
	uint64_t number; /* how its answers find it */
	bool is_proof;
	bool rests; /* a proof that was answered; see on_stat() */
	bool again; /* then it is asked again */
	unsigned int gap; /* seconds to the next try */
	uint64_t next_ms, until_ms;
	struct locks_listed listed;
	size_t name_len;
	uint8_t name[];
};

struct notifier {
	struct outgoing *out;
	struct notify_hooks hooks;
	struct event *on_time;
	TAILQ_HEAD(, errand) errands;
	uint64_t numbers;
	unsigned int proofs;
	struct utsname machine;
};

static void on_time(evutil_socket_t, short, void *);

static struct errand *
find(struct notifier *n, uint64_t number)
{
	struct errand *e;

	TAILQ_FOREACH (e, &n->errands, entry)
		if (e->number == number)
			break;
	return e;
}

static void
drop(struct notifier *n, struct errand *e)
{
	if (e->is_proof)
		n->proofs--;
	TAILQ_REMOVE(&n->errands, e, entry);
	free(e);
}

static struct slice
name_of(const struct errand *e)
{
	return (struct slice){ e->name, e->name_len };
}

/* The client knows of our restart. */
static void
on_notified(void *arg, uint64_t tag, struct xdr_in *results)
{
	struct notifier *n = arg;
	struct errand *e = find(n, tag);

	if (e == NULL || results == NULL)
		return;
	n->hooks.heard(n->hooks.arg, &e->listed, name_of(e));
	drop(n, e);
}

/*
 * The client says its state. What it locked under another one is lost. If it has
 * not restarted, nothing is: then the call was forged. It is not asked again at
 * once, however many calls are forged.
 */
static void
on_stat(void *arg, uint64_t tag, struct xdr_in *results)
{
	struct notifier *n = arg;
	struct errand *e = find(n, tag);
	int32_t state;

	if (e == NULL || results == NULL || e->rests)
		return;
	(void)xdr_get_u32(results); /* would it monitor us? */
	state = xdr_get_i32(results);
	if (!results->failed && state != 0)
		n->hooks.proved(n->hooks.arg, &e->listed.client, name_of(e),
		    state);
	e->rests = true;
	e->next_ms = clock_ms() + REST_MS;
	on_time(-1, 0, n);
}

/* A client that has restarted has its monitor at another port. */
static bool
send_name(struct notifier *n, const struct errand *e, const char *name)
{
	struct outgoing_call call = { .to = e->listed.client.from,
		.from = e->listed.client.to,
		.prog = NSM_PROGRAM,
		.vers = NSM_VERSION,
		.proc = e->is_proof ? NSMPROC_STAT : NSMPROC_NOTIFY,
		.answered = e->is_proof ? on_stat : on_notified,
		.arg = n,
		.tag = e->number };
	uint8_t args[ARGS_MAX];
	struct xdr_out x;

	outgoing_forget_port(n->out, &call.to, call.prog, call.vers);
	xdr_out_init(&x, args, sizeof(args));
	xdr_put_string(&x, name);
	if (!e->is_proof)
		xdr_put_i32(&x, e->listed.server);
	return outgoing_send(n->out, &call, args, x.len);
}

/*
 * Linux knows this server by the address that it mounted, others may know it by
 * its name: they get both. The name of a floating address is not known here, and
 * that of this machine means another server. The client's own address is a name that
 * it can always look up. Returns false if a limit forbids it now.
 */
static bool
try(struct notifier *n, struct errand *e)
{
	struct addr at =
	    e->is_proof ? e->listed.client.from : e->listed.client.to;
	char text[ADDR_STRLEN];

	if (e->gap > FIRST_GAP) /* its NSM may have another port by now */
		outgoing_forget_port(n->out, &e->listed.client.from,
		    NSM_PROGRAM, NSM_VERSION);
	at.port = 0;
	if (!send_name(n, e, addr_print(&at, text)))
		return false;
	if (!e->is_proof && !e->listed.floating &&
	    n->machine.nodename[0] != '\0')
		(void)send_name(n, e, n->machine.nodename);
	return true;
}

/* The first try of an errand is due. */
static void
begin(struct errand *e, uint64_t now)
{
	e->rests = e->again = false;
	e->gap = FIRST_GAP;
	e->next_ms = now;
	e->until_ms =
	    now + 1000u * (e->is_proof ? NOTIFY_PROVE_SECONDS : NOTIFY_SECONDS);
}

/* Makes the tries that are due. Sets the timer for the next ones. */
static void
on_time(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct notifier *n = arg;
	struct errand *e, *next;
	uint64_t now = clock_ms(), first = UINT64_MAX;
	struct timeval in;

	for (e = TAILQ_FIRST(&n->errands); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (now >= e->until_ms ||
		    (e->rests && now >= e->next_ms && !e->again)) {
			drop(n, e);
			continue;
		}
		if (now >= e->next_ms && e->rests)
			begin(e, now);
		if (now >= e->next_ms && !try(n, e))
			e->next_ms = now + AGAIN_MS;
		else if (now >= e->next_ms) {
			e->next_ms = now + (uint64_t)e->gap * 1000;
			e->gap *= 2;
			if (e->gap > NOTIFY_GAP_MAX)
				e->gap = NOTIFY_GAP_MAX;
		}
		if (e->next_ms < first)
			first = e->next_ms;
	}
	if (first == UINT64_MAX)
		return;
	first = first > now ? first - now : 1;
	in.tv_sec = (time_t)(first / 1000);
	in.tv_usec = (suseconds_t)(first % 1000) * 1000;
	(void)event_add(n->on_time, &in);
}

/* Adds an errand, whose first try is made at once. */
static void
add(struct notifier *n, const struct locks_listed *listed, struct slice name,
    bool is_proof)
{
	const struct timeval now = { .tv_sec = 0 };
	struct errand *e = calloc(1, sizeof(*e) + name.len);

	if (e == NULL)
		return;
	e->number = ++n->numbers;
	e->is_proof = is_proof;
	begin(e, clock_ms());
	e->listed = *listed;
	e->name_len = name.len;
	if (name.len > 0)
		memcpy(e->name, name.data, name.len);
	if (is_proof)
		n->proofs++;
	TAILQ_INSERT_TAIL(&n->errands, e, entry);
	(void)event_add(n->on_time, &now);
}

struct notifier *
notify_new(struct event_base *base, struct outgoing *out,
    const struct notify_hooks *hooks)
{
	struct notifier *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("notifier");
	n->out = out;
	n->hooks = *hooks;
	TAILQ_INIT(&n->errands);
	(void)uname(&n->machine);
	n->on_time = evtimer_new(base, on_time, n);
	if (n->on_time == NULL)
		fatalx("event: out of memory");
	return n;
}

void
notify_free(struct notifier *n)
{
	struct errand *e;

	if (n == NULL)
		return;
	while ((e = TAILQ_FIRST(&n->errands)) != NULL)
		drop(n, e);
	event_free(n->on_time);
	free(n);
}

/* Drops the errands for an address of this server, or for all. */
static void
drop_all(struct notifier *n, const struct addr *at)
{
	struct errand *e, *next;

	for (e = TAILQ_FIRST(&n->errands); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (at == NULL || addr_same_host(&e->listed.client.to, at))
			drop(n, e);
	}
}

void
notify_start(struct notifier *n)
{
	drop_all(n, NULL);
}

void
notify_left(struct notifier *n, const struct addr *at)
{
	drop_all(n, at);
}

void
notify_listed(struct notifier *n, const struct locks_listed *listed,
    struct slice name)
{
	add(n, listed, name, false);
}

void
notify_prove(struct notifier *n, const struct call_ctx *ctx)
{
	struct locks_listed listed = { .state = 0 };
	const struct rpc_call *call = ctx->call;
	struct errand *e;

	TAILQ_FOREACH (e, &n->errands, entry)
		if (e->is_proof &&
		    addr_same_host(&e->listed.client.from, &call->peer->from)) {
			e->again = e->rests;
			return; /* it is being asked */
		}
	if (n->proofs == NOTIFY_PROOFS)
		return;
	listed.client.from = call->peer->from;
	listed.client.to = call->peer->to;
	listed.client.vers = call->vers->vers;
	listed.client.kind = (uint32_t)call->peer->kind;
	listed.client.name_len = (uint32_t)ctx->args->name.len;
	add(n, &listed, ctx->args->name, true);
}
