/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that are closed by another.
 * Runs in: tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/door/janitor.h"
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
	ok(!janitor_leave(idle, ends[0]), "nobody there: nothing is taken");
	janitor_free(idle);
	janitor_start(j, chore, &chores);
	ok(janitor_leave(j, ends[1]), "somebody is: it is");
	while (is_open(ends[1]))
		(void)usleep(1000);
	pass("and closed");
	ok(is_open(ends[0]), "nothing else is");
	ok(sem_wait(&chores) == 0 && sem_wait(&chores) == 0,
	    "the chore is done again and again");
	done_testing();
}
