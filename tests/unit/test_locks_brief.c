/* SPDX-License-Identifier: ISC */
/*
 * Questions of nlm's event loop: they are answered only if that waits for
 * nothing. The right to lock that the broker judged is used again as long as
 * nothing of it can have changed. Links: nfsd
 * Runs in: tests.
 */
#include <sys/stat.h>

#include "../fuzz/locks_files.h"
#include "base/clock.h"
#include "base/ipc.h"
#include "nfsd/locks/server.h"
#include "nfsd/locks/state.h"
#include "nfsd/roles/proven.h"
#include "tap.h"

static struct locks_server server;
static struct locks_thread thread;
static struct locks_ask ask;
static struct locks_answer answer;
static bool malformed;

static enum locks_stat
question(enum locks_question type, bool brief)
{
	uint8_t in[LOCKS_ASK_MAX], out[LOCKS_ANSWERS_MAX];
	size_t n;

	ask.type = type;
	ask.brief = brief;
	memcpy(in, &ask, sizeof(ask));
	malformed = server_answer(&thread, in, sizeof(ask), out, &n) != NULL;
	if (malformed)
		return LOCKS_FAILED;
	memcpy(&answer, out, sizeof(answer));
	return answer.stat;
}

/* A file thread asks until the event loop need not ask it any more. */
static bool
becomes_known(void)
{
	uint64_t end = clock_ms() + 10000;

	while (clock_ms() < end) {
		if (question(LOCKS_LOCK, false) != LOCKS_GRANTED)
			return false;
		if (question(LOCKS_LOCK, true) == LOCKS_GRANTED)
			return true;
	}
	return false;
}

/* The file that is locked. */
static struct locks_file *
locked(void)
{
	struct table_opened o;
	struct locks_file *f;

	server_lock(&server);
	f = table_pin(server.table, &handles[0], &o);
	if (f == NULL)
		BAIL_OUT("the file is not locked");
	table_unpin(server.table, f);
	server_unlock(&server);
	return f;
}

static void
files(void)
{
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "a file that is not locked needs the broker");
	cmp_ok(question(LOCKS_UNLOCK, true), "==", LOCKS_GRANTED,
	    "to give nothing back needs nobody");
	ok(becomes_known(), "a file that is locked, and a right: at once");
	ok(answer.admitted, "the client may be called back");
	ask.svid = 2;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_DENIED,
	    "a conflict is found as well");
	ask.block = true;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_BLOCKED, "so it waits");
	cmp_ok(question(LOCKS_CANCEL, true), "==", LOCKS_GRANTED, "or no more");
	ask.block = false;
	cmp_ok(question(LOCKS_TEST, true), "==", LOCKS_DENIED, "TEST");
	ask.svid = 1;
	cmp_ok(server.nclosing, "==", 0, "nothing is to be closed");
	ok(question(LOCKS_UNLOCK, true) == LOCKS_GRANTED &&
		server.nclosing == 1,
	    "after the last unlock the keeper closes the file");
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "and the broker is asked again");
	(void)question(LOCKS_FREE, true);
	ok(malformed, "FREE_ALL is no brief question");
}

static void
waits(void)
{
	struct locks_listed l = { .state = 3 };
	struct locks_file *f;

	ok(becomes_known(), "known");
	f = locked();
	f->busy = true;
	ok(question(LOCKS_LOCK, true) == LOCKS_LATER &&
		question(LOCKS_UNLOCK, true) == LOCKS_LATER,
	    "a file that another thread is busy with");
	f->busy = false;
	f->opened.slow = true;
	ok(question(LOCKS_LOCK, true) == LOCKS_LATER &&
		question(LOCKS_UNLOCK, true) == LOCKS_LATER,
	    "a file on a filesystem that may hang");
	f->opened.slow = false;
	f->nranges += 60000;
	ok(question(LOCKS_LOCK, true) == LOCKS_LATER &&
		question(LOCKS_UNLOCK, true) == LOCKS_LATER,
	    "a file whose ranges the kernel would search for long");
	f->nranges -= 60000;
	ask.client.from.bytes[3] = 9;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "a client that is not on disk yet");
	ask.monitored = true;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "also if it wants to be");
	ask.monitored = false;
	ask.client.from.bytes[3] = 1;
	l.client = ask.client;
	server_lock(&server);
	table_listed(server.table, &l, "");
	table_grace(server.table, 45);
	server_unlock(&server);
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER, "grace");
	server_lock(&server);
	table_unlist(server.table);
	server_unlock(&server);
}

static void
rights(void)
{
	struct stat st;

	ok(becomes_known(), "known");
	ask.cred.uid = 12345;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "another user is judged by the broker");
	ask.cred.uid = 0;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_GRANTED,
	    "the first not");
	if (fstatat(root, "a", &st, 0) == -1 ||
	    fchmodat(root, "a", 0640, 0) == -1)
		BAIL_OUT("chmod");
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "a new mode: it is judged again");
	ok(becomes_known(), "known");
	judge_set_exports(&server.judge, locks_files_exports());
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "new exports: it is judged again");
	ok(becomes_known(), "known");
	ask.exclusive = true;
	locked()->opened.writable = false;
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER,
	    "a descriptor that cannot write takes no write lock");
	locked()->opened.writable = true;
	if (unlinkat(root, "a", 0) == -1)
		BAIL_OUT("unlink");
	cmp_ok(question(LOCKS_LOCK, true), "==", LOCKS_LATER, "a removed file");
	cmp_ok(question(LOCKS_LOCK, false), "==", LOCKS_STALE, "is stale");
	cmp_ok(question(LOCKS_UNLOCK, true), "==", LOCKS_GRANTED,
	    "it can be unlocked");
}

/* Asks n questions in one message. Returns how nlm broke the rules, or NULL. */
static const char *
questions(struct locks_ask *q, unsigned int n, struct locks_answer *answers)
{
	static uint8_t out[LOCKS_ANSWERS_MAX];
	size_t len = 0;
	const char *why =
	    server_answer(&thread, (uint8_t *)q, n * sizeof(*q), out, &len);

	if (why == NULL && len == n * sizeof(*answers))
		memcpy(answers, out, len);
	return why;
}

/* The questions of one turn of nlm's event loop. */
static void
together(void)
{
	static struct locks_ask q[LOCKS_TOGETHER + 1];
	struct locks_answer a[LOCKS_TOGETHER];
	unsigned int i;

	ok(becomes_known(), "known");
	ask.type = LOCKS_LOCK;
	ask.brief = true;
	for (i = 0; i <= LOCKS_TOGETHER; i++)
		q[i] = ask;
	q[1].svid = 2;
	q[2].type = LOCKS_UNLOCK;
	q[3].svid = 2;
	q[4].fh = handles[1];
	ok(questions(q, 5, a) == NULL && a[0].stat == LOCKS_GRANTED &&
		a[1].stat == LOCKS_DENIED && a[2].stat == LOCKS_GRANTED &&
		a[3].stat == LOCKS_LATER && a[4].stat == LOCKS_LATER,
	    "five questions are answered in their order");
	q[3] = q[4];
	q[3].type = LOCKS_UNLOCK;
	ok(questions(q + 3, 1, a) == NULL && a[0].stat == LOCKS_GRANTED,
	    "one alone");
	q[2] = q[4];
	ok(questions(q + 2, 2, a) == NULL && a[0].stat == LOCKS_LATER &&
		a[1].stat == LOCKS_LATER,
	    "UNLOCK does not overtake a LOCK that needs the broker");
	q[2].svid = 2;
	ok(questions(q + 2, 2, a) == NULL && a[0].stat == LOCKS_LATER &&
		a[1].stat == LOCKS_GRANTED,
	    "that of another owner does");
	ok(questions(q, 0, a) != NULL, "none is no message");
	q[2] = q[3] = q[4] = ask;
	ok(questions(q, LOCKS_TOGETHER, a) == NULL, "as many as there may be");
	ok(questions(q, LOCKS_TOGETHER + 1, a) != NULL, "not one more");
	q[2].type = LOCKS_LOCK;
	q[3].type = LOCKS_QUESTIONS;
	(void)question(LOCKS_UNLOCK, true);
	ok(questions(q, 4, a) != NULL, "one that there is not");
	q[3] = ask;
	q[3].brief = false;
	ok(questions(q, 4, a) != NULL, "one that may wait");
	q[3] = ask;
	q[3].owner_len = 1;
	ok(questions(q, 4, a) != NULL, "one whose text is missing");
	ask.svid = 7;
	cmp_ok(question(LOCKS_TEST, false), "==", LOCKS_GRANTED,
	    "nothing was locked by these messages");
	ask.svid = 1;
}

/* An idle thread keeps the exports, but not for longer than they count. */
static void
holds(void)
{
	const struct served_exports *x = server.judge.active.list;

	(void)question(LOCKS_UNLOCK, true);
	ok(thread.judge.held.list == x, "a thread keeps the exports");
	judge_set_exports(&server.judge, locks_files_exports());
	thread_release(&thread);
	ok(thread.judge.held.list == NULL, "not if there are others");
	thread_release(&thread);
	(void)question(LOCKS_UNLOCK, true);
	ok(thread.judge.held.list == server.judge.active.list,
	    "it takes these when it is asked");
	thread_release(&thread);
	ok(thread.judge.held.list != NULL, "and keeps them");
}

static struct served_exports *
exports_with(const char *options)
{
	const struct exports_hooks hooks = { NULL, NULL, NULL };
	struct fh_root at;
	char text[96];

	(void)snprintf(text, sizeof(text), "%s %s\n", dir, options);
	if (fh_fs_look(&at, dup(root), &(struct fh_ask){ .kernel = true }) ==
	    -1)
		BAIL_OUT("root");
	return served_new(exports_parse(text, strlen(text), &hooks), &at, NULL,
	    0);
}

/* A lock that waits is granted under these exports. Is the client told? */
static bool
is_told(const char *options, int channel)
{
	uint8_t buf[LOCKS_GRANT_MAX];
	uint32_t type = LOCKS_EVENTS;
	size_t nfds = 0;
	ssize_t got;
	int none;

	judge_set_exports(&server.judge, exports_with("*(rw,insecure)"));
	ask.fh = handles[1];
	ask.client.from.bytes[3] = 1;
	ask.block = false;
	if (question(LOCKS_LOCK, false) != LOCKS_GRANTED)
		BAIL_OUT("lock");
	ask.client.from.bytes[3] = 2;
	ask.block = true;
	if (question(LOCKS_LOCK, false) != LOCKS_BLOCKED)
		BAIL_OUT("wait");
	judge_set_exports(&server.judge, exports_with(options));
	ask.client.from.bytes[3] = 1;
	(void)question(LOCKS_UNLOCK, false);
	got = ipc_receive(channel, &type, buf, sizeof(buf), &none, &nfds);
	ask.client.from.bytes[3] = 2;
	(void)question(LOCKS_UNLOCK, false);
	return got != -1 && type == LOCKS_GRANT;
}

static void
grants(void)
{
	static struct proven proven;
	int pair[2];

	if (ipc_pair(pair) == -1 || fcntl(pair[0], F_SETFL, O_NONBLOCK) == -1 ||
	    fcntl(pair[1], F_SETFL, O_NONBLOCK) == -1)
		BAIL_OUT("channel");
	hash_key_random(&proven.key);
	server.proven = &proven;
	server.events = pair[0];
	ok(is_told("*(rw,insecure)", pair[1]), "a client that waits is told");
	ok(!is_told("10.0.0.1(rw,insecure)", pair[1]),
	    "not if the export admits it no more");
	ok(!is_told("*(rw,insecure,xprtsec=tls)", pair[1]),
	    "nor if the export demands TLS, which it has not used");
	server.proven = NULL;
	server.events = -1;
	close(pair[0]);
	close(pair[1]);
}

/* A ctime that may change within its tick says nothing. */
static void
times(void)
{
	struct timespec now = clock_wall(), old = now, changed = now;
	uint64_t key = 77;

	old.tv_sec -= 10;
	changed.tv_sec -= 9;
	right_add(&server, key, &now, &now);
	ok(!right_has(&server, key, &now), "a ctime that is not settled");
	right_add(&server, key, &old, &now);
	ok(right_has(&server, key, &old), "one that is");
	ok(!right_has(&server, key, &changed), "another ctime");
	ok(!right_has(&server, key + 2 * SERVER_RIGHTS, &old), "another key");
	server.rights[key / 2 % SERVER_RIGHTS].until_ms = clock_ms();
	ok(!right_has(&server, key, &old), "not for ever");
}

int
main(void)
{
	struct broker_channel *channel;

	plan(NO_PLAN);
	locks_files_start();
	server_init(&server, &keys.worker, NULL, NULL, 64);
	judge_set_exports(&server.judge, locks_files_exports());
	server.begun = true;
	channel = broker_channel_new(broker, NULL);
	broker_channel_lock_only(channel);
	thread_init(&thread, &server, broker_client_new(-1, channel));
	ask = (struct locks_ask){ .client = { .from = { .family = AF_INET,
						  .bytes = { 10, 0, 0, 1 } },
				      .vers = 4,
				      .kind = RPC_TCP },
		.cred = { .flavor = AUTH_SYS },
		.fh = handles[0],
		.svid = 1,
		.exclusive = true };
	files();
	together();
	holds();
	waits();
	rights();
	grants();
	times();
	thread_clear(&thread);
	server_clear(&server);
	done_testing();
}
