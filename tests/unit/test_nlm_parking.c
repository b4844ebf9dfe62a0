/* SPDX-License-Identifier: ISC */
/*
 * Calls of one turn of nlm's event loop: their questions travel together, and the
 * replies follow the answers. This program is the locks role at the other end of
 * the channel. Links: nfsd
 * Runs in: tests.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fcntl.h>

#include <event2/event.h>

#include "base/ipc.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/parking.h"
#include "nfsd/nlm/question.h"
#include "pool/pool.h"
#include "rpc/msg.h"
#include "rpc/server.h"
#include "tap.h"

#define THREADS	    2
#define REPLIES_MAX 1024

static struct event_base *base;
static struct rpc_server *server;
static struct parking *parking;
static struct rpc_pool *pool;
static struct nlm nlm;
static int role = -1; /* the other end */

/* What file threads ask, in their order. */
static struct {
	sem_t go;
	bool gone;
	_Atomic unsigned int n;
	uint32_t types[REPLIES_MAX];
} asked;

static struct {
	unsigned int n;
	uint64_t tickets[REPLIES_MAX];
	uint32_t stats[REPLIES_MAX];
} replies;

/* One message, as the locks role gets it. */
static struct {
	unsigned int n;
	struct locks_ask asks[LOCKS_TOGETHER];
} got;

static bool unsendable;
static void (*after_ask)(void); /* the locks role runs before nlm goes on */

/* Replaces that of libc. */
ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t sent;

	errno = ENOBUFS;
	sent = unsendable ? -1 : syscall(SYS_sendmsg, fd, msg, flags);
	if (fd != role && after_ask != NULL)
		after_ask();
	return sent;
}

static bool
ask(void *arg UNUSED, unsigned int thread UNUSED, const struct nlm_question *q,
    struct locks_answer *answer, uint8_t *owner UNUSED)
{
	while (sem_wait(&asked.go) == -1)
		continue;
	asked.types[atomic_fetch_add(&asked.n, 1)] = q->ask.type;
	*answer = (struct locks_answer){ .stat = LOCKS_ROFS };
	return !asked.gone;
}

static bool
may_park(void *arg UNUSED, uint64_t owner, unsigned int queue)
{
	return parking_may_add(parking, owner, queue);
}

static bool
park(void *arg UNUSED, const struct call_ctx *ctx, struct rpc_job *call)
{
	return parking_add(parking, ctx, call);
}

static unsigned int waiting; /* calls of the last turn */

static void
asked_about(void *arg UNUSED, unsigned int calls)
{
	waiting = calls;
}

static void
on_reply(const struct rpc_origin *o, const uint8_t *reply, size_t len)
{
	struct xdr_in in;

	xdr_in_init(&in, reply, len);
	in.pos += RPC_REPLY_HEADER;
	in.left -= RPC_REPLY_HEADER;
	(void)xdr_get_opaque(&in, LOCKS_TEXT_MAX);
	replies.tickets[replies.n] = o->ticket;
	replies.stats[replies.n++] = xdr_get_u32(&in);
}

/* A call of NLM 4 for a byte of a file. The ticket is its xid. */
static enum rpc_verdict
serve(uint32_t proc, uint32_t xid, uint32_t svid, size_t name_len)
{
	static const struct rpc_cred root = { .flavor = AUTH_SYS };
	static const uint8_t zero[LOCKS_TEXT_MAX];
	struct rpc_head head = {
		.xid = xid, .prog = NLM_PROGRAM, .vers = 4, .proc = proc
	};
	struct rpc_origin o = { .reply = on_reply, .ticket = xid };
	uint8_t msg[4096], out[4096];
	struct xdr_out x;
	size_t len;

	(void)addr_parse(&o.peer.from, "192.0.2.1:700");
	o.peer.max_reply = sizeof(out);
	o.peer.kind = RPC_TCP;
	xdr_out_init(&x, msg, sizeof(msg));
	rpc_put_call(&x, &head, &root);
	xdr_put_opaque(&x, zero, 4); /* cookie */
	if (proc == NLMPROC_LOCK) {
		xdr_put_bool(&x, false);
		xdr_put_bool(&x, true);
	}
	xdr_put_opaque(&x, zero, name_len);
	xdr_put_opaque(&x, zero, sizeof(((struct fh *)0)->bytes));
	xdr_put_opaque(&x, zero, 0); /* owner */
	xdr_put_u32(&x, svid);
	xdr_put_u64(&x, svid);
	xdr_put_u64(&x, 1);
	if (proc == NLMPROC_LOCK) {
		xdr_put_bool(&x, false);
		xdr_put_u32(&x, 1);
	}
	return rpc_serve(server, &o, msg, x.len, out, sizeof(out), &len);
}

static void
turn(void)
{
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

/* Takes the next message. False: there is none. */
static bool
receive(void)
{
	static uint8_t buf[LOCKS_ASKS_MAX];
	size_t nfds = 0, at;
	uint32_t type;
	ssize_t len;
	int none;

	got.n = 0;
	len = ipc_receive(role, &type, buf, sizeof(buf), &none, &nfds);
	if (len == -1)
		return false;
	for (at = 0; at < (size_t)len && got.n < LOCKS_TOGETHER; got.n++) {
		memcpy(&got.asks[got.n], buf + at, sizeof(got.asks[0]));
		at += sizeof(got.asks[0]) + got.asks[got.n].client.name_len +
		    got.asks[got.n].owner_len;
	}
	return type == LOCKS_ASK && at == (size_t)len;
}

/* Answers the message that was received last; svid says which status. */
static void
answer(bool later)
{
	struct locks_answer a[LOCKS_TOGETHER];
	unsigned int i;

	memset(a, 0, sizeof(a));
	for (i = 0; i < got.n; i++)
		a[i].stat = later ? LOCKS_LATER :
				    (uint32_t)got.asks[i].svid % LOCKS_FAILED;
	if (ipc_send(role, LOCKS_ANSWER, a, got.n * sizeof(a[0]), NULL, 0) ==
	    -1)
		BAIL_OUT("answer");
}

static void
wait_replies(unsigned int n)
{
	while (replies.n < n)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

static void
begin(void)
{
	int pair[2];

	if (role != -1)
		close(role);
	if (ipc_pair(pair) == -1 || fcntl(pair[1], F_SETFL, O_NONBLOCK) == -1)
		BAIL_OUT("channel");
	parking_set_channel(parking, pair[0]);
	role = pair[1];
	replies.n = 0;
	atomic_store(&asked.n, 0);
}

static void
let_threads_ask(unsigned int n)
{
	while (n-- > 0)
		(void)sem_post(&asked.go);
}

static void
together(void)
{
	begin();
	ok(serve(NLMPROC_LOCK, 1, 1, 4) == RPC_DEFERRED &&
		serve(NLMPROC_UNLOCK, 2, 2, 4) == RPC_DEFERRED &&
		serve(NLMPROC_LOCK, 3, 3, 1000) == RPC_DEFERRED,
	    "three calls are parked");
	cmp_ok(rpc_server_in_flight(server), "==", 3, "they are in flight");
	ok(!receive(), "nothing is sent before the end of the turn");
	turn();
	ok(receive() && got.n == 3, "then all travel together");
	cmp_ok(waiting, "==", 3, "the turn had three calls");
	ok(got.asks[0].svid == 1 && got.asks[1].svid == 2 &&
		got.asks[2].svid == 3 && got.asks[2].client.name_len == 1000,
	    "in their order");
	ok(got.asks[0].type == LOCKS_LOCK && got.asks[1].type == LOCKS_UNLOCK,
	    "each with its own type");
	ok(got.asks[0].brief && got.asks[2].brief, "all are brief");
	(void)serve(NLMPROC_LOCK, 4, 4, 4);
	turn();
	cmp_ok(waiting, "==", 4, "those that wait for answers count");
	cmp_ok(replies.n, "==", 0, "no reply before the answers");
	answer(false);
	ok(!receive(), "the next call waits for these answers");
	turn();
	ok(replies.n == 3 && replies.tickets[0] == 1 &&
		replies.tickets[1] == 2 && replies.tickets[2] == 3,
	    "the replies are sent in this order");
	ok(replies.stats[0] == 1 && replies.stats[1] == 2 &&
		replies.stats[2] == 3,
	    "each has its own answer");
	ok(receive() && got.n == 1 && got.asks[0].svid == 4,
	    "then the next is asked");
	answer(false);
	wait_replies(4);
	cmp_ok(rpc_server_in_flight(server), "==", 0, "none is in flight");
}

static void
answer_now(void)
{
	if (receive())
		answer(false);
}

/* The answer is there as soon as the question is sent. */
static void
prompt(void)
{
	begin();
	after_ask = answer_now;
	(void)serve(NLMPROC_LOCK, 1, 1, 4);
	(void)serve(NLMPROC_LOCK, 2, 2, 4);
	(void)event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	ok(replies.n == 2 && replies.stats[0] == 1 && replies.stats[1] == 2,
	    "answers that are there at once are taken in the same turn");
	(void)serve(NLMPROC_LOCK, 3, 3, 4);
	turn();
	ok(replies.n == 3 && replies.stats[2] == 3, "so is the next");
	cmp_ok(waiting, "==", 1, "it was alone in its turn");
	after_ask = NULL;
	cmp_ok(rpc_server_in_flight(server), "==", 0, "none is in flight");
}

/*
 * A client whose process is killed sends UNLOCK behind a LOCK. If a file thread
 * asks for LOCK again, UNLOCK goes there too, in whatever message it was.
 */
static void
order(void)
{
	begin();
	(void)serve(NLMPROC_LOCK, 1, 5, 4);
	(void)serve(NLMPROC_UNLOCK, 2, 5, 4);
	turn();
	ok(receive() && got.n == 2 && got.asks[0].type == LOCKS_LOCK &&
		got.asks[1].type == LOCKS_UNLOCK,
	    "LOCK and UNLOCK of one owner in one turn");
	(void)serve(NLMPROC_UNLOCK, 3, 5, 4);
	(void)serve(NLMPROC_LOCK, 4, 6, 4);
	turn();
	answer(true);
	turn();
	ok(receive() && got.n == 1 && got.asks[0].svid == 6,
	    "LOCK is not answered at once: no other of its owner is asked");
	(void)serve(NLMPROC_LOCK, 5, 5, 4);
	answer(false);
	turn();
	ok(!receive(), "nor one that comes now");
	let_threads_ask(4);
	wait_replies(5);
	ok(asked.types[0] == LOCKS_LOCK && asked.types[1] == LOCKS_UNLOCK &&
		asked.types[2] == LOCKS_UNLOCK && asked.types[3] == LOCKS_LOCK,
	    "file threads ask in their order");
	begin();
	(void)serve(NLMPROC_UNLOCK, 6, 5, 4);
	turn();
	ok(receive() && got.n == 1, "afterwards it is asked for at once again");
	answer(false);
	wait_replies(1);
}

static void
ends(void)
{
	begin();
	asked.gone = true;
	(void)serve(NLMPROC_LOCK, 1, 1, 4);
	(void)serve(NLMPROC_LOCK, 2, 2, 4);
	turn();
	(void)serve(NLMPROC_LOCK, 3, 3, 4);
	close(role);
	role = -1;
	let_threads_ask(3);
	wait_replies(3);
	ok(replies.stats[0] == LOCKS_GRACE && replies.stats[1] == LOCKS_GRACE &&
		replies.stats[2] == LOCKS_GRACE,
	    "the locks role ends: its clients are told of grace");
	cmp_ok(atomic_load(&asked.n), "==", 3, "file threads asked again");
	(void)serve(NLMPROC_LOCK, 4, 4, 4);
	let_threads_ask(1);
	wait_replies(4);
	cmp_ok(atomic_load(&asked.n), "==", 4, "as they do without a channel");
	cmp_ok(rpc_server_in_flight(server), "==", 0, "none is left");
	asked.gone = false;
}

/* The kernel has no memory for a message. */
static void
unsent(void)
{
	begin();
	(void)serve(NLMPROC_LOCK, 1, 1, 4);
	unsendable = true;
	turn();
	unsendable = false;
	let_threads_ask(1);
	wait_replies(1);
	ok(replies.stats[0] == LOCKS_ROFS && atomic_load(&asked.n) == 1,
	    "a question that cannot be sent goes to a file thread");
	(void)serve(NLMPROC_LOCK, 2, 2, 4);
	turn();
	ok(receive() && got.n == 1, "the next is sent as before");
	answer(false);
	wait_replies(2);
}

static void
limits(void)
{
	unsigned int i, n, most = 0;

	begin();
	for (i = 0; i < PARKING_MAX; i++)
		(void)serve(NLMPROC_LOCK, i, 100 + i, 4);
	for (i = 0; i < 2; i++)
		(void)serve(NLMPROC_LOCK, PARKING_MAX + i, 99 - i, 4);
	cmp_ok(serve(NLMPROC_UNLOCK, PARKING_MAX + 2, 100, 4), "==", RPC_BUSY,
	    "a call that must not overtake a parked one finds no room");
	let_threads_ask(2);
	wait_replies(2);
	ok(replies.tickets[0] >= PARKING_MAX &&
		replies.tickets[1] >= PARKING_MAX && atomic_load(&asked.n) == 2,
	    "more calls than may be parked go to file threads");
	for (n = 0; n < PARKING_MAX; n += got.n) {
		turn();
		if (!receive())
			break;
		most = got.n > most ? got.n : most;
		answer(false);
	}
	wait_replies(PARKING_MAX + 2);
	ok(n == PARKING_MAX && most == LOCKS_TOGETHER,
	    "all are asked, %d together at most", LOCKS_TOGETHER);
	for (i = 2; i < replies.n && replies.tickets[i] == i - 2; i++)
		continue;
	cmp_ok(i, "==", PARKING_MAX + 2, "and answered in their order");
}

/* Calls whose names are long fill a message sooner. */
static void
long_names(void)
{
	unsigned int i, n = 0, messages;

	begin();
	for (i = 0; i < 2 * LOCKS_TOGETHER; i++)
		(void)serve(NLMPROC_LOCK, i, i, LOCKS_TEXT_MAX);
	turn();
	for (messages = 0; receive() && messages < 4; messages++) {
		n += got.n;
		answer(false);
		turn();
	}
	ok(n == 2 * LOCKS_TOGETHER && replies.n == n && messages == 2,
	    "the longest names");
}

/* More calls need a file thread than have room there. */
static void
crowded(void)
{
	unsigned int i, n = 0;

	begin();
	for (i = 0; i < 20; i++)
		n += serve(NLMPROC_LOCK, i, i, 4) == RPC_DEFERRED;
	turn();
	ok(n == 20 && receive() && got.n == 20, "twenty calls");
	answer(true);
	turn();
	cmp_ok(replies.n, "==", 0, "all need a file thread");
	let_threads_ask(20);
	wait_replies(20);
	ok(atomic_load(&asked.n) == 20 && rpc_server_in_flight(server) == 0,
	    "all get one in the end");
}

static bool
is_good(struct locks_answer *a, size_t len, bool brief)
{
	uint8_t bytes[LOCKS_ANSWER_MAX + 8];
	struct slice s = { bytes, len };
	const uint8_t *owner;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, a, sizeof(*a));
	return answer_get(&s, brief, a, &owner) && s.len == 0;
}

static void
lies(void)
{
	struct locks_answer a = { .stat = LOCKS_LATER };
	size_t size = sizeof(a);

	ok(is_good(&a, size, true), "LATER to a brief question");
	ok(!is_good(&a, size, false), "not to another");
	a.stat = LOCKS_LATER + 1;
	ok(!is_good(&a, size, true), "a status that there is not");
	a.stat = LOCKS_DENIED;
	a.owner_len = LOCKS_TEXT_MAX;
	ok(is_good(&a, size + LOCKS_TEXT_MAX, true), "the longest owner");
	ok(!is_good(&a, size + LOCKS_TEXT_MAX - 1, true), "a part of it");
	a.owner_len++;
	ok(!is_good(&a, size + LOCKS_TEXT_MAX + 1, true), "a longer one");
	a.owner_len = UINT32_MAX;
	ok(!is_good(&a, size, true), "one without end");
	a.owner_len = 0;
	ok(!is_good(&a, size - 1, true), "a part of an answer");
	memset(&a.admitted, 2, 1);
	ok(!is_good(&a, size, true), "a byte that is no bool");
}

static void
start(size_t queue_max)
{
	static const struct rpc_prog *const progs[] = { &nlm_program };
	struct rpc_hooks hooks;

	memset(&nlm, 0, sizeof(nlm));
	nlm.may_park = may_park;
	nlm.park = park;
	nlm.asked = asked_about;
	nlm.ask = ask;
	hooks = nlm_hooks(&nlm);
	server = rpc_server_new(progs, 1, &hooks);
	parking = parking_new(base, &nlm);
	pool = rpc_pool_new(base, THREADS, queue_max, NULL, NULL);
	rpc_server_set_pool(server, pool);
}

static void
stop(void)
{
	rpc_pool_free(pool);
	parking_free(parking);
	rpc_server_free(server);
}

int
main(void)
{
	plan(NO_PLAN);
	log_init("test");
	base = event_base_new();
	(void)sem_init(&asked.go, 0, 0);
	start(REPLIES_MAX);
	together();
	prompt();
	order();
	ends();
	unsent();
	limits();
	long_names();
	stop();
	start(3);
	crowded();
	lies();
	stop();
	done_testing();
}
