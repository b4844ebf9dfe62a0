/* SPDX-License-Identifier: ISC */
/*
 * The side of the role that asks the broker: one question, one answer, on the channel of
 * the calling thread. A channel in the same process gives the same answers, so
 * tests and fuzzers need no second process.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks, tests.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc_client.h"
#include "base/log.h"
#include "nfsd/broker/broker.h"
#include "nfsd/broker/inode_table.h"

struct broker_client {
	struct ipc_client channel;
	struct broker_channel *local;
};

struct broker_client *
broker_client_new(int fd, struct broker_channel *local)
{
	struct broker_client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		fatal("broker client");
	ipc_client_init(&c->channel, fd);
	c->local = local;
	return c;
}

void
broker_client_free(struct broker_client *c)
{
	if (c == NULL)
		return;
	ipc_client_clear(&c->channel);
	broker_channel_free(c->local);
	free(c);
}

void
broker_client_replace(struct broker_client *c, int fd)
{
	ipc_client_replace(&c->channel, fd);
}

bool
broker_client_wait(struct broker_client *c, unsigned int ms)
{
	return ipc_client_wait(&c->channel, ms);
}

void
broker_client_caller(struct broker_open *q, const struct cred *cred)
{
	q->uid = cred->uid;
	q->gid = cred->gid;
	q->ngids = cred->managed ? BROKER_MANAGED : cred->ngids;
	if (!cred->managed)
		memcpy(q->gids, cred->gids, q->ngids * sizeof(q->gids[0]));
}

/* Sends the question and receives the answer. 0, or -1 with errno. */
static int
ask_socket(struct broker_client *c, const struct ipc_message *q,
    struct broker_reply *reply)
{
	ssize_t got;

	reply->type = q->type + BROKER_QUESTIONS;
	got = ipc_client_ask(&c->channel, q, reply->type, &reply->answer,
	    sizeof(reply->answer), q->type == BROKER_OPEN ? &reply->fd : NULL);
	if (got == -1)
		return -1;
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
    bool *both)
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
	*both = a->both != 0;
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
	for (i = 0; names != NULL && i < q->n; i++) {
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

int
broker_client_get_acl(struct broker_client *c, const struct broker_acl *q,
    struct broker_got_acl *answer)
{
	struct ipc_message m = { .type = BROKER_GET_ACL,
		.data = (const uint8_t *)q,
		.len = sizeof(*q) };
	const struct broker_got_acl *a;
	struct broker_reply reply;

	if (ask(c, &m, &reply) == -1)
		return -1;
	a = &reply.answer.got_acl;
	if (reply.len < offsetof(struct broker_got_acl, list) ||
	    a->n > BROKER_ACL_MAX ||
	    reply.len != offsetof(struct broker_got_acl, list[a->n])) {
		errno = EPIPE;
		return -1;
	}
	memcpy(answer, a, reply.len);
	errno = a->error;
	return a->error == 0 ? 0 : -1;
}

int
broker_client_get_quota(struct broker_client *c, const struct broker_quota *q,
    struct broker_got_quota *answer)
{
	struct ipc_message m = { .type = BROKER_GET_QUOTA,
		.data = (const uint8_t *)q,
		.len = sizeof(*q) };
	struct broker_reply reply;

	if (ask(c, &m, &reply) == -1)
		return -1;
	*answer = reply.answer.got_quota;
	errno = reply.len == sizeof(*answer) ? answer->error : EPIPE;
	return errno == 0 ? 0 : -1;
}

int
broker_client_set_acl(struct broker_client *c, const struct broker_acl *q,
    const struct broker_ace *list)
{
	struct {
		struct broker_acl head;
		struct broker_ace list[BROKER_ACL_MAX];
	} question;
	struct ipc_message m = { .type = BROKER_SET_ACL,
		.data = (const uint8_t *)&question,
		.len = sizeof(question.head) + q->n * sizeof(list[0]) };
	struct broker_reply reply;

	question.head = *q;
	memcpy(question.list, list, q->n * sizeof(list[0]));
	if (ask(c, &m, &reply) == -1)
		return -1;
	errno = reply.len == sizeof(reply.answer.acl_set) ?
	    reply.answer.acl_set.error :
	    EPIPE;
	return errno == 0 ? 0 : -1;
}
