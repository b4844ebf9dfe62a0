/* SPDX-License-Identifier: ISC */
/*
 * The asking side of the broker: one question, one answer, on the channel of
 * the calling thread. The same answers come from a channel in the same
 * process, so tests and fuzzers run everything above without a second one.
 * Runs in: nfsd worker (event loop and file threads), tests.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ipc.h"
#include "base/log.h"
#include "nfsd/broker/broker.h"
#include "nfsd/broker/inode_table.h"

struct broker_client {
	pthread_mutex_t lock; /* of fd, for broker_client_replace() */
	pthread_cond_t replaced;
	int fd;
	bool gone; /* the channel broke */
	unsigned int serial; /* of the channel */
	struct broker_channel *local;
};

struct broker_client *
broker_client_new(int fd, struct broker_channel *local)
{
	struct broker_client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		fatal("broker client");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->replaced, NULL);
	c->fd = fd;
	c->gone = fd == -1;
	c->local = local;
	return c;
}

void
broker_client_free(struct broker_client *c)
{
	if (c == NULL)
		return;
	if (c->fd != -1)
		close(c->fd);
	broker_channel_free(c->local);
	pthread_cond_destroy(&c->replaced);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/*
 * The number of the old socket stays: a thread that waits on it holds the old
 * one until it finds it broken.
 */
void
broker_client_replace(struct broker_client *c, int fd)
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
broker_client_wait(struct broker_client *c, unsigned int ms)
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

/* The channel that had this serial is of no use any more. */
static int
broken(struct broker_client *c, unsigned int serial)
{
	pthread_mutex_lock(&c->lock);
	if (c->serial == serial)
		c->gone = true;
	pthread_mutex_unlock(&c->lock);
	errno = EPIPE;
	return -1;
}

/* Sends and receives over the socket; the answer's length, or -1. */
static ssize_t
ask_socket(struct broker_client *c, uint32_t type, const void *question,
    size_t len, const int *fds, size_t nfds, struct broker_sealed *answer,
    int *fd)
{
	uint32_t answer_type = BROKER_TYPES;
	unsigned int serial;
	size_t n = 1;
	ssize_t got;
	bool gone;

	pthread_mutex_lock(&c->lock);
	serial = c->serial;
	gone = c->gone;
	pthread_mutex_unlock(&c->lock);
	if (gone)
		return broken(c, serial);
	if (ipc_send(c->fd, type, question, len, fds, nfds) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			return broken(c, serial);
		errno = EAGAIN; /* it was not sent: nothing is lost */
		return -1;
	}
	got = ipc_receive(c->fd, &answer_type, answer, sizeof(*answer), fd, &n);
	if (got == -1 && errno == EBADMSG) {
		errno = EMFILE; /* the answer came, its descriptor did not */
		return -1;
	}
	/* Questions and answers are out of step, for ever: start anew. */
	if (got == -1 && errno != ECONNRESET)
		fatal("answer of the broker");
	if (got != -1 && n == 1 && type != BROKER_OPEN) {
		close(*fd);
		*fd = -1;
		got = -1;
	}
	if (got == -1 || answer_type != type + BROKER_OPENED)
		return broken(c, serial);
	return got;
}

static ssize_t
ask(struct broker_client *c, uint32_t type, const void *question, size_t len,
    const int *fds, size_t nfds, struct broker_sealed *answer, int *fd)
{
	uint32_t answer_type;
	size_t got;

	*fd = -1;
	if (c->local == NULL)
		return ask_socket(c, type, question, len, fds, nfds, answer,
		    fd);
	got = broker_answer(c->local, type, question, len, fds, nfds, answer,
	    &answer_type, fd);
	if (got > 0)
		return (ssize_t)got;
	errno = EPIPE;
	return -1;
}

int
broker_client_open(struct broker_client *c, const struct broker_open *q,
    bool *readable)
{
	struct broker_sealed answer;
	struct broker_opened a;
	ssize_t len;
	int fd;

	len = ask(c, BROKER_OPEN, q, sizeof(*q), NULL, 0, &answer, &fd);
	if (len == -1)
		return -1;
	memcpy(&a, &answer, sizeof(a));
	if (fd == -1 || len != (ssize_t)sizeof(a)) {
		if (fd != -1)
			close(fd);
		errno = a.error == 0 ? EIO : a.error;
		return -1;
	}
	*readable = a.readable != 0;
	return fd;
}

int
broker_client_seal(struct broker_client *c, const struct broker_seal *q,
    const char *const *names, const int *fds, struct broker_sealed *answer)
{
	struct {
		struct broker_seal head;
		char names[BROKER_NAMES_MAX];
	} question;
	size_t i, len, used = 0;
	ssize_t got;
	int fd;

	question.head = *q;
	for (i = 0; i < q->n; i++) {
		len = strlen(names[i]) + 1;
		if (len > sizeof(question.names) - used) {
			errno = EINVAL;
			return -1;
		}
		memcpy(question.names + used, names[i], len);
		used += len;
	}
	question.head.names_len = (uint32_t)used;
	got = ask(c, BROKER_SEAL, &question, sizeof(question.head) + used, fds,
	    q->n, answer, &fd);
	if (got == (ssize_t)((q->n == 0 ? 1 : q->n) * sizeof(answer->list[0])))
		return 0;
	if (got != -1)
		errno = EPIPE;
	return -1;
}

int
broker_client_link(struct broker_client *c, const struct broker_link *q,
    const char *name)
{
	struct {
		struct broker_link head;
		char name[INODE_NAME_MAX + 1];
	} question;
	struct broker_sealed answer;
	struct broker_linked a;
	ssize_t got;
	int fd;

	question.head = *q;
	question.head.name_len = (uint32_t)strlen(name) + 1;
	if (strlcpy(question.name, name, sizeof(question.name)) >=
	    sizeof(question.name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	got = ask(c, BROKER_LINK, &question,
	    sizeof(question.head) + question.head.name_len, NULL, 0, &answer,
	    &fd);
	if (got == -1)
		return -1;
	memcpy(&a, &answer, sizeof(a));
	errno = got == (ssize_t)sizeof(a) ? a.error : EPIPE;
	return errno == 0 ? 0 : -1;
}
