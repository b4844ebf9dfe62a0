/* SPDX-License-Identifier: ISC */
/*
 * See janitor.h.
 * Runs in: nfsd worker.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsd/cache/janitor.h"

struct janitor {
	pthread_mutex_t lock;
	pthread_cond_t more;
	bool running, hurry;
	void (*chore)(void *);
	void *arg;
	size_t n, room;
	int fds[];
};

struct janitor *
janitor_new(size_t room)
{
	struct janitor *j = calloc(1, sizeof(*j) + room * sizeof(j->fds[0]));

	if (j == NULL)
		fatal("janitor");
	j->room = room;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->more, NULL);
	return j;
}

void
janitor_free(struct janitor *j)
{
	pthread_cond_destroy(&j->more);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

bool
janitor_leave(struct janitor *j, int fd)
{
	bool taken;

	pthread_mutex_lock(&j->lock);
	taken = j->running && j->n < j->room;
	if (taken) {
		j->fds[j->n++] = fd;
		pthread_cond_signal(&j->more);
	}
	pthread_mutex_unlock(&j->lock);
	return taken;
}

void
janitor_wake(struct janitor *j)
{
	pthread_mutex_lock(&j->lock);
	j->hurry = true;
	pthread_cond_signal(&j->more);
	pthread_mutex_unlock(&j->lock);
}

/* Closes what was left to it, for at most a second; the lock is held. */
static void
close_left(struct janitor *j)
{
	struct timespec until = clock_after(1000);
	int fd;

	while (j->n > 0 ||
	    (!j->hurry &&
		pthread_cond_clockwait(&j->more, &j->lock, CLOCK_MONOTONIC,
		    &until) == 0)) {
		if (j->n == 0)
			continue;
		fd = j->fds[--j->n];
		pthread_mutex_unlock(&j->lock);
		close(fd);
		pthread_mutex_lock(&j->lock);
	}
}

static void *
janitor(void *arg)
{
	struct janitor *j = arg;

	pthread_mutex_lock(&j->lock);
	j->running = true;
	pthread_cond_broadcast(&j->more);
	for (;;) {
		close_left(j);
		j->hurry = false;
		pthread_mutex_unlock(&j->lock);
		j->chore(j->arg);
		pthread_mutex_lock(&j->lock);
	}
	return NULL;
}

void
janitor_start(struct janitor *j, void (*chore)(void *), void *arg)
{
	pthread_t thread;

	j->chore = chore;
	j->arg = arg;
	if (pthread_create(&thread, NULL, janitor, j) != 0)
		fatal("janitor");
	pthread_detach(thread);
	pthread_mutex_lock(&j->lock);
	while (!j->running)
		pthread_cond_wait(&j->more, &j->lock);
	pthread_mutex_unlock(&j->lock);
}
