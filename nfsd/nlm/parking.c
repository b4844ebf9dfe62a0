/* SPDX-License-Identifier: ISC */
/*
 * Parked calls: see nlm/parking.h. Batches are a ring. The first one was asked, if
 * any was. The last one gathers.
 * Runs in: nfsd nlm (event loop), tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/ipc.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nlm/parking.h"
#include "nfsd/nlm/question.h"
#include "pool/pool.h"
#include "rpc/server.h"

#define PARKING_PAUSE 2000 /* microseconds, until file threads may have room */

/* A call that waits for its answer. */
struct parked_call {
	struct rpc_job *job;
	uint64_t owner, at_ns; /* as in order.h */
	size_t len; /* of its question; 0: it is not asked */
};

/* The calls of one message, and their questions. */
struct batch {
	unsigned int n;
	size_t len;
	struct parked_call calls[LOCKS_TOGETHER];
	uint8_t questions[LOCKS_ASKS_MAX];
};

/* The same when the answers are there. */
struct answered {
	struct rpc_job *job;
	struct locks_answer answer;
	const uint8_t *owner;
};

STAILQ_HEAD(held_calls, rpc_job);

struct parking {
	struct nlm *nlm;
	struct event_base *base;
	struct event *readable; /* NULL: no channel */
	struct event *turn_end, *pause;
	int fd;
	struct batch batches[PARKING_BATCHES];
	unsigned int first, used;
	bool asked; /* the first batch was sent */
	struct held_calls held; /* they need a file thread; none has room */
	unsigned int nheld;
};

static const struct locks_answer later = { .stat = LOCKS_LATER };

static bool
has_held(const struct parking *p, unsigned int queue)
{
	const struct rpc_job *job;

	STAILQ_FOREACH (job, &p->held, entry)
		if (job->queue == queue)
			return true;
	return false;
}

/* The call goes to the file threads, behind those of its queue. */
static void
queue_call(struct parking *p, struct rpc_job *job)
{
	static const struct timeval soon = { .tv_usec = PARKING_PAUSE };

	if (!has_held(p, job->queue) && rpc_server_queue(job))
		return;
	STAILQ_INSERT_TAIL(&p->held, job, entry);
	p->nheld++;
	if (!evtimer_pending(p->pause, NULL))
		(void)event_add(p->pause, &soon);
}

static void
on_pause_over(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct parking *p = arg;
	struct held_calls all = STAILQ_HEAD_INITIALIZER(all);
	struct rpc_job *job;

	STAILQ_CONCAT(&all, &p->held);
	p->nheld = 0;
	while ((job = STAILQ_FIRST(&all)) != NULL) {
		STAILQ_REMOVE_HEAD(&all, entry);
		queue_call(p, job);
	}
}

/* The call runs again, with its answer. */
static void
resume(struct parking *p, struct rpc_job *job, const struct locks_answer *a,
    const uint8_t *owner)
{
	p->nlm->answer = *a;
	p->nlm->answer_owner = owner;
	if (!rpc_server_resume(job))
		queue_call(p, job);
}

/* Takes the calls of the first batch, whose place is free then. */
static unsigned int
take_first(struct parking *p, struct parked_call calls[LOCKS_TOGETHER])
{
	struct batch *b = &p->batches[p->first];
	unsigned int n = b->n;

	memcpy(calls, b->calls, n * sizeof(calls[0]));
	b->n = 0;
	b->len = 0;
	p->first = (p->first + 1) % PARKING_BATCHES;
	p->used--;
	p->asked = false;
	return n;
}

/* The calls of the first batch go to the file threads. */
static void
give_up_first(struct parking *p)
{
	struct parked_call calls[LOCKS_TOGETHER];
	unsigned int i, n = take_first(p, calls);

	for (i = 0; i < n; i++)
		resume(p, calls[i].job, &later, NULL);
}

/* There is no channel any more. File threads wait for the next one. */
static void
close_channel(struct parking *p)
{
	if (p->readable == NULL)
		return;
	event_free(p->readable);
	p->readable = NULL;
	close(p->fd);
	while (p->used > 0)
		give_up_first(p);
}

/*
 * Takes out the questions of owners that have a call on a file thread by now. A
 * later call must go there behind it.
 */
static void
keep_order(struct parking *p, struct batch *b)
{
	struct parked_call *c;
	size_t at = 0;

	for (c = b->calls; c < b->calls + b->n; c++) {
		if (!order_has(&p->nlm->order, c->owner, c->at_ns)) {
			at += c->len;
			continue;
		}
		b->len -= c->len;
		memmove(b->questions + at, b->questions + at + c->len,
		    b->len - at);
		c->len = 0;
	}
}

/* Sends the next questions, if none is without its answer. */
static void
ask_next(struct parking *p)
{
	struct batch *b = &p->batches[p->first];

	while (!p->asked && p->used > 0) {
		b = &p->batches[p->first];
		keep_order(p, b);
		if (b->len == 0) {
			give_up_first(p);
			continue;
		}
		p->asked = true;
		if (ipc_send(p->fd, LOCKS_ASK, b->questions, b->len, NULL, 0) ==
		    0)
			continue;
		if (errno == EPIPE || errno == ECONNRESET)
			close_channel(p);
		else /* not sent, for want of memory */
			give_up_first(p);
	}
}

/* Takes the first batch with its answers. Returns the number of its calls. */
static unsigned int
match(struct parking *p, struct slice answers,
    struct answered out[LOCKS_TOGETHER])
{
	struct parked_call calls[LOCKS_TOGETHER];
	unsigned int i, n;

	if (!p->asked)
		fatalx("locks: answer without a question");
	n = take_first(p, calls);
	for (i = 0; i < n; i++) {
		out[i] = (struct answered){ calls[i].job, later, NULL };
		if (calls[i].len > 0 &&
		    !answer_get(&answers, true, &out[i].answer, &out[i].owner))
			fatalx("locks: malformed answer");
	}
	if (answers.len > 0)
		fatalx("locks: malformed answer");
	return n;
}

/*
 * First the calls that go to file threads, since those of their owners that are
 * parked must not be asked. Then the locks role goes on with the next questions,
 * while replies are sent.
 */
static void
take_answers(struct parking *p, struct slice answers)
{
	struct answered all[LOCKS_TOGETHER], *a;
	struct answered *end = all + match(p, answers, all);

	for (a = all; a < end; a++)
		if (a->answer.stat == LOCKS_LATER)
			resume(p, a->job, &a->answer, a->owner);
	ask_next(p);
	for (a = all; a < end; a++)
		if (a->answer.stat != LOCKS_LATER)
			resume(p, a->job, &a->answer, a->owner);
}

/* Takes the answers of one message, if they are there. */
static void
receive(struct parking *p)
{
	uint8_t buf[LOCKS_ANSWERS_MAX];
	size_t nfds = 0;
	uint32_t type;
	ssize_t len;
	int none;

	len = ipc_receive(p->fd, &type, buf, sizeof(buf), &none, &nfds);
	if (len == -1 && errno == EAGAIN)
		return;
	if ((len == -1 && errno == EBADMSG) ||
	    (len != -1 && type != LOCKS_ANSWER))
		fatalx("locks: malformed answer");
	if (len == -1)
		close_channel(p);
	else
		take_answers(p, (struct slice){ buf, (size_t)len });
}

static void
on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	receive(arg);
}

static unsigned int
count_parked(const struct parking *p)
{
	unsigned int i, n = 0;

	for (i = 0; i < PARKING_BATCHES; i++)
		n += p->batches[i].n;
	return n;
}

/*
 * The kernel often lets the locks role run as soon as it is asked. Then its answer
 * is there, and the event loop need not wait for it.
 */
static void
on_turn_end(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct parking *p = arg;
	bool waits = p->asked;

	ask_next(p);
	p->nlm->asked(p->nlm->arg, count_parked(p));
	if (!waits && p->asked)
		receive(p);
}

struct parking *
parking_new(struct event_base *base, struct nlm *nlm)
{
	struct parking *p = calloc(1, sizeof(*p));

	if (p == NULL)
		fatal("parked calls");
	p->nlm = nlm;
	p->base = base;
	STAILQ_INIT(&p->held);
	p->turn_end = event_new(base, -1, 0, on_turn_end, p);
	p->pause = evtimer_new(base, on_pause_over, p);
	if (p->turn_end == NULL || p->pause == NULL)
		fatalx("event: out of memory");
	return p;
}

void
parking_free(struct parking *p)
{
	close_channel(p);
	event_free(p->turn_end);
	event_free(p->pause);
	free(p);
}

void
parking_set_channel(struct parking *p, int fd)
{
	close_channel(p);
	p->fd = fd;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
		fatal("channel of questions");
	p->readable =
	    event_new(p->base, fd, EV_READ | EV_PERSIST, on_readable, p);
	if (p->readable == NULL || event_add(p->readable, NULL) == -1)
		fatalx("event: out of memory");
}

/* Does the last batch gather, and has it room for a question of this length? */
static bool
has_room(const struct parking *p, size_t len)
{
	const struct batch *b =
	    &p->batches[(p->first + p->used - 1) % PARKING_BATCHES];

	return p->used > (p->asked ? 1u : 0u) && b->n < LOCKS_TOGETHER &&
	    len <= sizeof(b->questions) - b->len;
}

static bool
is_full(const struct parking *p, size_t len)
{
	return p->readable == NULL || p->nheld >= PARKING_MAX ||
	    (p->used == PARKING_BATCHES && !has_room(p, len));
}

static bool
has_owner(const struct batch *b, uint64_t owner)
{
	const struct parked_call *c = b->calls;

	while (c < b->calls + b->n && c->owner != owner)
		c++;
	return c < b->calls + b->n;
}

bool
parking_may_add(const struct parking *p, uint64_t owner, unsigned int queue)
{
	unsigned int i;

	if (!is_full(p, LOCKS_ASK_MAX))
		return true;
	for (i = 0; i < PARKING_BATCHES; i++)
		if (has_owner(&p->batches[i], owner))
			return true;
	return has_held(p, queue);
}

bool
parking_add(struct parking *p, const struct call_ctx *ctx, struct rpc_job *job)
{
	const struct nlm_question *q = &ctx->question;
	size_t len = sizeof(q->ask) + q->name.len + q->owner.len;
	struct batch *b;

	if (is_full(p, len))
		return false;
	if (!has_room(p, len))
		p->used++;
	b = &p->batches[(p->first + p->used - 1) % PARKING_BATCHES];
	(void)question_put(q, b->questions + b->len,
	    sizeof(b->questions) - b->len);
	b->calls[b->n++] =
	    (struct parked_call){ job, ctx->owner, ctx->call->started_ns, len };
	b->len += len;
	event_active(p->turn_end, EV_TIMEOUT, 0);
	return true;
}
