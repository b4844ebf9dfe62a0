/* SPDX-License-Identifier: ISC */
/*
 * See sync_share.h. One sync of a file runs at a time. When it ends, the first
 * of the calls that came meanwhile begins the next one for all of them. The list
 * holds one turn per file thread at the most.
 * Runs in: nfsd worker (file threads).
 */
#include "nfsd/door/sync_share.h"

void
sync_share_init(struct sync_share *s)
{
	pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->turns);
}

void
sync_share_clear(struct sync_share *s)
{
	pthread_mutex_destroy(&s->lock);
}

static bool
is_running(const struct sync_share *s, const void *file)
{
	const struct sync_turn *t;

	TAILQ_FOREACH (t, &s->turns, entry)
		if (t->file == file && t->leader != NULL)
			return true;
	return false;
}

/* All that wait for the file now are served by the leader's sync. */
static void
lead(struct sync_share *s, const struct sync_turn *leader)
{
	struct sync_turn *t;

	TAILQ_FOREACH (t, &s->turns, entry)
		if (t->file == leader->file)
			t->leader = leader;
}

bool
sync_share_begin(struct sync_share *s, const void *file, struct sync_turn *turn)
{
	bool leads;

	turn->file = file;
	turn->leader = NULL;
	turn->done = false;
	turn->error = 0;
	pthread_cond_init(&turn->wake, NULL);
	pthread_mutex_lock(&s->lock);
	TAILQ_INSERT_TAIL(&s->turns, turn, entry);
	while (!turn->done && is_running(s, file))
		pthread_cond_wait(&turn->wake, &s->lock);
	leads = !turn->done;
	if (leads)
		lead(s, turn);
	pthread_mutex_unlock(&s->lock);
	if (!leads)
		pthread_cond_destroy(&turn->wake);
	return leads;
}

/* Wakes the calls that the sync was for, and one of those that came later. */
void
sync_share_end(struct sync_share *s, struct sync_turn *turn, int error)
{
	struct sync_turn *t, *next, *later = NULL;

	pthread_mutex_lock(&s->lock);
	for (t = TAILQ_FIRST(&s->turns); t != NULL; t = next) {
		next = TAILQ_NEXT(t, entry);
		if (t->leader == turn) {
			TAILQ_REMOVE(&s->turns, t, entry);
			t->done = true;
			t->error = error;
			pthread_cond_signal(&t->wake);
		} else if (later == NULL && t->file == turn->file)
			later = t;
	}
	if (later != NULL)
		pthread_cond_signal(&later->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_cond_destroy(&turn->wake);
}
