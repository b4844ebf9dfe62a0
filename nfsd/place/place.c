/* SPDX-License-Identifier: ISC */
/*
 * Looking and acting: see nfsd/place/place.h. The CPU time of a worker comes from
 * the kernel, so no worker can say how busy it is.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <string.h>

#include <event2/event.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/place/place.h"
#include "nfsd/place/unused.h"
#include "transport/give.h"

#define LOOK_BUSY_US  50000
#define LOOK_QUIET_US 250000
#define QUIET	      50u /* thousandths of a processor, of all workers */

/* What a worker used since the last look, in thousandths of a processor. */
static uint32_t
share_of(uint64_t *used_ns, const struct role_child *child, uint64_t past_ns)
{
	uint64_t before = *used_ns;

	*used_ns = clock_cpu_ns(role_pid(child));
	if (*used_ns < before) /* it is another process */
		return 0;
	return (uint32_t)((*used_ns - before) * PLACE_ONE / past_ns);
}

/*
 * Sets what nothing uses, as a mean over some looks: the kernel counts in ticks.
 * Where it does not tell, only the workers are known to use anything.
 */
static void
look_for_unused(struct place *p, uint32_t used, uint64_t past_ns)
{
	uint32_t all = unused_processors() * PLACE_ONE;
	uint32_t now = all > used ? all - used : 0;
	uint64_t before = p->idle_ns;

	if (unused_read(&p->idle_ns))
		now = p->idle_ns < before || before == 0 ?
		    0 :
		    (uint32_t)((p->idle_ns - before) * PLACE_ONE / past_ns);
	p->last.unused = (p->last.unused * 3 + now) / 4;
}

/* Returns what all workers have used. */
static uint32_t
look_around(struct place *p)
{
	uint64_t now_ns = clock_ns(), past_ns = now_ns - p->at_ns;
	struct place_look *look = &p->last;
	uint32_t used = 0;
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		struct role_child *child = p->worker(p->arg, i);
		struct place_worker *w = &look->workers[i];

		w->serves = role_is_current(child);
		w->asked = p->workers[i].offered == role_pid(child);
		w->busy = share_of(&p->used_ns[i], child, past_ns);
		used += w->busy;
	}
	p->at_ns = now_ns;
	look->now_ms = now_ns / 1000000;
	look->n = p->n;
	if (place_is_busy(look))
		look_for_unused(p, used, past_ns);
	else
		p->idle_ns = look->unused = 0;
	return used;
}

/* The next offer waits for the answer, however long the worker hangs. */
static void
offer(struct place *p, const struct place_move *move)
{
	struct role_child *taker = p->worker(p->arg, move->to);

	p->workers[move->to].offer = *move;
	if (role_send(taker, NFSD_OFFER, NULL, 0, NULL, 0))
		p->workers[move->to].offered = role_pid(taker);
}

static void
on_look(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct timeval next = { .tv_usec = LOOK_QUIET_US };
	struct place *p = arg;
	const struct place_move *move;
	struct place_plan plan;

	if (look_around(p) >= QUIET)
		next.tv_usec = LOOK_BUSY_US;
	place_decide(&p->memory, &p->last, &plan);
	for (move = plan.moves; move < plan.moves + plan.n; move++)
		offer(p, move);
	(void)event_add(p->look, &next);
}

void
place_on_want(struct place *p, struct role_child *child, bool wants)
{
	unsigned int worker = role_index(child);
	const struct place_move *move = &p->workers[worker].offer;

	if (p->workers[worker].offered != role_pid(child)) {
		role_restart(child, "answered what it was not asked");
		return;
	}
	p->workers[worker].offered = 0;
	if (!wants)
		return;
	place_accepted(&p->memory, move, clock_ms());
	if (!role_send(p->worker(p->arg, move->from), NFSD_GIVE, NULL, 0, NULL,
		0))
		return;
	p->workers[move->from].to = move->to;
	p->workers[move->from].left += RPC_GIVE_MAX;
}

static bool
get_name(int fd, int (*get)(int, struct sockaddr *, socklen_t *),
    struct addr *out)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return get(fd, (struct sockaddr *)&ss, &len) == 0 &&
	    addr_from_sockaddr(out, (struct sockaddr *)&ss, len) &&
	    out->family != AF_UNIX;
}

static bool
is_gone(const struct place *p, const struct addr *at)
{
	unsigned int i;

	for (i = 0; i < PLACE_LEFT_MAX; i++)
		if (addr_same_host(&p->gone[i], at))
			return true;
	return false;
}

void
place_on_given(struct place *p, struct role_child *child, struct ipc_message *m)
{
	unsigned int worker = role_index(child);
	struct role_child *taker;
	struct addr from, to;

	if (p->workers[worker].left == 0) {
		role_restart(child,
		    "it gave a connection unasked and may be compromised");
		return;
	}
	p->workers[worker].left--;
	if (!get_name(m->fds[0], getpeername, &from) ||
	    !get_name(m->fds[0], getsockname, &to))
		return;
	place_given(&p->memory, worker);
	/* If that worker has ended, the client connects again. */
	taker = p->worker(p->arg, p->workers[worker].to);
	(void)role_send(taker, NFSD_TAKE, &from, sizeof(from), m->fds, 1);
	/* The taker was told before it had this connection. */
	if (is_gone(p, &to))
		(void)role_send(taker, NFSD_ADDRESS_LEFT, &to, sizeof(to), NULL,
		    0);
}

void
place_address(struct place *p, const struct addr *at, bool here)
{
	unsigned int i;

	if (!here) {
		p->gone[p->ngone++ % PLACE_LEFT_MAX] = *at;
		return;
	}
	for (i = 0; i < PLACE_LEFT_MAX; i++)
		if (addr_same_host(&p->gone[i], at))
			memset(&p->gone[i], 0, sizeof(p->gone[i]));
}

void
place_start(struct place *p, struct event_base *base, unsigned int workers)
{
	const struct timeval soon = { .tv_usec = LOOK_QUIET_US };

	if (workers < 2)
		return;
	p->n = workers;
	p->at_ns = clock_ns();
	p->look = evtimer_new(base, on_look, p);
	if (p->look == NULL || event_add(p->look, &soon) == -1)
		fatalx("event: out of memory");
}

void
place_free(struct place *p)
{
	if (p->look != NULL)
		event_free(p->look);
}
