/* SPDX-License-Identifier: ISC */
/*
 * The locks role as a process. It has the table and a descriptor of each locked
 * file, and no network. Its filter lets it neither read nor write a file, so
 * these descriptors are of no use to an attacker but to lock.
 *
 * The main thread listens to the parent and to events of nlm. Each of the other
 * threads answers one channel of nlm at a time, and asks the broker on a
 * channel of its own. Two more do what time brings.
 * Runs in: nfsd locks.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/broker/broker.h"
#include "nfsd/locks/server.h"
#include "process/role_exports.h"

#define STACK	(512 * 1024)
#define SPARE	512 /* descriptors for channels and the like */
#define QUEUED	(4 * LOCKS_THREADS) /* channels that wait for a thread */
#define KEEPERS 2

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_dup3,       true,  "a new broker in place of the old one" },
#ifdef SYS_fstat
	{ SYS_fstat,      true,  "fstat of libc (newer glibc, musl)" },
#endif
	{ SYS_newfstatat, false, "which file it is; fstat of libc" },
#ifdef SYS_poll
	{ SYS_poll,       false, "wait for the parent and for nlm" },
#endif
	{ SYS_ppoll,      true,  "the same (the name on arm64)" },
#ifdef SYS_ppoll_time32
	{ SYS_ppoll_time32, true, "the same (32-bit machines)" },
#endif
	{ SYS_recvmsg,    false, "questions, files from the broker" },
	{ SYS_sched_setaffinity, true,  "stay near nlm, if that stays where it is" },
	{ SYS_sendmsg,    false, "answers, grants, clients to be saved" },
};

/* No number below 3 ever leads to a file: only there may be written. */
static const struct sandbox_rule rules[] = {
	{ SYS_close,  0, SANDBOX_BELOW, 3, "the log keeps its number" },
	{ SYS_close,  0, SANDBOX_ABOVE, INT_MAX, "2^32 would be 0" },
	{ SYS_dup3,   1, SANDBOX_BELOW, 3, "the log keeps its number" },
	{ SYS_dup3,   1, SANDBOX_ABOVE, INT_MAX, "2^32 would be 0" },
	{ SYS_read,   0, SANDBOX_BELOW, UINT64_MAX, "no file is read" },
	{ SYS_sched_setaffinity, 0, SANDBOX_ABOVE, 0, "of no other process" },
	{ SYS_write,  0, SANDBOX_ABOVE, 2, "only the log is written" },
	{ SYS_writev, 0, SANDBOX_ABOVE, 2, "only the log is written" },
};

static const struct sandbox_choice choices[] = {
	{ SYS_fcntl, {{ 1, 0, F_OFD_GETLK }, SANDBOX_ALONE}, "TEST" },
	{ SYS_fcntl, {{ 1, 0, F_OFD_SETLK }, SANDBOX_ALONE}, "LOCK and UNLOCK" },
	{ SYS_fcntl, {{ 1, 0, F_SETFL }, { 2, 0, O_NONBLOCK }}, "a channel of events that waits for nothing" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "locks",
	.calls = calls,
	.ncalls = nitems(calls),
	.dies_with_parent = true,
	.rules = rules,
	.nrules = nitems(rules),
	.choices = choices,
	.nchoices = nitems(choices),
};

struct locks_role;

/* What a thread works on. */
struct locks_job {
	struct locks_role *role;
	struct locks_thread *thread; /* NULL: it keeps the table */
	bool slow; /* that of slow files */
};

struct locks_role {
	struct role *role;
	struct nfsd_lock_setup setup;
	struct role_exports incoming;
	struct locks_server server;
	struct locks_thread threads[LOCKS_SERVERS];
	struct locks_job jobs[LOCKS_SERVERS + KEEPERS];
	/* Of the threads below. */
	pthread_mutex_t lock;
	pthread_cond_t more, started;
	unsigned int running;
	int queue[QUEUED];
	size_t n;
	cpu_set_t anywhere; /* where this process may run */
};

/* ---- threads ---- */

static void
has_started(struct locks_role *r)
{
	pthread_mutex_lock(&r->lock);
	r->running++;
	pthread_cond_signal(&r->started);
	pthread_mutex_unlock(&r->lock);
}

static int
next_channel(struct locks_role *r)
{
	int fd;

	pthread_mutex_lock(&r->lock);
	while (r->n == 0)
		pthread_cond_wait(&r->more, &r->lock);
	fd = r->queue[0];
	r->n--;
	memmove(r->queue, r->queue + 1, r->n * sizeof(r->queue[0]));
	pthread_mutex_unlock(&r->lock);
	return fd;
}

/* A new place of this thread, as near says. */
static void
go(const struct locks_job *job)
{
	near_go(job->thread->near.cpu, &job->role->anywhere);
}

/* After the answer, the thread goes where the next question will come from. */
static void
stay_near(const struct locks_job *job, const uint8_t *questions, size_t len)
{
	struct locks_ask first;

	memcpy(&first, questions, sizeof(first));
	if (first.brief &&
	    near_note(&job->thread->near, first.cpu,
		first.cpu < CPU_SETSIZE && len < 2 * sizeof(first)))
		go(job);
}

/* The next channel may be one of a file thread. */
static void
leave_nlm(const struct locks_job *job)
{
	bool pinned = job->thread->near.cpu != NEAR_ANY;

	near_init(&job->thread->near);
	if (pinned)
		go(job);
}

/* One message of questions; false at the end of the channel. */
static bool
serve_one(const struct locks_job *job, int fd)
{
	uint8_t in[LOCKS_ASKS_MAX], out[LOCKS_ANSWERS_MAX];
	const char *why = "not a valid message";
	size_t out_len, nfds = 0;
	uint32_t type;
	ssize_t len;
	int none;

	len = ipc_receive(fd, &type, in, sizeof(in), &none, &nfds);
	if (len == -1 && errno != EBADMSG)
		return false;
	if (len != -1 && type == LOCKS_ASK)
		why =
		    server_answer(job->thread, in, (size_t)len, out, &out_len);
	if (why != NULL) {
		log_warnx("nlm: broke the rules of its channel: %s", why);
		return false;
	}
	if (ipc_send(fd, LOCKS_ANSWER, out, out_len, NULL, 0) == -1)
		return false;
	stay_near(job, in, (size_t)len);
	return true;
}

static void *
serve(void *arg)
{
	const struct locks_job *job = arg;
	int fd;

	has_started(job->role);
	for (;;) {
		fd = next_channel(job->role);
		while (serve_one(job, fd))
			continue;
		close(fd);
		leave_nlm(job);
	}
	return NULL;
}

static void *
keep(void *arg)
{
	const struct locks_job *job = arg;

	has_started(job->role);
	server_keep(&job->role->server, job->slow);
	return NULL;
}

static void
start_thread(struct locks_job *job)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr,
	    job->thread != NULL ? serve : keep, job);
	if (error != 0)
		fatalx("thread: %s", strerror(error));
	pthread_attr_destroy(&attr);
}

static void
start_threads(struct locks_role *r)
{
	unsigned int i;

	for (i = 0; i < LOCKS_SERVERS + KEEPERS; i++) {
		r->jobs[i].role = r;
		r->jobs[i].slow = i == LOCKS_SERVERS;
		if (i < LOCKS_SERVERS) {
			r->jobs[i].thread = &r->threads[i];
			thread_init(&r->threads[i], &r->server,
			    broker_client_new(-1, NULL));
		}
		start_thread(&r->jobs[i]);
	}
	/* A starting thread makes system calls that the filter will refuse. */
	pthread_mutex_lock(&r->lock);
	while (r->running < LOCKS_SERVERS + KEEPERS)
		pthread_cond_wait(&r->started, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

/* ---- the parent ---- */

static void
serve_list(void *arg, const struct role_list *list)
{
	struct locks_role *r = arg;
	struct served_exports *x =
	    served_new(list->conf, list->roots, list->subs, list->nsubs);
	unsigned int i;

	if (x == NULL)
		fatal("exports");
	judge_set_exports(&r->server.judge, x);
	for (i = 0; i < LOCKS_SERVERS; i++)
		thread_release(&r->threads[i]);
	server_lock(&r->server);
	table_park(r->server.table, server_is_gone, &r->server);
	server_unlock_brief(&r->server);
}

/* Channels to the broker: the first ones, or those to a new broker. */
static void
on_broker(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	size_t i;

	for (i = 0; i < LOCKS_SERVERS; i++) {
		broker_client_replace(r->threads[i].broker, m->fds[i]);
		m->fds[i] = -1;
	}
}

static void
use_events(struct locks_role *r, int fd)
{
	int old;

	if (fd != -1 && fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
		fatal("nlm");
	server_lock(&r->server);
	old = r->server.events;
	r->server.events = fd;
	server_unlock(&r->server);
	if (old != -1)
		close(old);
}

/* nlm runs, for the first time or again. */
static void
on_nlm(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	size_t i;

	pthread_mutex_lock(&r->lock);
	for (i = 0; i < LOCKS_THREADS && r->n < QUEUED; i++) {
		r->queue[r->n++] = m->fds[i];
		m->fds[i] = -1;
	}
	pthread_cond_broadcast(&r->more);
	pthread_mutex_unlock(&r->lock);
	use_events(r, m->fds[LOCKS_THREADS]);
	m->fds[LOCKS_THREADS] = -1;
}

/* All listed clients are known: questions are answered from now on. */
static void
begin(struct locks_server *s)
{
	if (s->grace > 0)
		table_grace(s->table, s->grace);
	s->begun = true;
}

static void
on_start(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	struct locks_server *s = &r->server;
	struct locks_start in;

	memcpy(&in, m->data, sizeof(in));
	server_lock(s);
	s->begun = false;
	s->grace = in.grace;
	s->listed = in.n;
	if (in.at.family == 0)
		table_unlist(s->table);
	if (s->listed == 0)
		begin(s);
	server_unlock(s);
}

static void
on_listed(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	struct locks_server *s = &r->server;
	struct locks_listed in;

	memcpy(&in, m->data, sizeof(in));
	if (in.client.name_len != m->len - sizeof(in) || s->listed == 0)
		fatalx("parent: malformed client");
	server_lock(s);
	table_listed(s->table, &in, (const char *)m->data + sizeof(in));
	if (--s->listed == 0)
		begin(s);
	server_unlock(s);
}

static void
on_saved(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	struct nfsd_locks_saved in;

	memcpy(&in, m->data, sizeof(in));
	server_saved(&r->server, &in);
}

/* Rows of one part of the table, which are sent when the mutex is free. */
struct rows {
	uint8_t *bytes;
	size_t len, room;
};

static void
add_row(void *arg, const struct locks_row *row, size_t len)
{
	struct rows *r = arg;
	size_t room = 2 * r->room + LOCKS_ROW_MAX;
	uint8_t *more;

	if (r->room - r->len < sizeof(*row) + LOCKS_TEXT_MAX) {
		more = realloc(r->bytes, room);
		if (more == NULL)
			return;
		r->bytes = more;
		r->room = room;
	}
	memcpy(r->bytes + r->len, row, len);
	r->len += len;
}

static void
send_row(struct locks_role *r, const void *row, size_t len)
{
	if (ipc_send(r->role->channel, NFSD_LOCKS_ROW, row, len, NULL, 0) == -1)
		fatal("parent");
}

static void
on_list(void *arg, struct ipc_message *m UNUSED)
{
	struct locks_role *r = role_exports_arg(arg);
	struct rows rows = { NULL, 0, 0 };
	struct locks_row row;
	size_t part, at, len;
	bool more = true;

	for (part = 0; more; part++) {
		rows.len = 0;
		server_lock(&r->server);
		more = table_rows(r->server.table, part, add_row, &rows);
		server_unlock(&r->server);
		for (at = 0; at < rows.len; at += len) {
			memcpy(&row, rows.bytes + at, sizeof(row));
			len = sizeof(row) + row.client.name_len;
			send_row(r, rows.bytes + at, len);
		}
	}
	free(rows.bytes);
	send_row(r, NULL, 0);
}

static void
on_drop(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	struct addr from;
	uint32_t n;

	memcpy(&from, m->data, sizeof(from));
	server_lock(&r->server);
	n = table_drop(r->server.table, &from);
	server_unlock(&r->server);
	if (ipc_send(r->role->channel, NFSD_LOCKS_DROPPED, &n, sizeof(n), NULL,
		0) == -1)
		fatal("parent");
}

static void
on_leave(void *arg, struct ipc_message *m)
{
	struct locks_role *r = role_exports_arg(arg);
	struct locks_left left;

	memcpy(&left, m->data, sizeof(left));
	server_lock(&r->server);
	left.remain = table_leave(r->server.table, &left.at);
	server_unlock(&r->server);
	if (ipc_send(r->role->channel, NFSD_LOCKS_LEFT, &left, sizeof(left),
		NULL, 0) == -1)
		fatal("parent");
}

static void
on_stop(void *arg UNUSED, struct ipc_message *m UNUSED)
{
	exit(0);
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct nfsd_lock_setup),
	[NFSD_CHANNELS]       = { "channels", sizeof(struct nfsd_channels), sizeof(struct nfsd_channels), LOCKS_SERVERS, LOCKS_SERVERS, on_broker },
	[NFSD_STOP]           = { "stop",     0, 0, 0, 0, on_stop },
	[NFSD_LOCKS_CHANNELS] = { "nlm",      0, 0, LOCKS_THREADS + 1, LOCKS_THREADS + 1, on_nlm },
	[NFSD_LOCKS_START]    = { "start",    sizeof(struct locks_start), sizeof(struct locks_start), 0, 0, on_start },
	[NFSD_LOCKS_LISTED]   = { "listed",   sizeof(struct locks_listed), LOCKS_LISTED_MAX, 0, 0, on_listed },
	[NFSD_LOCKS_SAVED]    = { "saved",    sizeof(struct nfsd_locks_saved), sizeof(struct nfsd_locks_saved), 0, 0, on_saved },
	[NFSD_LOCKS_LIST]     = { "list",     0, 0, 0, 0, on_list },
	[NFSD_LOCKS_DROP]     = { "drop",     sizeof(struct addr), sizeof(struct addr), 0, 0, on_drop },
	[NFSD_LOCKS_LEAVE]    = { "leave",    sizeof(struct locks_left), sizeof(struct locks_left), 0, 0, on_leave },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

/* ---- nlm ---- */

/* Returns false at the end of the channel of events. */
static bool
hear_event(struct locks_role *r, int fd)
{
	uint8_t buf[LOCKS_LISTED_MAX];
	struct ipc_message m = { .data = buf };
	const char *why = "not a valid message";
	ssize_t len;
	int none;

	len = ipc_receive(fd, &m.type, buf, sizeof(buf), &none, &m.nfds);
	if (len == -1 && errno != EBADMSG)
		return errno == EAGAIN;
	m.len = (size_t)len;
	if (len != -1)
		why = server_event(&r->server, &m);
	if (why != NULL)
		log_warnx("nlm: broke the rules of events: %s", why);
	return why == NULL;
}

static void
listen_to_all(struct locks_role *r)
{
	struct pollfd p[2] = { { .fd = r->role->channel, .events = POLLIN },
		{ .events = POLLIN } };

	for (;;) {
		p[1].fd = r->server.events;
		if (poll(p, 2, -1) == -1 && errno != EINTR)
			fatal("poll");
		if (p[1].fd != -1 && p[1].revents != 0 &&
		    !hear_event(r, p[1].fd))
			use_events(r, -1);
		if (p[0].revents != 0)
			role_exports_receive(&r->incoming, &messages);
	}
}

/* ---- start ---- */

static void
ask_groups(void *arg, uint32_t uid)
{
	const struct locks_role *r = arg;

	if (ipc_send(r->role->channel, NFSD_GROUPS, &uid, sizeof(uid), NULL,
		0) == -1)
		fatal("parent");
}

static void
map_memory(struct locks_role *r, size_t files)
{
	const struct nfsd_shared *shared;
	struct locks_stats *stats;

	stats = shm_map(r->role->fds[NFSD_LOCK_FD_STATS], sizeof(*stats), true);
	shared =
	    shm_map(r->role->fds[NFSD_LOCK_FD_SHARED], sizeof(*shared), false);
	if (stats == NULL || shared == NULL)
		fatal("shared memory");
	server_init(&r->server, &r->setup.key, r->setup.tls_domain, stats,
	    files);
	r->server.judge.groups.table =
	    groups_map(r->role->fds[NFSD_LOCK_FD_GROUPS]);
	r->server.judge.groups.ask = ask_groups;
	r->server.judge.groups.arg = r;
	r->server.proven = &shared->proven;
	r->server.parent = r->role->channel;
}

int
nfsd_locks(struct role *role)
{
	static struct locks_role self = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.started = PTHREAD_COND_INITIALIZER };
	struct locks_role *r = &self;
	struct jail_view view;
	struct sandbox box;
	size_t files;

	/* glibc would read the number of CPUs from a file for more. */
	(void)mallopt(M_ARENA_MAX, 1);
	r->role = role;
	r->incoming.channel = role->channel;
	r->incoming.setup = &r->setup;
	r->incoming.serve = serve_list;
	r->incoming.arg = r;
	while (!r->incoming.has_setup)
		role_exports_receive(&r->incoming, &messages);
	files = daemon_raise_files();
	map_memory(r, files > 2 * SPARE ? files - SPARE : files / 2);
	near_take_short_turns();
	near_learn(&r->anywhere);
	jail_enter_empty(&view, NULL);
	sandbox_begin(&box, &policy, r->setup.strict);
	sandbox_set_root(&box, view.mounts, view.root);
	if (!r->setup.rootless)
		daemon_drop(r->setup.uid, r->setup.gid);
	sandbox_enter(&box);
	start_threads(r);
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	listen_to_all(r);
	return 0;
}
