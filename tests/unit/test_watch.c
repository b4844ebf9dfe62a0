/* SPDX-License-Identifier: ISC */
/*
 * Roles that answer, spin, wait, and are stopped: this program starts itself.
 * Runs in: tests only.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/reload.h"
#include "process/role.h"
#include "process/role_exports.h"
#include "process/watch.h"
#include "tap.h"

enum { SAY_READY = ROLE_MESSAGES, MESSAGES };

#define HALF_USEC 400000 /* of the watchdog's interval: WATCH_MS_MIN */

static struct daemon d = { .name = "test_watch" };
static struct event_base *base;
static struct reload reload;
static unsigned int answers;
static bool was_unwell;

static void
say(struct role *role, uint32_t type)
{
	if (ipc_send(role->channel, type, NULL, 0, NULL, 0) == -1)
		exit(0);
}

static int
good(struct role *role)
{
	uint32_t type;
	char byte;

	say(role, SAY_READY);
	while (ipc_receive(role->channel, &type, &byte, 1, NULL, NULL) != -1)
		role_pong(role->channel, ROLE_PONG);
	return 0;
}

static int
spinning(struct role *role)
{
	say(role, SAY_READY);
	while (getppid() != 1)
		;
	return 0;
}

static int
waiting(struct role *role)
{
	say(role, SAY_READY);
	while (pause() == -1)
		;
	return 0;
}

static void *
work(void *arg)
{
	while (getppid() != 1)
		;
	return arg;
}

/* The first thread waits, another one works. */
static int
half_waiting(struct role *role)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, NULL) != 0)
		return 1;
	say(role, SAY_READY);
	while (pause() == -1)
		;
	return 0;
}

/* Answers one question. */
static void
answer(struct role *role)
{
	uint32_t type;
	char byte;

	if (ipc_receive(role->channel, &type, &byte, 1, NULL, NULL) == -1)
		exit(0);
	role_pong(role->channel, ROLE_PONG);
}

static void *
answer_and_work(void *arg)
{
	answer(arg);
	return work(NULL);
}

static void *
answer_and_wait(void *arg)
{
	answer(arg);
	while (pause() == -1)
		;
	return NULL;
}

/* Another thread runs the loop by now, and spins. The first one waits. */
static int
moved_spinning(struct role *role)
{
	pthread_t other;

	say(role, SAY_READY);
	if (pthread_create(&other, NULL, answer_and_work, role) != 0)
		return 1;
	while (pause() == -1)
		;
	return 0;
}

/* Another thread runs the loop by now, and waits. The first one works. */
static int
moved_waiting(struct role *role)
{
	pthread_t other;

	say(role, SAY_READY);
	if (pthread_create(&other, NULL, answer_and_wait, role) != 0)
		return 1;
	return work(NULL) != NULL;
}

static int
talking(struct role *role)
{
	say(role, SAY_READY);
	/* One of them may answer a question, two cannot. */
	role_pong(role->channel, ROLE_PONG);
	role_pong(role->channel, ROLE_PONG);
	while (pause() == -1)
		;
	return 0;
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	role_is_ready(arg);
}

static void
on_pong(void *arg, struct ipc_message *m)
{
	answers++;
	role_answered(arg, m);
}

static const struct ipc_row rows[MESSAGES] = {
	[SAY_READY] = { "READY", 0, 0, 0, 0, on_ready },
	[ROLE_PONG] = { "PONG", sizeof(struct role_pong),
	    sizeof(struct role_pong), 0, 0, on_pong },
};
static const struct ipc_table messages = { rows, nitems(rows) };

/*
 * The parent may be so slow that the next question, to the successor, is asked
 * before the test looks at the watchdog.
 */
static void
on_end(void *arg UNUSED, struct role_child *child UNUSED)
{
	was_unwell = was_unwell || d.unwell;
}

static const struct role_spec specs[] = {
	{ .name = "good", .messages = &messages, .ended = on_end },
	{ .name = "spinning", .messages = &messages, .ended = on_end },
	{ .name = "waiting", .messages = &messages, .ended = on_end },
	{ .name = "talking", .messages = &messages, .ended = on_end },
	{ .name = "half-waiting", .messages = &messages, .ended = on_end },
	{ .name = "moved-spinning", .messages = &messages, .ended = on_end },
	{ .name = "moved-waiting", .messages = &messages, .ended = on_end },
};

/*
 * Runs the loop until the role has another process. The limit is for a machine
 * on which the role gets little CPU time.
 */
static bool
is_replaced(struct role_child *child, pid_t first)
{
	const struct timeval step = { .tv_usec = 20000 };
	int i;

	for (i = 0; i < 6000; i++) {
		if (role_pid(child) != first)
			return true;
		(void)event_base_loopexit(base, &step);
		(void)event_base_dispatch(base);
		was_unwell = was_unwell || d.unwell;
	}
	return false;
}

/* Runs the loop until the silence of a role would have been judged twice. */
static void
judge(struct role_child *child)
{
	const struct timeval step = { .tv_usec = 20000 };

	while (role_silence(child).ms < 2 * WATCH_MS_MIN * WATCH_SPINS) {
		(void)event_base_loopexit(base, &step);
		(void)event_base_dispatch(base);
		was_unwell = was_unwell || d.unwell;
	}
}

static struct role_child *
start(size_t i)
{
	struct role_child *child = role_start(base, &d, &specs[i]);

	reload.n = 0;
	reload_add(&reload, child);
	was_unwell = d.unwell = false;
	return child;
}

static void
test_good(void)
{
	struct role_child *child = start(0);
	const struct timeval step = { .tv_usec = 20000 };
	pid_t first = role_pid(child);

	while (answers < 2 * WATCH_SPINS) {
		(void)event_base_loopexit(base, &step);
		(void)event_base_dispatch(base);
	}
	ok(role_pid(child) == first && !d.unwell,
	    "a role that answers is well");
	(void)kill(first, SIGSTOP);
	ok(is_replaced(child, first), "a role that is stopped is killed");
	ok(was_unwell, "and the watchdog hears of it");
	role_free(child);
}

static void
is_killed(size_t i, const char *name)
{
	struct role_child *child = start(i);
	pid_t first = role_pid(child);

	ok(is_replaced(child, first) && (was_unwell || i == 3), "%s", name);
	role_free(child);
}

static void
is_left(size_t i, const char *name)
{
	struct role_child *child = start(i);
	pid_t first = role_pid(child);

	judge(child);
	ok(role_pid(child) == first && !was_unwell, "%s", name);
	role_free(child);
}

int
main(int argc, char *argv[])
{
	static const struct role_row roles[] = { { "good", good },
		{ "spinning", spinning }, { "waiting", waiting },
		{ "talking", talking }, { "half-waiting", half_waiting },
		{ "moved-spinning", moved_spinning },
		{ "moved-waiting", moved_waiting } };
	struct watch watch;

	log_init("test_watch");
	role_dispatch(argc, argv, roles, nitems(roles));
	plan(NO_PLAN);
	base = daemon_events();
	reload_init(&reload, base, &d);
	d.notify = (struct notify){ .fd = -1,
		.watchdog_usec = (uint64_t)2 * HALF_USEC };
	watch_init(&watch, base, &d, &reload);
	cmp_ok(watch.every_ms, "==", WATCH_MS_MIN,
	    "eight questions in an interval of the watchdog");
	test_good();

	is_killed(1, "a role that spins and answers nothing is killed");
	is_killed(5, "so is one whose loop spins on another thread");
	is_left(2, "a role that waits is left alone, and the watchdog is fed");
	is_left(4, "so is one whose other threads work");
	is_left(6, "so is one whose loop waits on another thread");
	is_killed(3, "a role that answers without being asked is killed");
	watch_free(&watch);
	reload_free(&reload);
	event_base_free(base);
	done_testing();
}
