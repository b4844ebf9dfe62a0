/* SPDX-License-Identifier: ISC */
/*
 * The steps of starting: user, background, readiness, drop, signals. Besides
 * nfsd's switch for each call, only this file changes user and groups.
 * Runs in: the first process of each daemon; drop and signals in all.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "confine/sandbox.h"
#include "process/daemon.h"
#include "process/notify.h"

void
daemon_identity(struct daemon *d)
{
	struct passwd *pw;

	d->rootless = geteuid() != 0;
	errno = 0;
	pw = getpwnam(d->user);
	if (d->rootless) {
		/* a plain user cannot change user, so -u is ignored */
		if (pw != NULL && pw->pw_uid != geteuid())
			log_debug("not root: running as uid %u, not as %s",
			    (unsigned int)geteuid(), d->user);
		d->uid = geteuid();
		d->gid = getegid();
		return;
	}
	if (pw == NULL)
		fatal_config(
		    "user \"%s\" does not exist: run \"systemd-sysusers "
		    "tern.conf\" or \"useradd --system --no-create-home "
		    "--shell /usr/sbin/nologin %s\", or name another "
		    "with -u",
		    d->user, d->user);
	if (pw->pw_uid == 0)
		fatal_config("user \"%s\" is root: name an unprivileged user "
			     "with -u",
		    d->user);
	d->uid = pw->pw_uid;
	d->gid = pw->pw_gid;
}

void
daemon_role_user(const struct daemon *d, const char *user, uid_t *uid,
    gid_t *gid)
{
	const struct passwd *pw = getpwnam(user);

	*uid = d->uid;
	*gid = d->gid;
	if (d->rootless)
		return;
	if (pw == NULL || pw->pw_uid == 0)
		fatal_config("user \"%s\" does not exist: run "
			     "\"systemd-sysusers tern.conf\" or \"useradd "
			     "--system --no-create-home --shell "
			     "/usr/sbin/nologin %s\"",
		    user, user);
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
}

/* Waits for the daemon in the background. Exits 0 when it is ready, else 1. */
static void NO_RETURN
wait_for_ready(const struct daemon *d, int fd)
{
	ssize_t n;
	char byte;

	do
		n = read(fd, &byte, 1);
	while (n == -1 && errno == EINTR);
	if (n != 1)
		fatalx("%s did not start: see the system log, or start it "
		       "with -d",
		    d->name);
	_exit(0);
}

void
daemon_detach(struct daemon *d)
{
	int fd[2], null;

	d->starter = -1;
	if (!d->foreground) {
		if (pipe2(fd, O_CLOEXEC) == -1)
			fatal("pipe");
		switch (fork()) {
		case -1:
			fatal("fork");
		case 0:
			break;
		default:
			close(fd[1]);
			wait_for_ready(d, fd[0]);
		}
		close(fd[0]);
		d->starter = fd[1];
		if (setsid() == -1)
			fatal("setsid");
		log_to_syslog();
		d->detached = true;
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null == -1)
			fatal("/dev/null");
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		close(null);
	}
	if (chdir("/") == -1)
		fatal("/");
	(void)umask(022);
	sandbox_hide_memory();
	notify_init(&d->notify);
}

static void
keep(struct daemon *d, struct event *ev, const struct timeval *every)
{
	if (ev == NULL || d->nevents == DAEMON_EVENTS_MAX ||
	    event_add(ev, every) == -1)
		fatalx("events of the daemon: out of memory");
	d->events[d->nevents++] = ev;
}

static void
feed_watchdog(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct daemon *d = arg;

	if (!d->unwell)
		notify_watchdog(&d->notify);
}

struct event_base *
daemon_events(void)
{
	struct event_base *base = event_base_new();

	/* libevent falls back to poll(2), which the filters forbid. */
	if (base == NULL || strcmp(event_base_get_method(base), "epoll") != 0)
		fatalx("event loop: no epoll: out of memory or descriptors, or "
		       "not in this kernel");
	return base;
}

void
daemon_ready(struct event_base *base, struct daemon *d)
{
	uint64_t usec = notify_watchdog_usec(&d->notify);
	struct timeval every = { .tv_sec = (time_t)(usec / 1000000),
		.tv_usec = (suseconds_t)(usec % 1000000) };

	if (d->starter != -1) {
		(void)!write(d->starter, "", 1);
		close(d->starter);
		d->starter = -1;
	}
	notify_ready(&d->notify);
	log_debug("%s is ready", d->name);
	if (usec == 0)
		return;
	keep(d, event_new(base, -1, EV_PERSIST, feed_watchdog, d), &every);
}

void
daemon_drop(uid_t uid, gid_t gid)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	/* a plain user has these ids already, and may not call setgroups() */
	if (geteuid() != 0 && geteuid() == uid && getegid() == gid)
		return;
	if (setgroups(0, NULL) == -1)
		fatal("setgroups (a container needs CAP_SETGID for this)");
	if (setresgid(gid, gid, gid) == -1)
		fatal("setresgid %u", (unsigned int)gid);
	if (setresuid(uid, uid, uid) == -1)
		fatal("setresuid %u", (unsigned int)uid);
	if (getresuid(&r, &e, &s) == -1 || r != uid || e != uid || s != uid ||
	    getresgid(&rg, &eg, &sg) == -1 || rg != gid || eg != gid ||
	    sg != gid || getgroups(0, NULL) != 0)
		fatalx("could not become uid %u", (unsigned int)uid);
}

/*
 * Without CAP_KILL a process may only signal processes of its own user. The
 * parent therefore takes the user id of the target for a moment.
 */
void
daemon_kill(pid_t pid, uid_t uid)
{
	if (kill(pid, SIGKILL) == 0 || errno != EPERM)
		return;
	if (setresuid((uid_t)-1, uid, (uid_t)-1) == -1 ||
	    kill(pid, SIGKILL) == -1)
		log_warn("cannot kill pid %d of uid %u", (int)pid,
		    (unsigned int)uid);
	if (setresuid((uid_t)-1, getuid(), (uid_t)-1) == -1)
		fatal("setresuid back to %u", (unsigned int)getuid());
}

static void
daemon_on_stop(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct daemon *d = arg;

	notify_stopping(&d->notify);
	d->signals.stop(d->signals.arg);
}

static void
daemon_on_reload(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct daemon *d = arg;

	notify_reloading(&d->notify);
	d->signals.reload(d->signals.arg);
}

void
daemon_reloaded(const struct daemon *d)
{
	notify_ready(&d->notify);
}

static void
daemon_on_stats(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct daemon *d = arg;

	d->signals.stats(d->signals.arg);
}

/* run NULL: the signal is ignored. */
static void
watch_signal(struct event_base *base, struct daemon *d, int number,
    event_callback_fn run)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (run == NULL)
		(void)sigaction(number, &ignore, NULL);
	else
		keep(d, evsignal_new(base, number, run, d), NULL);
}

void
daemon_signals(struct event_base *base, struct daemon *d,
    const struct daemon_signals *s)
{
	d->signals = *s;
	watch_signal(base, d, SIGPIPE, NULL);
	watch_signal(base, d, SIGTERM, s->stop != NULL ? daemon_on_stop : NULL);
	watch_signal(base, d, SIGINT, s->stop != NULL ? daemon_on_stop : NULL);
	watch_signal(base, d, SIGHUP,
	    s->reload != NULL ? daemon_on_reload : NULL);
	watch_signal(base, d, SIGUSR1,
	    s->stats != NULL ? daemon_on_stats : NULL);
}

size_t
daemon_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return 256;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return (size_t)limit.rlim_cur;
}
