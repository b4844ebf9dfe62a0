/* SPDX-License-Identifier: ISC */
/*
 * The worker's side of the broker: one question, one answer, on the channel of
 * the calling thread. A channel in the same process gives the same answers, so
 * tests and fuzzers need no second process.
 * Runs in: nfsd worker (event loop and file threads), tests.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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

/* Marks the channel that has this serial as broken. */
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

/* Sends the question and receives the answer. 0, or -1 with errno. */
static int
ask_socket(struct broker_client *c, const struct ipc_message *q,
    struct broker_reply *reply)
{
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
	if (ipc_send(c->fd, q->type, q->data, q->len, q->fds, q->nfds) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			return broken(c, serial);
		errno = EAGAIN; /* it was not sent: nothing is lost */
		return -1;
	}
	got = ipc_receive(c->fd, &reply->type, &reply->answer,
	    sizeof(reply->answer), &reply->fd, &n);
	if (got == -1 && errno == EBADMSG) {
		errno = EMFILE; /* the answer came, its descriptor did not */
		return -1;
	}
	/* Questions and answers are out of step: only a restart helps. */
	if (got == -1 && errno != ECONNRESET)
		fatal("answer of the broker");
	if (got != -1 && n == 1 && q->type != BROKER_OPEN) {
		close(reply->fd);
		reply->fd = -1;
		got = -1;
	}
	if (got == -1 || reply->type != q->type + BROKER_QUESTIONS)
		return broken(c, serial);
	reply->len = (size_t)got;
	return 0;
}

/*
 * Asks the broker in this process. The thread acts as the caller, which may have
 * taken the broker's capability from it.
 */
static int
ask_local(struct broker_client *c, struct ipc_message *q,
    struct broker_reply *reply)
{
	int had = cred_right(CAP_DAC_READ_SEARCH, true);
	bool good = broker_answer(c->local, q, reply) == NULL;

	if (had == 0)
		(void)cred_right(CAP_DAC_READ_SEARCH, false);
	errno = EPIPE;
	return good ? 0 : -1;
}

/* Asks over the socket, or the broker in this process. */
static int
ask(struct broker_client *c, struct ipc_message *q, struct broker_reply *reply)
{
	reply->fd = -1;
	return c->local == NULL ? ask_socket(c, q, reply) :
				  ask_local(c, q, reply);
}

int
broker_client_open(struct broker_client *c, const struct broker_open *q,
    bool *readable)
{
	struct ipc_message m = { .type = BROKER_OPEN,
		.data = (const uint8_t *)q,
		.len = sizeof(*q) };
	const struct broker_opened *a;
	struct broker_reply reply;

	if (ask(c, &m, &reply) == -1)
		return -1;
	a = &reply.answer.opened;
	if (reply.fd == -1 || reply.len != sizeof(*a)) {
		if (reply.fd != -1)
			close(reply.fd);
		errno =
		    reply.len != sizeof(*a) || a->error == 0 ? EIO : a->error;
		return -1;
	}
	*readable = a->readable != 0;
	return reply.fd;
}

int
broker_client_seal(struct broker_client *c, const struct broker_seal *q,
    const char *const *names, int *fds, struct broker_sealed *answer)
{
	struct {
		struct broker_seal head;
		char names[BROKER_NAMES_MAX];
	} question;
	struct ipc_message m = { .type = BROKER_SEAL,
		.data = (const uint8_t *)&question,
		.fds = fds,
		.nfds = q->n };
	size_t i, len, used = 0, want;
	struct broker_reply reply;

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
	m.len = sizeof(question.head) + used;
	if (ask(c, &m, &reply) == -1)
		return -1;
	want = (q->n == 0 ? 1 : q->n) * sizeof(answer->list[0]);
	if (reply.len != want) {
		errno = EPIPE;
		return -1;
	}
	memcpy(answer, &reply.answer.sealed, want);
	return 0;
}

int
broker_client_sync(struct broker_client *c, const struct broker_sync *q)
{
	struct ipc_message m = { .type = BROKER_SYNC,
		.data = (const uint8_t *)q,
		.len = sizeof(*q) };
	struct broker_reply reply;

	if (ask(c, &m, &reply) == -1)
		return -1;
	errno = reply.len == sizeof(reply.answer.synced) ?
	    reply.answer.synced.error :
	    EPIPE;
	return errno == 0 ? 0 : -1;
}

int
broker_client_link(struct broker_client *c, const struct broker_link *q,
    const char *name)
{
	struct {
		struct broker_link head;
		char name[INODE_NAME_MAX + 1];
	} question;
	struct ipc_message m = { .type = BROKER_LINK,
		.data = (const uint8_t *)&question };
	struct broker_reply reply;

	question.head = *q;
	question.head.name_len = (uint32_t)strlen(name) + 1;
	if (strlcpy(question.name, name, sizeof(question.name)) >=
	    sizeof(question.name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	m.len = sizeof(question.head) + question.head.name_len;
	if (ask(c, &m, &reply) == -1)
		return -1;
	errno = reply.len == sizeof(reply.answer.linked) ?
	    reply.answer.linked.error :
	    EPIPE;
	return errno == 0 ? 0 : -1;
}

int
broker_client_chmod(struct broker_client *c, const struct broker_chmod *q)
{
	struct ipc_message m = { .type = BROKER_CHMOD,
		.data = (const uint8_t *)q,
		.len = sizeof(*q) };
	struct broker_reply reply;

	if (ask(c, &m, &reply) == -1)
		return -1;
	errno = reply.len == sizeof(reply.answer.chmoded) ?
	    reply.answer.chmoded.error :
	    EPIPE;
	return errno == 0 ? 0 : -1;
}
