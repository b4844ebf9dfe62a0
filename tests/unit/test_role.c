/* SPDX-License-Identifier: ISC */
/*
 * A parent and its role: this program starts itself as "worker".
 * Runs in: tests only.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/role.h"
#include "slack.h"
#include "tap.h"

#define RESTART_MAX (1.0 * TEST_SLACK) /* seconds */

/* From the role (first three) and to it. */
enum {
	SAY_READY,
	SAY_ANSWER,
	SAY_SERVES,
	ASK_TITLE,
	ASK_CRASH,
	ASK_RUBBISH,
	ASK_READY,
	ASK_SERVE,
	ASK_END
};

struct report {
	char title[64];
	char comm[32];
	unsigned int index;
	unsigned int nfds;
	int holes; /* inherited as none */
	ino_t inode; /* of the first inherited descriptor */
	int stray; /* open besides those inherited */
};

static const struct daemon d = { .name = "test_role" };
static struct event_base *base;
static struct report got;
static int readies;
static double ended_at, ready_at;

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? 0 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (fd != -1)
		close(fd);
}

static void
answer(struct role *role)
{
	struct report r = { .index = role->index,
		.nfds = (unsigned int)role->nfds };
	struct stat st;
	int fd;

	read_text("/proc/self/cmdline", r.title, sizeof(r.title));
	read_text("/proc/self/comm", r.comm, sizeof(r.comm));
	r.holes = role->fds[1] == -1;
	if (fstat(role->fds[0], &st) == 0)
		r.inode = st.st_ino;
	for (fd = ROLE_FDS_FIRST + 2; fd < 512; fd++)
		r.stray += fcntl(fd, F_GETFD) != -1;
	(void)ipc_send(role->channel, SAY_ANSWER, &r, sizeof(r), NULL, 0);
}

static int
worker(struct role *role)
{
	uint32_t type;
	char buf[16];

	(void)ipc_send(role->channel, SAY_READY, NULL, 0, NULL, 0);
	while (ipc_receive(role->channel, &type, buf, sizeof(buf), NULL,
		   NULL) != -1) {
		if (type == ASK_TITLE)
			answer(role);
		else if (type == ASK_CRASH)
			abort();
		else if (type == ASK_RUBBISH)
			(void)ipc_send(role->channel, 99, "x", 1, NULL, 0);
		else if (type == ASK_READY)
			(void)ipc_send(role->channel, SAY_READY, NULL, 0, NULL,
			    0);
		else if (type == ASK_SERVE)
			(void)ipc_send(role->channel, SAY_SERVES, NULL, 0, NULL,
			    0);
		else
			return 0;
	}
	return 0;
}

static int
stillborn(struct role *role UNUSED)
{
	return 1;
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
	readies++;
	ready_at = now();
	(void)event_base_loopbreak(base);
}

static void
on_answer(void *arg UNUSED, struct ipc_message *m)
{
	memcpy(&got, m->data, sizeof(got));
	(void)event_base_loopbreak(base);
}

static void
on_serves(void *arg, struct ipc_message *m UNUSED)
{
	role_acknowledged(arg);
	(void)event_base_loopbreak(base);
}

static void
on_ended(void *arg UNUSED, struct role_child *child UNUSED)
{
	ended_at = now();
	(void)event_base_loopbreak(base);
}

static const struct ipc_row rows[] = {
	[SAY_READY] = { "READY", 0, 0, 0, 0, on_ready },
	[SAY_ANSWER] = { "ANSWER", sizeof(struct report), sizeof(struct report),
	    0, 0, on_answer },
	[SAY_SERVES] = { "SERVES", 0, 0, 0, 0, on_serves },
};
static const struct ipc_table messages = { rows, nitems(rows) };

static size_t
inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	fds[0] = *(int *)arg;
	fds[1] = -1;
	fds[2] = STDIN_FILENO;
	return 3;
}

static void
on_limit(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
	(void)event_base_loopbreak(base);
}

/* Runs the loop until something happens, a minute at most. */
static void
happen(void)
{
	const struct timeval limit = { .tv_sec = 60 };
	struct event *timer = event_new(base, -1, 0, on_limit, NULL);

	(void)event_add(timer, &limit);
	(void)event_base_dispatch(base);
	event_free(timer); /* or it would end a later wait */
}

static void
test_life(struct role_child *child, int file)
{
	struct stat st;
	pid_t first = role_pid(child);

	happen();
	ok(readies == 1 && role_has_been_ready(child), "the role is ready");
	(void)role_send(child, ASK_TITLE, NULL, 0, NULL, 0);
	happen();
	is(got.title, "test_role: worker", "it has its process title");
	is(got.comm, "test_role", "it has the program's name for pgrep");
	cmp_ok(got.index, "==", 3, "it knows its index");
	ok(got.nfds == 3 && got.holes,
	    "it inherits its descriptors, and -1 where there is none");
	(void)fstat(file, &st);
	ok(got.inode == st.st_ino, "they are in order");
	cmp_ok(got.stray, "==", 0, "it inherits no other descriptor");

	(void)role_send(child, ASK_CRASH, NULL, 0, NULL, 0);
	happen();
	ok(role_pid(child) == 0 && role_channel(child) == -1,
	    "the parent notices that it crashed");
	ok(!role_send(child, ASK_TITLE, NULL, 0, NULL, 0),
	    "sending fails meanwhile");
	happen();
	ok(readies == 2 && role_pid(child) != first, "it is restarted");
	ok(ready_at - ended_at < RESTART_MAX, "within a second");

	(void)role_send(child, ASK_RUBBISH, NULL, 0, NULL, 0);
	happen();
	ok(role_pid(child) == 0,
	    "a role that sends a malformed message is killed");
	happen();
	cmp_ok(readies, "==", 3, "it is restarted");
	ok(ready_at - ended_at < RESTART_MAX, "within a second");

	(void)role_send(child, ASK_READY, NULL, 0, NULL, 0);
	happen(); /* the role sends READY again */
	happen();
	ok(role_pid(child) == 0, "a role that sends READY twice is killed");
	happen();
	cmp_ok(readies, "==", 5, "it is restarted");
	role_free(child);
}

static void
test_current(struct role_child *child)
{
	ok(!role_is_current(child), "not current before it is ready");
	happen();
	ok(role_is_current(child), "current when it owes nothing");
	role_owes(child);
	role_owes(child);
	(void)role_send(child, ASK_SERVE, NULL, 0, NULL, 0);
	happen();
	ok(!role_is_current(child), "not while it owes an acknowledgement");
	(void)role_send(child, ASK_SERVE, NULL, 0, NULL, 0);
	happen();
	ok(role_is_current(child), "current when it gave as many as it owed");
	role_owes(child);
	role_restart(child, "test");
	ok(!role_is_current(child), "not while it is being killed");
	happen();
	happen();
	ok(role_is_current(child), "a new life owes nothing of the old one");
	(void)role_send(child, ASK_SERVE, NULL, 0, NULL, 0);
	happen(); /* it says so */
	happen();
	ok(role_pid(child) == 0, "one that acknowledges too much is killed");
	role_free(child);
}

static void
test_end(struct role_child *child)
{
	happen();
	role_expect_end(child);
	(void)role_send(child, ASK_END, NULL, 0, NULL, 0);
	happen();
	ok(role_has_ended(child),
	    "a role that the parent stops is not restarted");
	role_free(child);
}

int
main(int argc, char *argv[])
{
	static const struct role_row roles[] = { { "worker", worker },
		{ "stillborn", stillborn } };
	struct role_spec spec = { .name = "worker",
		.index = 3,
		.inherit = inherit,
		.ended = on_ended,
		.messages = &messages };
	struct role_spec dead = { .name = "stillborn", .messages = &messages };
	int file;

	log_init("test_role");
	role_dispatch(argc, argv, roles, nitems(roles));
	plan(NO_PLAN);
	file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	spec.arg = &file;
	base = event_base_new();
	test_life(role_start(base, &d, &spec), file);
	event_base_free(base);

	base = event_base_new();
	readies = 0;
	spec.index = 0;
	test_current(role_start(base, &d, &spec));
	test_end(role_start(base, &d, &spec));
	dies_ok(
	    {
		    event_reinit(base);
		    (void)role_start(base, &d, &dead);
		    happen();
	    },
	    "a role that never becomes ready is fatal");
	done_testing();
}
