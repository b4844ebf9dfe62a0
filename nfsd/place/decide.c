/* SPDX-License-Identifier: ISC */
/*
 * Which worker gives connections to which: see nfsd/place/decide.h.
 * Runs in: nfsd parent.
 */
#include "nfsd/place/decide.h"

/* Nothing has come of what this worker was asked: it is left alone. */
static void
learn(struct place_past *p, uint64_t now_ms)
{
	if (!p->owes || now_ms < p->not_before_ms)
		return;
	p->owes = false;
	p->wait_ms = p->wait_ms == 0 ? PLACE_WAIT_MS : p->wait_ms * 2;
	if (p->wait_ms > PLACE_WAIT_MAX)
		p->wait_ms = PLACE_WAIT_MAX;
	p->not_before_ms = now_ms + p->wait_ms;
}

static void
ask(struct place_past *p, uint64_t now_ms)
{
	p->owes = true;
	p->not_before_ms = now_ms + PLACE_SETTLE_MS;
}

/* It has done what it was asked. */
static void
answered(struct place_past *p)
{
	p->owes = false;
	p->wait_ms = 0;
}

/*
 * The busiest worker that may give, or the least busy one that may take. Returns
 * the number of workers if there is none.
 */
static unsigned int
choose(const struct place_memory *m, const struct place_look *look, bool gives)
{
	const struct place_worker *w, *best = NULL;
	unsigned int i, found = look->n;

	for (i = 0; i < look->n; i++) {
		w = &look->workers[i];
		if (!w->serves || look->now_ms < m->past[i].not_before_ms ||
		    (gives ? w->busy < PLACE_BUSY :
			     w->asked || w->busy > PLACE_FREE))
			continue;
		if (best == NULL ||
		    (gives ? w->busy > best->busy : w->busy < best->busy)) {
			best = w;
			found = i;
		}
	}
	return found;
}

void
place_decide(struct place_memory *m, const struct place_look *look,
    struct place_plan *plan)
{
	/* All can be reached at once, and an eighth of them again each second. */
	const struct bucket_rate rate = { .per_second = look->n / 8 + 1,
		.burst = 2 * (uint64_t)look->n };
	uint32_t unused = look->unused;
	struct place_move *move;
	unsigned int i;

	for (i = 0; i < look->n; i++)
		learn(&m->past[i], look->now_ms);
	for (plan->n = 0; unused >= PLACE_SPARE && plan->n < look->n / 2;
	     plan->n++) {
		move = &plan->moves[plan->n];
		move->from = choose(m, look, true);
		move->to = choose(m, look, false);
		if (move->from == look->n || move->to == look->n ||
		    !bucket_take(&m->moves, &rate, 1, look->now_ms))
			break;
		ask(&m->past[move->to], look->now_ms);
		m->past[move->from].not_before_ms =
		    look->now_ms + PLACE_SETTLE_MS;
		unused -= unused < PLACE_ONE ? unused : PLACE_ONE;
	}
}

void
place_accepted(struct place_memory *m, const struct place_move *move,
    uint64_t now_ms)
{
	answered(&m->past[move->to]);
	m->past[move->to].not_before_ms = now_ms + PLACE_SETTLE_MS;
	ask(&m->past[move->from], now_ms);
}

void
place_given(struct place_memory *m, unsigned int worker)
{
	answered(&m->past[worker]);
}

bool
place_is_busy(const struct place_look *look)
{
	unsigned int i;

	for (i = 0; i < look->n; i++)
		if (look->workers[i].busy >= PLACE_BUSY)
			return true;
	return false;
}
