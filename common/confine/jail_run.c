/* SPDX-License-Identifier: ISC */
/*
 * See jail_run.h.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ipc.h"
#include "confine/jail_run.h"

/* Kills a child. It and the earlier ones are reaped as far as possible. */
static void
put_down(struct jail_children *c, pid_t pid)
{
	pid_t *one, *room = NULL;

	(void)kill(pid, SIGKILL);
	for (one = c->unreaped; one < c->unreaped + nitems(c->unreaped);
	     one++) {
		if (*one != 0 && waitpid(*one, NULL, WNOHANG) != 0)
			*one = 0;
		if (*one == 0)
			room = one;
	}
	if (room != NULL)
		*room = pid;
}

void
jail_answer_clear(struct jail_answer *a)
{
	if (a->root.fd != -1)
		close(a->root.fd);
	if (a->tree != -1)
		close(a->tree);
	free(a->real);
	a->root.fd = a->tree = -1;
	a->real = NULL;
}

/* Stores one answer and takes over its descriptors. */
static void
take_answer(struct jail_heard *h, uint32_t type, const struct jail_found *found,
    int fds[2], size_t nfds)
{
	struct jail_answer *a = &h->answers[found->word.which];

	a->answered = true;
	a->error = found->word.error;
	if (type != JAIL_SAY_FOUND || nfds == 0)
		return;
	a->root = found->root;
	a->root.fd = fds[0];
	a->tree = nfds == 2 ? fds[1] : -1;
	a->real = strndup(found->real, sizeof(found->real) - 1);
}

/* Stores one message. Returns false if it was the last. */
static bool
take(struct jail_heard *h, uint32_t type, const struct jail_found *found,
    int fds[2], size_t nfds)
{
	if (type == JAIL_SAY_SPACES && nfds == 2) {
		h->spaces[0] = fds[0];
		h->spaces[1] = fds[1];
	} else if ((type == JAIL_SAY_FOUND || type == JAIL_SAY_ABSENT) &&
	    found->word.which < h->n)
		take_answer(h, type, found, fds, nfds);
	else if (type == JAIL_SAY_FAILED)
		h->error = found->word.error != 0 ? found->word.error : EIO;
	else if (type == JAIL_SAY_DONE)
		h->done = true;
	return type != JAIL_SAY_FAILED && type != JAIL_SAY_DONE;
}

/* Waits for a message until the time is over, and then looks once more. */
static bool
has_message(int fd, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now;
	int n;

	do {
		now = clock_ms();
		n = poll(&p, 1, now < until ? (int)(until - now) : 0);
	} while (n <= 0 && now < until);
	return n == 1;
}

/*
 * Hears the child until it has finished, has died, or the time is over. What the
 * child has said by then counts, even if this process got no processor to read it in
 * time. No child says more than one thing of each path, and a few of its own.
 */
static void
hear(int fd, struct jail_heard *h)
{
	uint64_t until = clock_ms() + JAIL_WAIT_MS;
	struct jail_found found;
	uint32_t type;
	size_t nfds, left = h->n + 4;
	int fds[2];

	h->error = ETIMEDOUT;
	while (left-- > 0 && has_message(fd, until)) {
		nfds = 2;
		memset(&found, 0, sizeof(found));
		if (ipc_receive(fd, &type, &found, sizeof(found), fds, &nfds) <
		    (ssize_t)sizeof(found.word)) {
			h->error = EIO;
			return;
		}
		if (!take(h, type, &found, fds, nfds))
			return;
	}
}

void
jail_run_end(struct jail_children *c)
{
	if (c->channel == -1)
		return;
	close(c->channel);
	c->channel = -1;
	put_down(c, c->late);
}

bool
jail_run(void (*child)(const struct jail_plan *), struct jail_plan *plan,
    struct jail_heard *h, struct jail_children *c, bool may_be_late)
{
	int pair[2];
	pid_t pid;

	h->spaces[0] = h->spaces[1] = -1;
	h->done = false;
	h->error = 0;
	if (ipc_pair(pair) == -1) {
		h->error = errno;
		return false;
	}
	pid = fork();
	if (pid == 0) {
		plan->channel = pair[1];
		child(plan);
		_exit(1);
	}
	close(pair[1]);
	if (pid == -1) {
		h->error = errno;
		close(pair[0]);
		return false;
	}
	hear(pair[0], h);
	if (may_be_late && !h->done && h->error == ETIMEDOUT) {
		c->late = pid;
		c->channel = pair[0];
		return false;
	}
	close(pair[0]);
	if (h->done)
		(void)waitpid(pid, NULL, 0);
	else
		put_down(c, pid);
	return h->done;
}
