/* SPDX-License-Identifier: ISC */
/*
 * The nlm role: the only process that reads calls of NLM and NSM. It has bound
 * sockets, channels to the locks role, one event loop and some file threads. It
 * has no file, no capability, no export and no table. A crash loses nothing: the
 * locks stay in the locks role.
 * Runs in: nfsd nlm.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/ipc_client.h"
#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/near.h"
#include "nfsd/nfsd.h"
#include "nfsd/nlm/callback.h"
#include "nfsd/nlm/notify.h"
#include "nfsd/nlm/parking.h"
#include "nfsd/nlm/question.h"
#include "process/listen.h"
#include "pool/pool.h"
#include "rpc/reply_cache.h"
#include "rpc/server.h"

#define QUEUE_MAX 4096 /* calls of file threads */
#define REPLIES	  8192 /* entries of the reply cache */
#define LOCKS_MS  3000 /* how long a restarting locks role is waited for */
#define DRAIN_MS  20

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_dup3,    true,  "replace a channel to the locks role" },
	{ SYS_getcpu,  true,  "where the event loop runs (not on x86)" },
	{ SYS_getsockopt, false, "where packets arrive" },
	{ SYS_recvmsg, false, "answers of the locks role, messages of the parent" },
	{ SYS_sched_setaffinity, false, "stay where they arrive" },
	{ SYS_sendmsg, false, "questions to the locks role" },
};

static const struct sandbox_rule rules[] = {
	{ SYS_sched_setaffinity, 0, SANDBOX_ABOVE, 0, "of no other process" },
};

static const struct sandbox_choice choices[] = {
	{ SYS_fcntl, {{ 1, 0, F_SETFL }, { 2, 0, O_NONBLOCK }}, "a channel of events that waits for nothing" },
	{ SYS_getsockopt, {{ 1, 0, SOL_SOCKET }, { 2, 0, SO_INCOMING_CPU }}, "on which processor" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "nlm",
	.calls = calls,
	.ncalls = nitems(calls),
	.serves = true,
	.dies_with_parent = true,
	.rules = rules,
	.nrules = nitems(rules),
	.choices = choices,
	.nchoices = nitems(choices),
};

struct nlm_role {
	struct role *role;
	struct nfsd_lock_setup setup;
	bool has_setup;
	struct event_base *base;
	struct nlm nlm;
	struct ipc_client locks[LOCKS_THREADS - 1]; /* of file threads */
	struct parking *parking; /* with the channel of the event loop */
	struct near_packets place;
	int events; /* channel of events; -1: none */
	struct event *on_events, *on_parent, *on_drain;
	struct listen_set sockets;
	struct rpc_server *server;
	struct rpc_pool *pool;
	struct rpc_streams *streams;
	struct rpc_tcp *tcp[ROLE_FDS_MAX];
	size_t ntcp;
	struct proofs *proofs;
	struct locks_stats *stats;
	struct outgoing *out;
	struct callbacks *callbacks;
	struct notifier *notifier;
	unsigned int drained_ms;
};

/* Asks over the channel of a file thread. */
static bool
ask_once(struct nlm_role *r, unsigned int thread, const struct nlm_question *q,
    struct locks_answer *answer, uint8_t *owner)
{
	uint8_t question[LOCKS_ASK_MAX], reply[LOCKS_ANSWER_MAX];
	struct ipc_message m = { .type = LOCKS_ASK,
		.data = question,
		.len = question_put(q, question, sizeof(question)) };
	struct slice answers = { reply, 0 };
	const uint8_t *text;
	ssize_t got;

	got = ipc_client_ask(&r->locks[thread - 1], &m, LOCKS_ANSWER, reply,
	    sizeof(reply), NULL);
	if (got == -1)
		return false;
	answers.len = (size_t)got;
	if (!answer_get(&answers, false, answer, &text) || answers.len > 0)
		fatalx("locks: malformed answer");
	memcpy(owner, text, answer->owner_len);
	return true;
}

/*
 * A locks role that has ended is waited for. The question is then asked again:
 * its answer may be lost, but so is the table.
 */
static bool
ask(void *arg, unsigned int thread, const struct nlm_question *q,
    struct locks_answer *answer, uint8_t *owner)
{
	struct nlm_role *r = arg;

	return ask_once(r, thread, q, answer, owner) ||
	    (ipc_client_wait(&r->locks[thread - 1], LOCKS_MS) &&
		ask_once(r, thread, q, answer, owner));
}

static bool
may_park(void *arg, uint64_t owner, unsigned int queue)
{
	const struct nlm_role *r = arg;

	return parking_may_add(r->parking, owner, queue);
}

static bool
park(void *arg, const struct call_ctx *ctx, struct rpc_job *call)
{
	struct nlm_role *r = arg;

	near_packets_call(&r->place, ctx->call->peer);
	return parking_add(r->parking, ctx, call);
}

static void
on_asked(void *arg, unsigned int n)
{
	struct nlm_role *r = arg;

	near_packets_turn(&r->place, n);
}

/*
 * Sends an event to the locks role. It waits for nothing: if the channel is full
 * or broken, the event is lost, as a datagram may be.
 */
static void
send_event(struct nlm_role *r, uint32_t type, const void *data, size_t len)
{
	if (r->events != -1)
		(void)ipc_send(r->events, type, data, len, NULL, 0);
}

static void
on_reply(void *arg, const struct locks_reply *reply)
{
	send_event(arg, LOCKS_REPLY, reply, sizeof(*reply));
}

static void
on_heard(void *arg, const struct locks_listed *listed, struct slice name)
{
	uint8_t msg[LOCKS_LISTED_MAX];

	memcpy(msg, listed, sizeof(*listed));
	if (name.len > 0)
		memcpy(msg + sizeof(*listed), name.data, name.len);
	send_event(arg, LOCKS_HEARD, msg, sizeof(*listed) + name.len);
}

/* A restart that a client has proved, on its way to the locks role. */
struct restart {
	struct rpc_job job;
	struct nlm_role *role;
	struct nlm_question q;
	uint8_t name[LOCKS_TEXT_MAX];
};

static void
restart_run(struct rpc_job *job, unsigned int thread)
{
	struct restart *x = (struct restart *)(void *)job;
	uint8_t owner[LOCKS_TEXT_MAX];
	struct locks_answer answer;

	(void)ask(x->role, thread, &x->q, &answer, owner);
}

static void
restart_done(struct rpc_job *job)
{
	free(job);
}

static void
on_proved(void *arg, const struct locks_client *client, struct slice name,
    int32_t state)
{
	struct nlm_role *r = arg;
	struct restart *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return;
	x->job.run = restart_run;
	x->job.done = restart_done;
	x->job.queue = NLM_FREE_QUEUE;
	x->job.size = sizeof(*x);
	x->role = r;
	x->q.ask.type = LOCKS_FREE;
	x->q.ask.client = *client;
	x->q.ask.state = state;
	x->q.ask.proven = true;
	if (name.len > 0)
		memcpy(x->name, name.data, name.len);
	x->q.name = (struct slice){ x->name, name.len };
	if (!rpc_pool_submit(r->pool, &x->job))
		free(x);
}

static void
on_answered(void *arg, struct slice cookie, uint32_t stat)
{
	struct nlm_role *r = arg;

	callback_answer(r->callbacks, cookie, stat);
}

static void
on_respond(void *arg, const struct call_ctx *ctx, const struct call_res *res)
{
	struct nlm_role *r = arg;

	callback_respond(r->callbacks, ctx, res);
}

static void
on_prove(void *arg, const struct call_ctx *ctx)
{
	struct nlm_role *r = arg;

	notify_prove(r->notifier, ctx);
}

/* A waiting lock was granted. */
static void
on_grant(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;
	struct locks_grant g;
	const uint8_t *text = m->data + sizeof(g);
	size_t left = m->len - sizeof(g);

	memcpy(&g, m->data, sizeof(g));
	if (g.client.name_len > left ||
	    g.owner_len != left - g.client.name_len ||
	    g.client.name_len > LOCKS_TEXT_MAX || g.owner_len > LOCKS_TEXT_MAX)
		fatalx("locks: malformed grant");
	callback_grant(r->callbacks, &g,
	    (struct slice){ text, g.client.name_len },
	    (struct slice){ text + g.client.name_len, g.owner_len });
}

/* clang-format off */
static const struct ipc_row event_rows[LOCKS_EVENTS] = {
	[LOCKS_GRANT] = { "grant", sizeof(struct locks_grant), LOCKS_GRANT_MAX, 0, 0, on_grant },
};
/* clang-format on */

static const struct ipc_table event_table = { event_rows, nitems(event_rows) };

static void
close_events(struct nlm_role *r)
{
	if (r->on_events != NULL)
		event_free(r->on_events);
	if (r->events != -1)
		close(r->events);
	r->on_events = NULL;
	r->events = -1;
}

/* If the locks role has ended, the parent sends another channel. */
static void
on_events(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct nlm_role *r = arg;
	const char *why = NULL;
	int got = ipc_serve((int)fd, &event_table, r, &why);

	if (got == 1 || (got == -1 && errno == EAGAIN))
		return;
	if (why != NULL)
		fatalx("locks: broke the rules: %s", why);
	close_events(r);
}

static void
on_setup(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;

	memcpy(&r->setup, m->data, sizeof(r->setup));
	r->has_setup = true;
}

static void
on_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct nlm_role *r = arg;

	role_pong(r->role->channel, ROLE_PONG);
}

static struct event *
watch(struct nlm_role *r, int fd, event_callback_fn call)
{
	struct event *event =
	    event_new(r->base, fd, EV_READ | EV_PERSIST, call, r);

	if (event == NULL || event_add(event, NULL) == -1)
		fatalx("event: out of memory");
	return event;
}

static void
on_channels(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;
	unsigned int i;

	for (i = 0; i < nitems(r->locks); i++) {
		ipc_client_replace(&r->locks[i], m->fds[i + 1]);
		m->fds[i + 1] = -1;
	}
	parking_set_channel(r->parking, m->fds[0]);
	m->fds[0] = -1;
	close_events(r);
	r->events = m->fds[LOCKS_THREADS];
	m->fds[LOCKS_THREADS] = -1;
	if (fcntl(r->events, F_SETFL, O_NONBLOCK) == -1)
		fatal("channel of events");
	r->on_events = watch(r, r->events, on_events);
}

static void
on_start(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;
	struct locks_start start;

	memcpy(&start, m->data, sizeof(start));
	nlm_set_state(&r->nlm.states, &start.at, start.state);
	if (start.at.family == 0)
		notify_start(r->notifier);
}

static void
on_listed(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;
	struct locks_listed listed;

	memcpy(&listed, m->data, sizeof(listed));
	if (listed.client.name_len != m->len - sizeof(listed))
		fatalx("parent: malformed client");
	notify_listed(r->notifier, &listed,
	    (struct slice){ m->data + sizeof(listed), listed.client.name_len });
}

/* The machine has an address no longer: nothing can come from its clients. */
static void
on_address_left(void *arg, struct ipc_message *m)
{
	struct nlm_role *r = arg;
	struct addr at;

	memcpy(&at, m->data, sizeof(at));
	notify_left(r->notifier, &at);
	if (r->streams != NULL)
		(void)rpc_streams_end_local(r->streams, &at);
}

/* Ends the event loop when every call is answered, or when the time is over. */
static void
drain(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct nlm_role *r = arg;

	r->drained_ms += DRAIN_MS;
	if ((rpc_server_in_flight(r->server) == 0 &&
		rpc_streams_unsent(r->streams) == 0) ||
	    r->drained_ms >= NFSD_STOP_MS - 500)
		event_base_loopexit(r->base, NULL);
}

static void
on_stop(void *arg, struct ipc_message *m UNUSED)
{
	const struct timeval often = { .tv_usec = DRAIN_MS * 1000 };
	struct nlm_role *r = arg;
	size_t i;

	if (r->on_drain != NULL)
		return;
	for (i = 0; i < r->ntcp; i++)
		rpc_tcp_stop_accepting(r->tcp[i]);
	r->on_drain = event_new(r->base, -1, EV_PERSIST, drain, r);
	if (r->on_drain == NULL || event_add(r->on_drain, &often) == -1)
		fatalx("event: out of memory");
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[ROLE_SETUP]          = { "setup",    sizeof(struct nfsd_lock_setup), sizeof(struct nfsd_lock_setup), 0, 0, on_setup },
	[ROLE_PING]           = { "ping",     0, 0, 0, 0, on_ping },
	[NFSD_STOP]           = { "stop",     0, 0, 0, 0, on_stop },
	[NFSD_ADDRESS_LEFT]   = { "address left", sizeof(struct addr), sizeof(struct addr), 0, 0, on_address_left },
	[NFSD_LOCKS_CHANNELS] = { "channels", 0, 0, LOCKS_THREADS + 1, LOCKS_THREADS + 1, on_channels },
	[NFSD_LOCKS_START]    = { "start",    sizeof(struct locks_start), sizeof(struct locks_start), 0, 0, on_start },
	[NFSD_LOCKS_LISTED]   = { "listed",   sizeof(struct locks_listed), LOCKS_LISTED_MAX, 0, 0, on_listed },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

/* The parent is trusted: a malformed message is a bug. */
static void
receive(struct nlm_role *r)
{
	const char *why = NULL;
	int got = ipc_serve(r->role->channel, &messages, r, &why);

	if (why != NULL)
		fatalx("parent: %s", why);
	if (got == 0 || (got == -1 && errno != EAGAIN))
		exit(0);
}

static void
on_parent(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	receive(arg);
}

static void
enter_sandbox(struct nlm_role *r, struct sandbox *box)
{
	struct jail_view view;

	jail_enter_empty(&view, NULL);
	sandbox_begin(box, &policy, r->setup.strict);
	sandbox_set_root(box, view.mounts, view.root);
	if (!r->setup.rootless)
		daemon_drop(r->setup.uid, r->setup.gid);
	sandbox_enter(box);
}

static void
make_state(struct nlm_role *r)
{
	const struct notify_hooks hooks = { on_heard, on_proved, r };
	struct nfsd_shared *shared;
	size_t i;

	r->stats =
	    shm_map(r->role->fds[NFSD_LOCK_FD_STATS], sizeof(*r->stats), true);
	shared =
	    shm_map(r->role->fds[NFSD_LOCK_FD_SHARED], sizeof(*shared), false);
	if (r->stats == NULL || shared == NULL)
		fatal("shared memory");
	r->proofs = &shared->proofs;
	for (i = 0; i < nitems(r->locks); i++)
		ipc_client_init(&r->locks[i], -1);
	r->events = -1;
	r->nlm = (struct nlm){ .nolocks = r->setup.nolocks,
		.may_park = may_park,
		.park = park,
		.asked = on_asked,
		.ask = ask,
		.answered = on_answered,
		.respond = on_respond,
		.prove = on_prove,
		.arg = r };
	r->parking = parking_new(r->base, &r->nlm);
	r->out = outgoing_new(r->base, r->proofs, r->stats);
	r->callbacks = callback_new(r->out, r->stats, on_reply, r);
	r->notifier = notify_new(r->base, r->out, &hooks);
}

/* NLM has the first sockets, NSM the others. Each serves both programs. */
static void
listen_to_all(struct nlm_role *r)
{
	const int *fds = r->role->fds + NFSD_LOCK_FD_SOCKETS;
	size_t i, n = r->role->nfds - NFSD_LOCK_FD_SOCKETS;
	const struct listen_socket *s;
	struct listen_set one;
	struct rpc_udp *udp;

	r->streams = rpc_streams_new(r->base);
	near_packets_init(&r->place, r->base, r->streams);
	for (i = 0; i < n; i++) {
		if (listen_from(&one, fds + i, 1) == -1)
			fatalx("an inherited descriptor is not a socket");
		s = &one.list[0];
		if (!s->udp) {
			r->tcp[r->ntcp++] = rpc_tcp_new(r->streams, r->server,
			    s->fd, &r->setup.limits, NULL, NULL);
			continue;
		}
		udp = rpc_udp_new(r->base, r->server, s->fd, &r->setup.limits);
		rpc_udp_prove(udp, r->proofs);
		outgoing_add_socket(r->out,
		    i < r->setup.nlock_sockets ? NLM_PROGRAM : NSM_PROGRAM, udp,
		    &s->at);
	}
}

static void
start_serving(struct nlm_role *r)
{
	static const struct rpc_prog *const programs[] = { &nlm_program,
		&nsm_program };
	const struct rpc_hooks hooks = nlm_hooks(&r->nlm);
	struct rpc_limits *limits = &r->setup.limits;
	size_t files = daemon_raise_files();

	r->server = rpc_server_new(programs, nitems(programs), &hooks);
	rpc_server_set_cache(r->server, reply_cache_new(REPLIES, NULL, NULL));
	r->pool =
	    rpc_pool_new(r->base, nitems(r->locks), QUEUE_MAX, NULL, NULL);
	rpc_server_set_pool(r->server, r->pool);
	if (limits->connections_max > files / 2)
		limits->connections_max = (unsigned int)files / 2;
	limits->record_max = NLM_RECORD_MAX;
	limits->reply_max = NLM_REPLY_MAX;
	limits->datagram_reply_max = NLM_REPLY_MAX;
	listen_to_all(r);
	if (fcntl(r->role->channel, F_SETFL, O_NONBLOCK) == -1)
		fatal("parent");
	r->on_parent = watch(r, r->role->channel, on_parent);
}

int
nfsd_nlm(struct role *role)
{
	static struct nlm_role r;
	struct sandbox box;

	if (role->nfds < NFSD_LOCK_FD_SOCKETS)
		fatalx("parent: too few descriptors");
	/* One heap: malloc reads /proc to shrink another arena. */
	(void)mallopt(M_ARENA_MAX, 1);
	r.role = role;
	r.base = daemon_events();
	while (!r.has_setup)
		receive(&r);
	make_state(&r);
	near_take_short_turns();
	enter_sandbox(&r, &box);
	start_serving(&r);
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	(void)event_base_dispatch(r.base);
	return 0;
}
