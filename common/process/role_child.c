/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of a role: starts it, reads its messages, detects its end,
 * restarts it. A role that breaks the message rules counts as compromised and
 * is killed.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/pidfd.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exec.h"

#define MESSAGES_AT_ONCE 64 /* handled before the event loop runs others */
#define ROLE_SEND_MS	 1000

struct role_child {
	struct event_base *base;
	const struct daemon *d;
	const struct role_spec *spec;
	pid_t pid; /* 0: not running */
	int channel; /* -1: not running */
	int pidfd;
	uid_t uid; /* that it drops to */
	struct event *on_message;
	struct event *on_end;
	struct event *on_restart;
	uint64_t since_ms; /* started */
	unsigned int starts;
	unsigned int backoff; /* ms */
	bool ready; /* READY was received once */
	bool serves; /* READY was received from this process */
	bool killed; /* by the parent; not reaped yet */
	unsigned int owed; /* lists it has not acknowledged */
	uint64_t asked_ms; /* the question it has not answered; 0: none */
	uint64_t asked_cpu_ms; /* CPU time that its thread had used by then */
	pid_t thread; /* that answered the last question; 0: the first one */
	bool expect_end;
};

static void launch(struct role_child *);

static void
drop_event(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

static void
close_channel(struct role_child *c)
{
	drop_event(&c->on_message);
	if (c->channel != -1)
		close(c->channel);
	c->channel = -1;
}

static void
run_restart(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	launch(arg);
}

/* Schedules a restart. The delay doubles as long as the role keeps failing. */
static void
schedule(struct role_child *c)
{
	struct timeval in;

	if (clock_ms() - c->since_ms >= ROLE_GOOD_SECONDS * 1000 ||
	    c->backoff == 0)
		c->backoff = ROLE_BACKOFF_FIRST;
	in.tv_sec = c->backoff / 1000;
	in.tv_usec = (suseconds_t)(c->backoff % 1000) * 1000;
	c->backoff *= 2;
	if (c->backoff > ROLE_BACKOFF_MAX)
		c->backoff = ROLE_BACKOFF_MAX;
	if (event_add(c->on_restart, &in) == -1)
		fatalx("%s: timer: out of memory", c->spec->name);
}

/* Logs why the role ended. */
static void
log_end(const struct role_child *c, const siginfo_t *info)
{
	const char *name = c->spec->name;

	if ((c->expect_end && info->si_code == CLD_EXITED &&
		info->si_status == 0) ||
	    (c->killed && info->si_status == SIGKILL)) /* said already */
		log_debug("%s: pid %d ended", name, (int)c->pid);
	else if (info->si_code == CLD_EXITED)
		log_warnx("%s: pid %d ended with status %d", name, (int)c->pid,
		    info->si_status);
	else if (info->si_status == SIGSYS)
		log_warnx("%s: pid %d was killed by its sandbox: it made a "
			  "system call that is not permitted (the kernel "
			  "log has its number)",
		    name, (int)c->pid);
	else
		log_warnx("%s: pid %d was killed by signal %d (%s)", name,
		    (int)c->pid, info->si_status, strsignal(info->si_status));
}

static void
run_end(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct role_child *c = arg;
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG) == -1)
		fatal("%s: waitid", c->spec->name);
	if (info.si_pid == 0)
		return;
	log_end(c, &info);
	drop_event(&c->on_end);
	close(c->pidfd);
	c->pidfd = -1;
	c->pid = 0;
	c->serves = false;
	close_channel(c);
	if (!c->ready && !c->expect_end && !c->spec->optional)
		fatalx("%s did not start", c->spec->name);
	if (c->spec->ended != NULL)
		c->spec->ended(c->spec->arg, c);
	if (!c->expect_end)
		schedule(c);
}

static void
run_message(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct role_child *c = arg;
	const char *why = NULL;
	int i, r;

	for (i = 0; i < MESSAGES_AT_ONCE && c->channel != -1; i++) {
		r = ipc_serve((int)fd, c->spec->messages, c, &why);
		if (r == 1)
			continue;
		if (r == -1 && errno == EAGAIN)
			return;
		if (r == -1 && errno == EBADMSG)
			role_restart(c, why);
		else if (!c->expect_end) /* it has closed its end */
			daemon_kill(c->pid, c->uid);
		close_channel(c);
	}
}

static struct event *
watch(struct role_child *c, int fd, event_callback_fn run)
{
	struct event *ev;

	ev = event_new(c->base, fd, EV_READ | EV_PERSIST, run, c);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatalx("%s: event: out of memory", c->spec->name);
	return ev;
}

static void
launch(struct role_child *c)
{
	const struct role_spec *spec = c->spec;
	int pair[2], fds[ROLE_FDS_MAX];
	size_t nfds = 0;

	if (ipc_pair(pair) == -1)
		fatal("%s: socketpair", spec->name);
	if (spec->inherit != NULL)
		nfds = spec->inherit(spec->arg, spec->index, fds);
	c->pid = fork();
	if (c->pid == -1)
		fatal("%s: fork", spec->name);
	if (c->pid == 0)
		role_exec(c->d, spec, pair[1], fds, nfds);
	close(pair[1]);
	c->pidfd = pidfd_open(c->pid, 0);
	if (c->pidfd == -1)
		fatal("%s: pidfd_open", spec->name);
	(void)fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	c->channel = pair[0];
	c->since_ms = clock_ms();
	c->starts++;
	c->killed = false;
	c->owed = 0;
	c->asked_ms = 0;
	c->thread = 0;
	c->on_end = watch(c, c->pidfd, run_end);
	c->on_message = watch(c, c->channel, run_message);
	log_debug("%s: started as pid %d", spec->name, (int)c->pid);
	if (spec->started != NULL)
		spec->started(spec->arg, c);
}

/*
 * Overwrites the command line. libbsd writes a dot where the name of the program
 * ended, if the title is shorter. Blanks keep it away.
 */
static void
show_parent(void)
{
	int room = (int)strlen(program_invocation_name) -
	    (int)strlen(getprogname()) - (int)strlen(": ");

	setproctitle("%-*s", room > 0 ? room : 0, "parent");
}

struct role_child *
role_start(struct event_base *base, const struct daemon *d,
    const struct role_spec *spec)
{
	struct role_child *c = calloc(1, sizeof(*c));

	if (c == NULL)
		fatal("%s", spec->name);
	show_parent();
	c->base = base;
	c->d = d;
	c->spec = spec;
	c->channel = c->pidfd = -1;
	c->on_restart = evtimer_new(base, run_restart, c);
	if (c->on_restart == NULL)
		fatalx("%s: timer: out of memory", spec->name);
	launch(c);
	return c;
}

void
role_is_ready(struct role_child *c)
{
	if (c->serves) {
		role_restart(c, "sent READY twice");
		return;
	}
	if (c->ready)
		log_info("%s: serving again as pid %d", c->spec->name,
		    (int)c->pid);
	c->ready = c->serves = true;
}

bool
role_has_been_ready(const struct role_child *c)
{
	return c->ready;
}

void
role_owes(struct role_child *c)
{
	c->owed++;
}

void
role_acknowledged(struct role_child *c)
{
	if (c->owed == 0)
		role_restart(c, "acknowledged exports that it was not sent");
	else
		c->owed--;
}

bool
role_is_current(const struct role_child *c)
{
	return c->serves && !c->killed && c->owed == 0;
}

/*
 * Returns the CPU time of the thread that answers questions. That of all threads
 * if there is no /proc; 0 if the thread has ended.
 */
static uint64_t
thread_cpu_ms(const struct role_child *c)
{
	unsigned long long user, system;
	char path[64], text[512];
	const char *fields;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)c->pid,
	    (int)(c->thread != 0 ? c->thread : c->pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return access("/proc/self", F_OK) == -1 ?
		    clock_cpu_ns(c->pid) / 1000000 :
		    0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	fields = strrchr(text, ')'); /* behind its name: proc_pid_stat(5) */
	if (fields == NULL ||
	    sscanf(fields,
		") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		&user, &system) != 2)
		return 0;
	return (user + system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

void
role_ping(struct role_child *c, uint32_t type)
{
	if (c->channel == -1 || !c->serves || c->killed || c->asked_ms != 0)
		return;
	c->asked_ms = clock_ms();
	c->asked_cpu_ms = thread_cpu_ms(c);
	(void)role_send(c, type, NULL, 0, NULL, 0);
}

void
role_answered(void *arg, struct ipc_message *m)
{
	struct role_child *c = arg;
	struct role_pong pong;

	if (c->asked_ms == 0)
		role_restart(c, "answered a question that it was not asked");
	c->asked_ms = 0;
	memcpy(&pong, m->data, sizeof(pong));
	c->thread = pong.thread;
}

struct role_silence
role_silence(struct role_child *c)
{
	struct role_silence s = { .ms = 0 };
	siginfo_t info = { .si_pid = 0 };
	uint64_t cpu_ms;

	if (c->pid == 0 || (c->serves && c->asked_ms == 0))
		return s;
	s.ms = clock_ms() - (c->serves ? c->asked_ms : c->since_ms);
	cpu_ms = thread_cpu_ms(c);
	if (c->serves && cpu_ms > c->asked_cpu_ms)
		s.cpu_ms = cpu_ms - c->asked_cpu_ms;
	/* WNOWAIT: the next question gets the same answer. */
	s.stopped = waitid(P_PID, (id_t)c->pid, &info,
			WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == c->pid;
	return s;
}

bool
role_send(struct role_child *c, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds)
{
	struct pollfd p = { .fd = c->channel, .events = POLLOUT };

	if (c->channel == -1)
		return false;
	while (ipc_send(c->channel, type, data, len, fds, nfds) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			return false; /* run_end() logs its end */
		if (errno != EAGAIN)
			fatal("%s: send", c->spec->name);
		if (poll(&p, 1, ROLE_SEND_MS) <= 0) {
			role_restart(c, "does not read its messages");
			return false;
		}
	}
	return true;
}

bool
role_runs(const struct role_child *c)
{
	return c != NULL && c->channel != -1;
}

void
role_connect(struct role_child *const to[2], uint32_t type, size_t n,
    const void *data, size_t len)
{
	int ends[2][IPC_FDS_MAX] = { { 0 } }, pair[2];
	size_t i, side;

	if (!role_runs(to[0]) || !role_runs(to[1]))
		return;
	for (i = 0; i < n; i++) {
		if (ipc_pair(pair) == -1)
			fatal("channel");
		ends[0][i] = pair[0];
		ends[1][i] = pair[1];
	}
	for (side = 0; side < 2; side++) {
		(void)role_send(to[side], type, data, len, ends[side], n);
		for (i = 0; i < n; i++)
			close(ends[side][i]);
	}
}

int
role_channel(const struct role_child *c)
{
	return c->channel;
}

pid_t
role_pid(const struct role_child *c)
{
	return c->pid;
}

const char *
role_name(const struct role_child *c)
{
	return c->spec->name;
}

void *
role_arg(const struct role_child *c)
{
	return c->spec->arg;
}

unsigned int
role_index(const struct role_child *c)
{
	return c->spec->index;
}

unsigned int
role_starts(const struct role_child *c)
{
	return c->starts;
}

void
role_becomes(struct role_child *c, uid_t uid)
{
	c->uid = uid;
}

void
role_restart(struct role_child *c, const char *why)
{
	/* A killed role may have more messages queued: one line is enough. */
	if (c->pid == 0 || c->killed)
		return;
	log_warnx("%s: killing pid %d and starting another: %s", c->spec->name,
	    (int)c->pid, why);
	c->killed = true;
	daemon_kill(c->pid, c->uid);
}

void
role_replace(struct role_child *c, const char *why)
{
	if (c->pid == 0 || c->killed)
		return;
	log_info("%s: another takes the place of pid %d: %s", c->spec->name,
	    (int)c->pid, why);
	c->killed = true;
	daemon_kill(c->pid, c->uid);
}

void
role_expect_end(struct role_child *c)
{
	c->expect_end = true;
	(void)event_del(c->on_restart);
}

bool
role_has_ended(const struct role_child *c)
{
	return c->pid == 0 && c->expect_end;
}

void
role_free(struct role_child *c)
{
	if (c == NULL)
		return;
	if (c->pid != 0) {
		daemon_kill(c->pid, c->uid);
		(void)waitpid(c->pid, NULL, 0);
	}
	close_channel(c);
	drop_event(&c->on_end);
	drop_event(&c->on_restart);
	if (c->pidfd != -1)
		close(c->pidfd);
	free(c);
}
