/* SPDX-License-Identifier: ISC */
/*
 * From questions of nlm to their answers. LOCK, TEST and SHARE pass the same
 * steps as a call of NFS: client, handle, caller; then the broker opens the
 * file if the caller has any right to it. UNLOCK, CANCEL and UNSHARE need no
 * right: they only give up what the client has, even of a file that is gone.
 * A caller that locks the same file again a moment later need not be judged
 * again, as long as the ctime tells that neither mode, owner nor ACL has changed.
 *
 * Locks travel in the clear. Where an export demands TLS, that counts which the
 * same address has proved by TLS a short time ago.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/broker.h"
#include "nfsd/locks/server.h"
#include "nfsd/roles/proven.h"

#define BROKER_MS    3000 /* how long a restarting broker is waited for */
#define BROKER_TRIES 4 /* the exports are being replaced */
#define RIGHT_MS     1000 /* groups of a user may change unseen */

/* One question while it is answered. */
struct asked {
	struct locks_thread *thread;
	struct table_ask q;
	const struct rpc_proc *proc;
	struct rpc_peer peer;
	struct rpc_call call;
	struct peer_identity id;
	bool refused;
	struct judged judged;
	struct locks_file *file; /* pinned; NULL: the broker opened it */
	struct locks_answer answer;
	uint8_t owner[LOCKS_TEXT_MAX];
};

/* What the same address has proved by TLS, if the export demands it. */
static void
find_identity(struct asked *a)
{
	const struct locks_server *s = a->thread->server;
	const struct served_exports *x =
	    atomic_load(&a->thread->judge.held.list);
	const struct served_export *e;
	enum export_names names =
	    fh_is_utf16(&a->q.ask->fh) ? NAMES_UTF16LE : NAMES_BYTES;

	e = x == NULL ? NULL : served_listed(x, fh_export_id(&a->q.ask->fh));
	if (s->proven == NULL || e == NULL ||
	    proven_client(s->proven, e->conf, &a->peer.from, names, clock_ms(),
		&a->id) == NULL ||
	    a->id.security == PEER_PLAIN)
		return;
	a->id.key = hash_bytes(&s->key, &a->id, sizeof(a->id)) | 1;
	a->peer.identity = &a->id;
}

/* A client is told less than the log: it asks for a lock, not for a reason. */
static enum locks_stat
judge(struct asked *a, const struct fh *fh, struct cred *cred)
{
	static const enum locks_stat verdicts[] = {
		[JUDGE_PASSES] = LOCKS_GRANTED,
		[JUDGE_MALFORMED] = LOCKS_STALE,
		[JUDGE_STALE] = LOCKS_STALE,
		[JUDGE_REFUSED] = LOCKS_NOLOCKS,
	};
	const struct judge_case c = { &a->thread->judge, &a->call,
		&a->refused };
	const struct locks_ask *ask = a->q.ask;
	enum judge_verdict verdict;
	bool writes = ask->exclusive || (ask->share_access & 2) != 0;

	find_identity(a);
	verdict = judge_client_of(&c, fh, &a->judged);
	if (verdict != JUDGE_PASSES)
		return verdicts[verdict];
	if (!judge_check_tag(&c, a->judged.export, fh))
		return LOCKS_STALE;
	a->answer.admitted = true;
	if (writes && !a->judged.options->rw)
		return LOCKS_ROFS;
	if (ask->cred.flavor != AUTH_SYS && !a->judged.options->no_auth_nlm)
		return LOCKS_NOLOCKS;
	switch (judge_squash(&c, a->judged.options, cred)) {
	case JUDGE_ACTS:
		break;
	case JUDGE_NOBODY:
		return LOCKS_NOLOCKS;
	case JUDGE_GROUPS:
		if (ask->brief)
			return LOCKS_LATER;
		/* A client asks again after "grace". */
		if (!judge_await(&a->thread->server->judge.groups,
			a->judged.options, cred))
			return LOCKS_GRACE;
		break;
	}
	return LOCKS_GRANTED;
}

static enum locks_stat
status(const struct asked *a, int error)
{
	char text[ADDR_STRLEN];

	switch (error) {
	case EAGAIN: /* the export is not there: a client asks again */
		return LOCKS_GRACE;
	case ESTALE:
	case ENOENT:
	case BROKER_FORGED:
		return LOCKS_STALE;
	case EROFS:
		return LOCKS_ROFS;
	case EISDIR:
	case ENOTDIR:
	case EINVAL:
		return LOCKS_FAILED;
	}
	if (log_permit("locks file",
		addr_hash(&a->peer.from) ^ (uint64_t)error))
		log_info("refused %s from %s: %s: export %s", a->proc->name,
		    addr_print(&a->peer.from, text),
		    error == EACCES ? "its user has no right to the file" :
				      strerror(error),
		    a->judged.export->path);
	return LOCKS_NOLOCKS;
}

/* What the broker is asked for. */
static struct broker_open
right_of(const struct asked *a, const struct fh *fh, const struct cred *cred)
{
	struct broker_open q = { .fh = *fh,
		.want = a->judged.options->no_auth_nlm ? BROKER_LOCK_ANY :
		    a->q.ask->exclusive		       ? BROKER_LOCK_WRITE :
							 BROKER_LOCK };

	broker_client_caller(&q, cred);
	return q;
}

/* The broker opens the file as the caller. */
static int
ask_broker(const struct asked *a, const struct broker_open *q, bool *writable)
{
	struct broker_client *broker = a->thread->broker;
	unsigned int tries;
	int fd = -1;

	for (tries = 0; fd == -1 && tries < BROKER_TRIES; tries++) {
		fd = broker_client_open(broker, q, writable);
		if (fd == -1 && errno != EAGAIN &&
		    (errno != EPIPE || !broker_client_wait(broker, BROKER_MS)))
			break;
	}
	return fd;
}

uint64_t
right_key(const struct locks_server *s, const struct broker_open *q,
    const struct cred *cred, uint32_t generation)
{
	const uint64_t parts[] = { hash_bytes(&s->key, &q->fh, sizeof(q->fh)),
		cred_key(cred), (uint64_t)generation << 32 | q->want };

	return hash_bytes(&s->key, parts, sizeof(parts)) | 1;
}

bool
right_has(const struct locks_server *s, uint64_t key,
    const struct timespec *ctime)
{
	const struct right *r = &s->rights[key / 2 % SERVER_RIGHTS];

	return r->key == key && r->ctime.tv_sec == ctime->tv_sec &&
	    r->ctime.tv_nsec == ctime->tv_nsec && clock_ms() < r->until_ms;
}

void
right_add(struct locks_server *s, uint64_t key, const struct timespec *ctime,
    const struct timespec *before)
{
	if (!clock_settled(ctime, before))
		return;
	s->rights[key / 2 % SERVER_RIGHTS] = (struct right){
		.key = key, .ctime = *ctime, .until_ms = clock_ms() + RIGHT_MS
	};
}

/*
 * Is the file locked already, and had the caller the right to it a moment ago?
 * Then the table's own descriptor will do.
 */
static bool
is_known(struct asked *a, const struct broker_open *q, uint64_t right,
    struct table_opened *o)
{
	struct locks_server *s = a->thread->server;
	struct locks_file *f;
	struct stat st;
	bool known;

	server_lock(s);
	f = table_pin(s->table, &q->fh, o);
	known = f != NULL && !o->slow &&
	    (o->writable || !a->q.ask->exclusive) && fstat(o->fd, &st) == 0 &&
	    st.st_nlink > 0 && right_has(s, right, &st.st_ctim);
	o->fd = -1;
	if (f != NULL && !known)
		table_unpin(s->table, f);
	server_unlock_brief(s);
	a->file = known ? f : NULL;
	return known;
}

/* The broker judges the caller and opens the file. */
static enum locks_stat
open_anew(struct asked *a, const struct broker_open *q, uint64_t right,
    struct table_opened *o)
{
	struct locks_server *s = a->thread->server;
	struct timespec before = clock_wall();
	struct stat st;

	o->fd = ask_broker(a, q, &o->writable);
	if (o->fd == -1)
		return status(a, errno);
	if (fstat(o->fd, &st) == -1)
		return status(a, errno);
	if (st.st_nlink == 0)
		return LOCKS_STALE; /* removed, but still open somewhere */
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->export_id = a->judged.export->id;
	o->root = a->judged.export->dev;
	o->slow = !a->judged.export->local_metadata;
	o->ambiguous = a->judged.export->ino_ambiguous;
	server_lock(s);
	right_add(s, right, &st.st_ctim, &before);
	server_unlock_brief(s);
	return LOCKS_GRANTED;
}

/* From the handle to a file that can be locked. */
static enum locks_stat
open_file(struct asked *a, struct table_opened *o)
{
	struct fh fh = a->q.ask->fh;
	enum locks_stat stat;
	struct broker_open q;
	struct cred cred;
	uint64_t right;

	fh_normalize(&fh);
	stat = judge(a, &fh, &cred);
	if (stat != LOCKS_GRANTED)
		return stat;
	q = right_of(a, &fh, &cred);
	right = right_key(a->thread->server, &q, &cred,
	    atomic_load(&a->thread->judge.held.generation));
	if (is_known(a, &q, right, o))
		return LOCKS_GRANTED;
	return a->q.ask->brief ? LOCKS_LATER : open_anew(a, &q, right, o);
}

static enum locks_stat
run_test(struct asked *a, struct table_opened *o)
{
	return table_test(a->thread->server->table, &a->q, o, &a->answer,
	    a->owner);
}

static enum locks_stat
run_lock(struct asked *a, struct table_opened *o)
{
	return table_lock(a->thread->server->table, &a->q, o);
}

static enum locks_stat
run_share(struct asked *a, struct table_opened *o)
{
	return table_share(a->thread->server->table, &a->q, o);
}

static enum locks_stat
run_cancel(struct asked *a, struct table_opened *o UNUSED)
{
	return table_cancel(a->thread->server->table, &a->q);
}

static enum locks_stat
run_unlock(struct asked *a, struct table_opened *o UNUSED)
{
	return table_unlock(a->thread->server->table, &a->q);
}

static enum locks_stat
run_unshare(struct asked *a, struct table_opened *o UNUSED)
{
	return table_unshare(a->thread->server->table, &a->q);
}

static enum locks_stat
run_free(struct asked *a, struct table_opened *o UNUSED)
{
	return table_free_client(a->thread->server->table, &a->q);
}

/* The questions. judged: it passes the door and opens the file. */
static const struct {
	struct rpc_proc proc; /* its name is for the log */
	bool judged;
	enum locks_stat (*run)(struct asked *, struct table_opened *);
} questions[LOCKS_QUESTIONS] = {
	[LOCKS_TEST] = { { .name = "NLM TEST" }, true, run_test },
	[LOCKS_LOCK] = { { .name = "NLM LOCK" }, true, run_lock },
	[LOCKS_CANCEL] = { { .name = "NLM CANCEL" }, false, run_cancel },
	[LOCKS_UNLOCK] = { { .name = "NLM UNLOCK" }, false, run_unlock },
	[LOCKS_SHARE] = { { .name = "NLM SHARE" }, true, run_share },
	[LOCKS_UNSHARE] = { { .name = "NLM UNSHARE" }, false, run_unshare },
	[LOCKS_FREE] = { { .name = "NLM FREE_ALL" }, false, run_free },
};

/*
 * What is given back needs no right. But may its sender be called back? If it
 * has something to free it may, else if the export of the handle admits it.
 */
static bool
is_admitted(struct asked *a, uint32_t type)
{
	const struct served_exports *x =
	    atomic_load(&a->thread->judge.held.list);
	const struct fh *fh = &a->q.ask->fh;
	const struct served_export *e;

	if (type == LOCKS_FREE)
		return a->answer.stat == LOCKS_BLOCKED;
	e = x == NULL ? NULL : served_listed(x, fh_export_id(fh));
	if (e == NULL)
		return false;
	find_identity(a);
	return judge_client(&a->thread->judge, e, fh_is_utf16(fh), &a->peer,
		   NULL) != NULL;
}

bool
server_is_gone(void *arg, const struct table_opened *o)
{
	struct locks_server *s = arg;
	struct served_exports *x = active_use(&s->judge.active);
	const struct served_export *e =
	    x == NULL ? NULL : served_listed(x, (uint16_t)o->export_id);
	bool gone = e == NULL || e->root == -1 || e->dev != o->root;

	active_done(x);
	return gone;
}

/* No client gets a lock before the parent named those that may reclaim. */
static enum locks_stat
ask_table(struct asked *a, uint32_t type, struct table_opened *o)
{
	struct locks_server *s = a->thread->server;
	bool judged = questions[type].judged;

	if (!judged)
		a->answer.admitted = table_knows(s->table, &a->peer.from);
	if (judged && !s->begun)
		return LOCKS_GRACE;
	/* It was opened, and then unmounted. */
	if (o->fd != -1 && server_is_gone(s, o))
		return LOCKS_GRACE;
	if (a->q.ask->brief && !table_is_ready(s->table, &a->q, judged))
		return LOCKS_LATER;
	return questions[type].run(a, o);
}

static enum locks_stat
run(struct asked *a, uint32_t type)
{
	struct locks_server *s = a->thread->server;
	struct table_opened o = { .fd = -1 };
	enum locks_stat stat = LOCKS_GRANTED;

	if (questions[type].judged)
		stat = open_file(a, &o);
	if (stat == LOCKS_GRANTED) {
		server_lock(s);
		stat = ask_table(a, type, &o);
		if (a->file != NULL)
			table_unpin(s->table, a->file);
		if (a->q.ask->brief)
			server_unlock_brief(s);
		else
			server_unlock(s);
	}
	if (o.fd != -1)
		close(o.fd);
	return stat;
}

/* A byte of another process is no bool before it was looked at. */
static bool
has_bools(const uint8_t *data)
{
	static const size_t at[] = { offsetof(struct locks_ask, exclusive),
		offsetof(struct locks_ask, block),
		offsetof(struct locks_ask, reclaim),
		offsetof(struct locks_ask, monitored),
		offsetof(struct locks_ask, proven),
		offsetof(struct locks_ask, brief) };
	size_t i;

	for (i = 0; i < nitems(at); i++)
		if (data[at[i]] > 1)
			return false;
	return true;
}

/* May nlm ask this? A restart of a client is asked alone. */
static bool
is_question(const struct locks_ask *q)
{
	return q->type < LOCKS_QUESTIONS &&
	    (q->type != LOCKS_FREE || !q->brief) &&
	    q->client.name_len <= LOCKS_TEXT_MAX &&
	    q->owner_len <= LOCKS_TEXT_MAX && q->cred.ngids <= RPC_GROUPS_MAX &&
	    q->client.vers <= 4 &&
	    (q->client.kind == RPC_UDP || q->client.kind == RPC_TCP) &&
	    (q->client.from.family == AF_INET ||
		q->client.from.family == AF_INET6);
}

/*
 * Copies the first question of a message if nlm may ask it. Returns its length
 * with the bytes behind it, or 0.
 */
static size_t
take(struct locks_ask *q, const uint8_t *data, size_t len)
{
	size_t text;

	if (len < sizeof(*q) || !has_bools(data))
		return 0;
	memcpy(q, data, sizeof(*q));
	if (!is_question(q))
		return 0;
	text = (size_t)q->client.name_len + q->owner_len;
	return text <= len - sizeof(*q) ? sizeof(*q) + text : 0;
}

/* Nothing is answered of a message that breaks the rules. */
static const char *
check_all(const uint8_t *data, size_t len)
{
	struct locks_ask q;
	unsigned int n;
	size_t at, used;

	if (len == 0)
		return "no question";
	for (n = 0, at = 0; at < len; n++, at += used) {
		if (n == LOCKS_TOGETHER)
			return "too many questions";
		used = take(&q, data + at, len - at);
		if (used == 0)
			return "malformed question";
		if (!q.brief && used < len)
			return "a question that may wait is not alone";
	}
	return NULL;
}

static void
prepare(struct asked *a, struct locks_thread *t, const struct locks_ask *q,
    const uint8_t *behind)
{
	a->thread = t;
	a->q = (struct table_ask){ q, behind, behind + q->client.name_len };
	a->proc = &questions[q->type].proc;
	a->peer = (struct rpc_peer){ .from = q->client.from,
		.to = q->client.to,
		.kind = (enum rpc_transport_kind)q->client.kind };
	a->call = (struct rpc_call){ .peer = &a->peer,
		.proc = a->proc,
		.cred = q->cred,
		.may_block = true };
	a->refused = false;
	a->judged = (struct judged){ .export = NULL };
	a->file = NULL;
	memset(&a->answer, 0, sizeof(a->answer));
}

/* Owners whose question in this message is one for a file thread. */
struct later {
	unsigned int n;
	struct {
		int32_t svid;
		struct fh fh;
	} owners[LOCKS_TOGETHER];
};

/* What an owner asked later must not overtake that. Two clients may look alike. */
static bool
must_follow(const struct later *l, const struct locks_ask *q)
{
	unsigned int i = 0;

	while (i < l->n &&
	    (l->owners[i].svid != q->svid ||
		memcmp(&l->owners[i].fh, &q->fh, sizeof(q->fh)) != 0))
		i++;
	return i < l->n;
}

static void
note_later(struct later *l, const struct locks_ask *q)
{
	l->owners[l->n].svid = q->svid;
	l->owners[l->n++].fh = q->fh;
}

/* Answers one question. Returns the length of the answer. */
static size_t
answer_one(struct asked *a, struct later *l, uint8_t *out)
{
	const struct locks_ask *q = a->q.ask;
	struct locks_stats *stats = a->thread->server->stats;
	uint32_t type = q->type;

	a->answer.stat = must_follow(l, q) ? LOCKS_LATER : run(a, type);
	if (!questions[type].judged)
		a->answer.admitted = is_admitted(a, type);
	if (a->answer.stat == LOCKS_LATER)
		note_later(l, q);
	else if (stats != NULL)
		atomic_fetch_add_explicit(&stats->answers[type][a->answer.stat],
		    1, memory_order_relaxed);
	memcpy(out, &a->answer, sizeof(a->answer));
	memcpy(out + sizeof(a->answer), a->owner, a->answer.owner_len);
	return sizeof(a->answer) + a->answer.owner_len;
}

const char *
server_answer(struct locks_thread *t, const uint8_t *data, size_t len,
    uint8_t *out, size_t *out_len)
{
	const char *why = check_all(data, len);
	struct later l;
	struct locks_ask q;
	struct asked a;
	size_t at, used;

	if (why != NULL)
		return why;
	l.n = 0;
	*out_len = 0;
	atomic_store(&t->answers, true);
	(void)judge_hold(&t->judge, false);
	for (at = 0; at < len; at += used) {
		used = take(&q, data + at, len - at);
		prepare(&a, t, &q, data + at + sizeof(q));
		*out_len += answer_one(&a, &l, out + *out_len);
	}
	atomic_store(&t->answers, false);
	thread_release(t);
	return NULL;
}

static void
on_reply(void *arg, struct ipc_message *m)
{
	struct locks_server *s = arg;
	struct locks_reply reply;

	memcpy(&reply, m->data, sizeof(reply));
	server_lock(s);
	table_reply(s->table, &reply);
	server_unlock(s);
}

static void
on_heard(void *arg, struct ipc_message *m)
{
	struct locks_server *s = arg;
	struct locks_listed l;

	memcpy(&l, m->data, sizeof(l));
	if (l.client.name_len != m->len - sizeof(l))
		return;
	server_lock(s);
	table_heard(s->table, &l, (const char *)m->data + sizeof(l));
	server_unlock(s);
}

/* clang-format off */
static const struct ipc_row event_rows[LOCKS_EVENTS] = {
	[LOCKS_REPLY] = { "reply", sizeof(struct locks_reply), sizeof(struct locks_reply), 0, 0, on_reply },
	[LOCKS_HEARD] = { "heard", sizeof(struct locks_listed), LOCKS_LISTED_MAX, 0, 0, on_heard },
};
/* clang-format on */

static const struct ipc_table events = { event_rows, nitems(event_rows) };

const char *
server_event(struct locks_server *s, struct ipc_message *m)
{
	return ipc_run(&events, s, m);
}
