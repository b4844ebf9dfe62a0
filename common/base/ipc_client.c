/* SPDX-License-Identifier: ISC */
/*
 * Questions over a channel: see base/ipc_client.h.
 * Runs in: nfsd worker, nfsd nlm (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ipc_client.h"
#include "base/log.h"

void
ipc_client_init(struct ipc_client *c, int fd)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->replaced, NULL);
	c->fd = fd;
	c->gone = fd == -1;
	c->serial = 0;
}

void
ipc_client_clear(struct ipc_client *c)
{
	if (c->fd != -1)
		close(c->fd);
	pthread_cond_destroy(&c->replaced);
	pthread_mutex_destroy(&c->lock);
}

/*
 * The number of the old socket stays: a thread that waits on it holds the old
 * one until it finds it broken.
 */
void
ipc_client_replace(struct ipc_client *c, int fd)
{
	pthread_mutex_lock(&c->lock);
	if (c->fd != -1)
		(void)dup3(fd, c->fd, O_CLOEXEC);
	else {
		c->fd = fd;
		fd = -1;
	}
	c->gone = false;
	c->serial++;
	pthread_cond_broadcast(&c->replaced);
	pthread_mutex_unlock(&c->lock);
	if (fd != -1)
		close(fd);
}

bool
ipc_client_wait(struct ipc_client *c, unsigned int ms)
{
	struct timespec until = clock_after(ms);
	bool here;

	pthread_mutex_lock(&c->lock);
	while (c->gone &&
	    pthread_cond_clockwait(&c->replaced, &c->lock, CLOCK_MONOTONIC,
		&until) == 0)
		continue;
	here = !c->gone;
	pthread_mutex_unlock(&c->lock);
	return here;
}

/* Marks the channel that has this serial as broken. */
static int
broken(struct ipc_client *c, unsigned int serial)
{
	pthread_mutex_lock(&c->lock);
	if (c->serial == serial)
		c->gone = true;
	pthread_mutex_unlock(&c->lock);
	errno = EPIPE;
	return -1;
}

ssize_t
ipc_client_ask(struct ipc_client *c, const struct ipc_message *q,
    uint32_t answer, void *buf, size_t size, int *fd)
{
	unsigned int serial;
	uint32_t type;
	size_t n = 1;
	int got_fd = -1;
	ssize_t got;
	bool gone;

	pthread_mutex_lock(&c->lock);
	serial = c->serial;
	gone = c->gone;
	pthread_mutex_unlock(&c->lock);
	if (gone)
		return broken(c, serial);
	if (ipc_send(c->fd, q->type, q->data, q->len, q->fds, q->nfds) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			return broken(c, serial);
		errno = EAGAIN; /* it was not sent: nothing is lost */
		return -1;
	}
	got = ipc_receive(c->fd, &type, buf, size, &got_fd, &n);
	if (got == -1 && errno == EBADMSG) {
		errno = EMFILE; /* the answer came, its descriptor did not */
		return -1;
	}
	/* Questions and answers are out of step: only a restart helps. */
	if (got == -1 && errno != ECONNRESET)
		fatal("answer of another role");
	if (got == -1 || type != answer || (fd == NULL && n == 1)) {
		if (got != -1 && n == 1)
			close(got_fd);
		return broken(c, serial);
	}
	if (fd != NULL)
		*fd = n == 1 ? got_fd : -1;
	return got;
}
