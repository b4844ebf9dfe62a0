/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that the janitor thread closes.
 * Runs in: tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/cache/janitor.h"
#include "tap.h"

static sem_t chores;

static void
chore(void *arg)
{
	if (arg == &chores)
		sem_post(&chores);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1 || errno != EBADF;
}

int
main(void)
{
	struct janitor *j = janitor_new(4), *idle = janitor_new(1);
	int ends[2];

	plan(NO_PLAN);
	if (pipe(ends) == -1 || sem_init(&chores, 0, 0) == -1)
		return 1;
	ok(!janitor_leave(idle, ends[0]),
	    "a janitor without a thread takes nothing");
	janitor_free(idle);
	janitor_start(j, chore, &chores);
	ok(janitor_leave(j, ends[1]), "a running janitor takes a descriptor");
	while (is_open(ends[1]))
		(void)usleep(1000);
	pass("the descriptor is closed");
	ok(is_open(ends[0]), "no other descriptor is closed");
	ok(sem_wait(&chores) == 0 && sem_wait(&chores) == 0,
	    "the chore runs repeatedly");
	done_testing();
}
