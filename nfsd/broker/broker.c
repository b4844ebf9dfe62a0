/* SPDX-License-Identifier: ISC */
/*
 * Channels and questions. A question is one row of a table: its size and its
 * descriptors are checked before its handler runs, as for all messages between
 * processes. A handler that leaves no answer means that the worker broke the
 * rules.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/channel.h"

_Static_assert(BROKER_GROUPS_MAX == RPC_GROUPS_MAX, "those of a call fit");
_Static_assert(BROKER_NAME_MAX == INODE_NAME_MAX, "a table holds its names");
_Static_assert(BROKER_SEAL_MAX <= IPC_FDS_MAX, "one message carries them");

struct broker *
broker_new(const struct fh_keys *keys, enum nfsd_mode mode)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (b == NULL)
		fatal("broker");
	active_init(&b->active);
	b->keys = *keys;
	b->mode = mode;
	b->self = geteuid();
	return b;
}

void
broker_free(struct broker *b)
{
	if (b == NULL)
		return;
	active_clear(&b->active);
	free(b);
}

void
broker_manage_groups(struct broker *b, const struct groups_table *table)
{
	b->groups = table;
}

void
broker_set_user(struct broker *b, uid_t uid)
{
	b->self = uid;
}

void
broker_set_exports(struct broker *b, struct served_exports *x)
{
	broker_own_tables(x);
	broker_sort_inner(x);
	active_swap(&b->active, x);
}

struct broker_tally *
broker_tally_new(unsigned int channels)
{
	struct broker_tally *tally = calloc(1, sizeof(*tally));

	if (tally != NULL)
		atomic_init(&tally->channels, channels);
	return tally;
}

struct broker_channel *
broker_channel_new(struct broker *b, struct broker_tally *tally)
{
	struct broker_channel *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->broker = b;
	c->question = malloc(BROKER_QUESTION_MAX);
	if (c->question != NULL)
		c->tally = tally != NULL ? tally : broker_tally_new(1);
	if (c->tally != NULL)
		return c;
	free(c->question);
	free(c);
	return NULL;
}

void
broker_channel_lock_only(struct broker_channel *c)
{
	c->lock_only = true;
}

void
broker_channel_free(struct broker_channel *c)
{
	if (c == NULL)
		return;
	if (atomic_fetch_sub(&c->tally->channels, 1) == 1)
		free(c->tally);
	free(c->question);
	free(c);
}

/* What an answer says of an error: never 0. */
static int32_t
error_now(void)
{
	return errno == 0 ? EIO : errno;
}

static bool
are_groups(const struct broker_open *q)
{
	return q->ngids <= BROKER_GROUPS_MAX || q->ngids == BROKER_MANAGED;
}

static bool
is_lock(uint32_t want)
{
	return want == BROKER_LOCK || want == BROKER_LOCK_WRITE ||
	    want == BROKER_LOCK_ANY;
}

static void
on_open(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_reply *reply = c->reply;
	struct broker_opened a = { 0, 0 };
	struct broker_open q;

	memcpy(&q, m->data, sizeof(q));
	if (q.want >= BROKER_WANTS || !are_groups(&q) ||
	    is_lock(q.want) != c->lock_only)
		return;
	reply->fd = broker_open_file(c, &q, &a.both);
	if (reply->fd == -1)
		a.error = error_now();
	reply->answer.opened = a;
	reply->len = sizeof(a);
}

static void
on_seal(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_sealed *a = &c->reply->answer.sealed;
	struct broker_seal q;

	memcpy(&q, m->data, sizeof(q));
	if (q.n != m->nfds || q.names_len != m->len - sizeof(q) ||
	    q.export_id > UINT16_MAX || (q.n == 0 && q.names_len != 0))
		return;
	if (q.n == 0) {
		broker_seal_root(c, &q, &a->list[0]);
		c->reply->len = sizeof(a->list[0]);
	} else if (broker_seal_files(c, &q, (const char *)m->data + sizeof(q),
		       m->fds, a))
		c->reply->len = q.n * sizeof(a->list[0]);
}

static void
on_link(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	const char *name = (const char *)m->data + sizeof(struct broker_link);
	struct broker_linked a = { 0 };
	struct broker_link q;

	memcpy(&q, m->data, sizeof(q));
	if (q.name_len != m->len - sizeof(q) || !are_groups(&q.file) ||
	    strnlen(name, q.name_len) != q.name_len - 1 ||
	    !broker_is_name(name))
		return;
	if (broker_link_file(c, &q, name) == -1)
		a.error = error_now();
	c->reply->answer.linked = a;
	c->reply->len = sizeof(a);
}

static void
on_sync(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_synced a = { 0 };
	struct broker_sync q;

	memcpy(&q, m->data, sizeof(q));
	if (broker_sync_file(c, &q) == -1)
		a.error = error_now();
	c->reply->answer.synced = a;
	c->reply->len = sizeof(a);
}

static void
on_chmod(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_chmoded a = { 0 };
	struct broker_chmod q;

	memcpy(&q, m->data, sizeof(q));
	if (!are_groups(&q.dir) || (q.mode & ~07777u) != 0)
		return;
	if (broker_chmod_dir(c, &q) == -1)
		a.error = error_now();
	c->reply->answer.chmoded = a;
	c->reply->len = sizeof(a);
}

static void
on_get_acl(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_got_acl *a = &c->reply->answer.got_acl;
	struct broker_acl q;

	memcpy(&q, m->data, sizeof(q));
	if (!are_groups(&q.file) || q.is_default > 1 || q.n != 0)
		return;
	a->error = 0;
	a->n = 0;
	if (broker_get_acl(c, &q, a) == -1) {
		a->error = error_now();
		a->n = 0;
	}
	c->reply->len = offsetof(struct broker_got_acl, list[a->n]);
}

static void
on_set_acl(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_ace list[BROKER_ACL_MAX];
	struct broker_acl_set a = { 0 };
	struct broker_acl q;

	memcpy(&q, m->data, sizeof(q));
	if (!are_groups(&q.file) || q.is_default > 1 || q.n > BROKER_ACL_MAX ||
	    m->len - sizeof(q) != q.n * sizeof(list[0]))
		return;
	memcpy(list, m->data + sizeof(q), q.n * sizeof(list[0]));
	if (broker_set_acl(c, &q, list) == -1)
		a.error = error_now();
	c->reply->answer.acl_set = a;
	c->reply->len = sizeof(a);
}

static void
on_get_quota(void *arg, struct ipc_message *m)
{
	struct broker_channel *c = arg;
	struct broker_got_quota *a = &c->reply->answer.got_quota;
	struct broker_quota q;

	memcpy(&q, m->data, sizeof(q));
	if (!are_groups(&q.file) || q.of_group > 1)
		return;
	memset(a, 0, sizeof(*a));
	if (broker_get_quota(c, &q, a) == -1)
		a->error = error_now();
	c->reply->len = sizeof(*a);
}

/* clang-format off */
static const struct ipc_row rows[BROKER_QUESTIONS] = {
	[BROKER_OPEN] = { "open", sizeof(struct broker_open), sizeof(struct broker_open), 0, 0, on_open },
	[BROKER_SEAL] = { "seal", sizeof(struct broker_seal), BROKER_QUESTION_MAX, 0, BROKER_SEAL_MAX, on_seal },
	[BROKER_LINK] = { "link", sizeof(struct broker_link) + 2, sizeof(struct broker_link) + INODE_NAME_MAX + 1, 0, 0, on_link },
	[BROKER_SYNC] = { "sync", sizeof(struct broker_sync), sizeof(struct broker_sync), 0, 0, on_sync },
	[BROKER_GET_ACL] = { "get acl", sizeof(struct broker_acl), sizeof(struct broker_acl), 0, 0, on_get_acl },
	[BROKER_SET_ACL] = { "set acl", sizeof(struct broker_acl), sizeof(struct broker_acl) + BROKER_ACL_MAX * sizeof(struct broker_ace), 0, 0, on_set_acl },
	[BROKER_GET_QUOTA] = { "get quota", sizeof(struct broker_quota), sizeof(struct broker_quota), 0, 0, on_get_quota },
	[BROKER_CHMOD] = { "chmod", sizeof(struct broker_chmod), sizeof(struct broker_chmod), 0, 0, on_chmod },
};
/* clang-format on */

static const struct ipc_table questions = { rows, nitems(rows) };

const char *
broker_answer(struct broker_channel *c, struct ipc_message *m,
    struct broker_reply *reply)
{
	const char *why = "no exports yet";

	reply->fd = -1;
	reply->len = 0;
	reply->type = m->type + BROKER_QUESTIONS;
	c->exports = active_use(&c->broker->active);
	c->reply = reply;
	if (c->lock_only && m->type != BROKER_OPEN)
		why = "not a question of this role";
	else if (c->exports != NULL)
		why = ipc_run(&questions, c, m);
	active_done(c->exports);
	if (why == NULL && reply->len == 0)
		why = "malformed question";
	if (why == NULL && c->tally->bad > BROKER_BAD_MAX)
		why = "forged file handles";
	if (why == NULL)
		return NULL;
	if (reply->fd != -1)
		close(reply->fd);
	reply->fd = -1;
	reply->len = 0;
	return why;
}

/*
 * True when the worker has its answer. Where only the descriptor cannot be
 * sent (too many are in flight) the worker is told so, and goes on.
 */
static bool
send_reply(int fd, const struct broker_reply *reply)
{
	const struct broker_opened none = { .error = EMFILE };

	if (ipc_send(fd, reply->type, &reply->answer, reply->len, &reply->fd,
		reply->fd != -1) == 0)
		return true;
	if (reply->fd == -1 || errno == EPIPE || errno == ECONNRESET)
		return false;
	return ipc_send(fd, reply->type, &none, sizeof(none), NULL, 0) == 0;
}

/* One question from the socket; false at the end of the channel. */
static bool
serve_one(struct broker_channel *c, int fd, const char **why)
{
	struct broker_reply reply;
	int fds[IPC_FDS_MAX];
	struct ipc_message m = {
		.data = c->question, .fds = fds, .nfds = nitems(fds)
	};
	ssize_t len;
	bool sent;
	size_t i;

	len = ipc_receive(fd, &m.type, c->question, BROKER_QUESTION_MAX, fds,
	    &m.nfds);
	if (len == -1) {
		*why = errno == EBADMSG ? "not a valid message" : NULL;
		return false;
	}
	m.len = (size_t)len;
	*why = broker_answer(c, &m, &reply);
	for (i = 0; i < m.nfds; i++)
		close(fds[i]);
	if (*why != NULL)
		return false;
	sent = send_reply(fd, &reply);
	if (reply.fd != -1)
		close(reply.fd);
	return sent;
}

const char *
broker_serve(struct broker_channel *c, int fd)
{
	const char *why = NULL;

	while (serve_one(c, fd, &why))
		continue;
	return why;
}
