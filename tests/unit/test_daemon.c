/* SPDX-License-Identifier: ISC */
/*
 * Options, identity, drop and sockets of a daemon, each in a child whose output
 * the test reads.
 * Runs in: tests only; parts need root, else they are skipped.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "process/daemon.h"
#include "process/listen.h"
#include "process/notify.h"
#include "process/options.h"
#include "slack.h"
#include "tap.h"

static char output[4096]; /* of the last child */
static struct daemon d;
static struct own {
	unsigned int threads;
} own;

static const struct daemon_option options[] = {
	{ 0, "long-only", "n", "a number",
	    OPT_UINT(struct own, threads, 1, 64) },
	{ 't', "threads", "n", "file threads",
	    OPT_UINT(struct own, threads, 1, 64) },
};
static const struct daemon_option settings[] = {
	{ 0, "limit", "n", "a limit", OPT_UINT(struct own, threads, 1, 64) },
};
static const struct daemon_spec spec = { .name = "testd",
	.user = "nobody",
	.port = 1234,
	.has_exports = true,
	.max_operands = 1,
	.operands = "[path]",
	.options = options,
	.noptions = nitems(options),
	.settings = settings,
	.nsettings = nitems(settings),
	.arg = &own };

/* Runs fn in a child; returns its exit status, -1 for a signal. */
static int
run(void (*fn)(void *), void *arg)
{
	int fd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fd) == -1)
		BAIL_OUT("pipe");
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		close(fd[1]);
		fn(arg);
		(void)fflush(stdout);
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(fd[0]);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Splits a command line at blanks and parses it here. */
static void
parse(const char *line)
{
	static char copy[512];
	static char *argv[32];
	char *p = copy;
	int argc = 0;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	while ((argv[argc] = strsep(&p, " ")) != NULL)
		argc++;
	optind = 0; /* getopt starts from the beginning */
	daemon_options(&d, &spec, argc, argv);
}

static void
parse_child(void *line)
{
	parse(line);
}

static int
parse_fails(const char *line)
{
	char copy[512];

	(void)snprintf(copy, sizeof(copy), "%s", line);
	return run(parse_child, copy);
}

static void
test_options(void)
{
	parse("testd");
	ok(!d.foreground && d.port == 1234 && d.nlistens == 0 &&
		strcmp(d.user, "nobody") == 0,
	    "defaults come from the spec");
	parse("testd -d -n -vv -R -p 99 -u joe -s /x/y -f /e -k /k -t 7 /srv");
	ok(d.foreground && d.check_only && d.verbose == 2 && d.no_register,
	    "flags without value");
	ok(d.port == 99 && strcmp(d.user, "joe") == 0 &&
		strcmp(d.socket, "/x/y") == 0 &&
		strcmp(d.exports_file, "/e") == 0 &&
		strcmp(d.key_file, "/k") == 0,
	    "flags with value");
	cmp_ok(own.threads, "==", 7, "a daemon's own flag");
	ok(d.noperands == 1 && strcmp(d.operands[0], "/srv") == 0, "operand");
	parse("testd --long-only 5 --foreground --option strict -o limit=9");
	ok(d.foreground && d.strict && own.threads == 9,
	    "long options, settings");
	parse("testd -a 127.0.0.1 -a ::1@99 -a 0.0.0.0@50111 -a ::");
	cmp_ok(d.nlistens, "==", 4, "several addresses");
	ok(d.listens[0].at.family == AF_INET && d.listens[0].at.port == 0 &&
		!d.listens[0].any,
	    "an IPv4 address");
	ok(d.listens[1].at.family == AF_INET6 && d.listens[1].at.port == 99,
	    "an IPv6 address with port");
	ok(d.listens[2].any && d.listens[2].at.port == 50111, "a wildcard");
	ok(d.listens[3].any && d.listens[3].at.family == AF_INET6,
	    "an IPv6 wildcard");
	log_set_verbose(0);
}

/* Wrong command lines and what must be in the message. */
static const struct {
	const char *line;
	const char *message;
} wrong[] = {
	{ "testd -p 70000", "-p \"70000\": not a number from 0 to 65535" },
	{ "testd -p 80x", "-p \"80x\": not a number" },
	{ "testd -a nonsense", "not an IPv4 or IPv6 address" },
	{ "testd -a 127.0.0.1@0", "port after @" },
	{ "testd -t 0", "-t \"0\": not a number from 1 to 64" },
	{ "testd --long-only x", "--long-only \"x\": not a number" },
	{ "testd -s relative", "not an absolute path" },
	{ "testd -u ", "-u \"\": empty" },
	{ "testd -o nosuch", "-o nosuch: no such setting" },
	{ "testd -o strict=1", "takes no value" },
	{ "testd -o limit", "needs a value" },
	{ "testd -o limit=999", "-o limit \"999\": not a number from 1 to 64" },
	{ "testd -q", "invalid option" },
	{ "testd a b", "unexpected argument \"b\"" },
};

static void
test_wrong(void)
{
	size_t i;

	for (i = 0; i < nitems(wrong); i++) {
		cmp_ok(parse_fails(wrong[i].line), "==", 78, "status 78: %s",
		    wrong[i].line);
		if (!ok(strstr(output, wrong[i].message) != NULL, "says: %s",
			wrong[i].message))
			diag("said: %s", output);
	}
	cmp_ok(parse_fails("testd -V"), "==", 0, "-V succeeds");
	like(output, "^testd \\(tern\\) [0-9]", "and prints the version");
	cmp_ok(parse_fails("testd --help"), "==", 0, "--help succeeds");
	ok(strstr(output, "usage: testd [options] [path]") != NULL &&
		strstr(output, "--threads n") != NULL &&
		strstr(output, "limit=n") != NULL,
	    "and lists every option");
}

static void
identify(void *user)
{
	d.user = user;
	daemon_identity(&d);
}

static void
drop(void *arg)
{
	(void)arg;
	daemon_drop(65534, 65534);
	(void)printf("%d %d %d", (int)getuid(), (int)getegid(),
	    getgroups(0, NULL));
}

static void
test_identity(void)
{
	char missing[] = "_no_such_user", root[] = "root";

	skip(geteuid() != 0, 5, "needs root");
	cmp_ok(run(identify, missing), "==", 78, "an unknown user is fatal");
	ok(strstr(output, "systemd-sysusers") != NULL &&
		strstr(output, "useradd") != NULL,
	    "the message names both ways to make the user");
	cmp_ok(run(identify, root), "==", 78, "root is refused");
	cmp_ok(run(drop, NULL), "==", 0, "drops");
	is(output, "65534 65534 0",
	    "privileges drop to user and group, without further groups");
	end_skip;
}

static void
listen_child(void *arg)
{
	struct listen_set set;

	parse(arg);
	listen_all(&set, &d, "test 1,2", false);
}

static void
test_listen(void)
{
	struct listen_set first, second, third;
	char line[128];
	int fds[8];

	parse("testd -p 0 -a 127.0.0.1 -a ::1");
	listen_all(&first, &d, "test 1,2", true);
	cmp_ok(first.n, "==", 4, "UDP and TCP for each address");
	ok(first.list[0].at.port != 0 &&
		first.list[0].at.port == first.list[1].at.port &&
		first.list[0].at.port == first.list[3].at.port,
	    "all on the port the kernel chose");
	cmp_ok(listen_port(&first, true), "==", listen_port(&first, false),
	    "UDP and TCP agree");
	cmp_ok(listen_again(&second, &first), "==", 0,
	    "a second worker gets its own sockets");
	ok(second.n == 4 && addr_equal(&second.list[2].at, &first.list[2].at),
	    "they have the same addresses");
	cmp_ok(listen_fds(&first, fds, nitems(fds)), "==", 4, "descriptors");
	ok(listen_from(&third, fds, 4) == 0 && third.list[1].udp &&
		!third.list[0].udp &&
		addr_equal(&third.list[3].at, &first.list[3].at),
	    "sockets are recognized by their descriptors");
	fds[0] = open("/dev/null", O_RDONLY);
	cmp_ok(listen_from(&third, fds, 1), "==", -1,
	    "a descriptor that is not a socket is refused");
	close(fds[0]);
	(void)snprintf(line, sizeof(line), "testd -a 127.0.0.1 -p %u",
	    first.list[0].at.port);
	cmp_ok(run(listen_child, line), "==", 1, "a taken port is fatal");
	like(output, "taken by .* \\(pid [0-9]+\\).*-p",
	    "the message names the process that has it, and the remedy");
	listen_close(&second);
	listen_close(&first);
	cmp_ok(run(listen_child, line), "==", 0, "the port is free again");
	like(output, "listening on tcp 127.0.0.1:[0-9]+ \\(test 1,2\\)",
	    "a log line for each TCP socket");
	like(output, "listening on udp 127.0.0.1:[0-9]+ \\(test 1,2\\)",
	    "a log line for each UDP socket");
}

static void
unix_child(void *path)
{
	(void)listen_unix(path, 0666);
}

static void
test_unix(void)
{
	char dir[] = "/tmp/daemon-test-XXXXXX", path[64], file[64],
	     open_dir[64];
	struct stat st;
	int fd;

	if (mkdtemp(dir) == NULL)
		BAIL_OUT("mkdtemp");
	(void)snprintf(path, sizeof(path), "%s/run/s.sock", dir);
	(void)snprintf(file, sizeof(file), "%s/file", dir);
	(void)snprintf(open_dir, sizeof(open_dir), "%s/run", dir);
	fd = listen_unix(path, 0660);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0660,
	    "a unix socket gets its mode, and a missing directory is made");
	cmp_ok(run(unix_child, path), "==", 1,
	    "a unix socket in use is not replaced");
	like(output, "another server uses this socket", "the message says so");
	close(fd);
	cmp_ok(run(unix_child, path), "==", 0,
	    "an unused unix socket is replaced");
	fd = open(file, O_CREAT | O_WRONLY, 0644);
	close(fd);
	cmp_ok(run(unix_child, file), "==", 78,
	    "a regular file is not replaced");
	(void)chmod(open_dir, 0777);
	cmp_ok(run(unix_child, path), "==", 78,
	    "a directory that others may write is refused");
	like(output, "chmod go-w", "the message names the remedy");
	(void)unlink(path);
	(void)unlink(file);
	(void)rmdir(open_dir);
	(void)rmdir(dir);
}

static struct event_base *base;
static int told; /* the signals that reached their handlers */

static void
on_stop(void *arg)
{
	*(int *)arg |= 1;
	(void)event_base_loopbreak(base);
}

static void
on_reload(void *arg)
{
	*(int *)arg |= 2;
	(void)event_base_loopbreak(base);
}

static void
on_stats(void *arg)
{
	*(int *)arg |= 4;
	(void)event_base_loopbreak(base);
}

/* Acts as a service manager: makes a notify socket and asks for a watchdog. */
static int
be_manager(char path[108])
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(path, 108, "/tmp/daemon-notify-%d", (int)getpid());
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		BAIL_OUT("bind: %s", strerror(errno));
	(void)setenv("NOTIFY_SOCKET", path, 1);
	(void)setenv("WATCHDOG_USEC", "20000", 1);
	return fd;
}

/* The next message to the manager, or "" if none comes for some seconds. */
static const char *
heard(int fd)
{
	static char text[256];
	struct timeval limit = { .tv_sec = 5 * TEST_SLACK };
	ssize_t n;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	n = recv(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* The next message that is not for the watchdog. */
static const char *
heard_other(int fd)
{
	const char *text;

	do
		text = heard(fd);
	while (strncmp(text, "WATCHDOG", 8) == 0);
	return text;
}

static void
send_signal(int number)
{
	struct timeval limit = { .tv_sec = 5 * TEST_SLACK };

	(void)kill(getpid(), number);
	(void)event_base_loopexit(base, &limit);
	(void)event_base_dispatch(base);
}

static void
test_manager(void)
{
	static struct daemon_signals signals = { on_stop, on_reload, on_stats,
		&told };
	char path[108];
	int fd = be_manager(path);

	d.foreground = true;
	daemon_detach(&d);
	ok(!d.detached && getenv("NOTIFY_SOCKET") == NULL,
	    "-d stays in the foreground");
	base = event_base_new();
	daemon_signals(base, &d, &signals);
	daemon_ready(base, &d);
	is(heard(fd), "READY=1", "tells the service manager that it is ready");
	(void)event_base_loop(base, EVLOOP_ONCE);
	is(heard(fd), "WATCHDOG=1", "tells the watchdog that it lives");
	send_signal(SIGHUP);
	like(heard_other(fd), "^RELOADING=1",
	    "tells the service manager of a reload");
	daemon_reloaded(&d);
	is(heard_other(fd), "READY=1",
	    "tells it of the end of the reload, not before");
	send_signal(SIGUSR1);
	send_signal(SIGTERM);
	cmp_ok(told, "==", 7, "TERM, HUP and USR1 reach their handlers");
	while (d.nevents > 0) /* a daemon keeps them until it ends */
		event_free(d.events[--d.nevents]);
	event_base_free(base);
	close(fd);
	(void)unlink(path);
	cmp_ok(daemon_raise_files(), ">=", 256,
	    "the limit of descriptors is raised");
}

/* In the background: the command that started it returns the outcome. */
static void
detach_good(void *arg UNUSED)
{
	struct event_base *b;

	d.foreground = false;
	daemon_detach(&d);
	b = event_base_new();
	daemon_ready(b, &d);
	event_base_free(b);
	_exit(d.detached ? 0 : 1);
}

static void
detach_bad(void *arg UNUSED)
{
	d.foreground = false;
	daemon_detach(&d);
	_exit(0); /* never ready */
}

static void
test_detach(void)
{
	cmp_ok(run(detach_good, NULL), "==", 0,
	    "the starting command waits until the daemon is ready");
	cmp_ok(run(detach_bad, NULL), "==", 1,
	    "it fails if the daemon does not become ready");
	like(output, "did not start", "it says so");
}

static void
inherit(void *arg)
{
	struct listen_set *set = arg;

	(void)dup2(set->list[0].fd, 3);
	(void)setenv("LISTEN_FDS", "1", 1);
	if (!listen_inherited(set, "portmap 2-4") || set->list[0].fd != 3 ||
	    getenv("LISTEN_FDS") != NULL)
		_exit(9);
}

/* A child of another user is killed by root without CAP_KILL. */
static void
kill_child(void *arg)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	const uid_t *uid = arg;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		daemon_drop(*uid, *uid);
		for (;;)
			(void)pause();
	}
	if (syscall(SYS_capget, &head, data) == -1)
		_exit(7);
	data[0].effective &= ~(UINT32_C(1) << CAP_KILL);
	data[0].permitted = data[0].effective;
	if (syscall(SYS_capset, &head, data) == -1)
		_exit(8);
	/* until the child has dropped its user: only then is root refused */
	while (kill(pid, 0) == 0)
		(void)usleep(1000);
	daemon_kill(pid, *uid);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    geteuid() != 0)
		_exit(9);
}

static void
test_kill(void)
{
	uid_t uid = 65534;

	skip(geteuid() != 0, 1, "needs root")
	{
		cmp_ok(run(kill_child, &uid), "==", 0,
		    "a role can be killed without CAP_KILL");
	}
	end_skip;
}

int
main(void)
{
	struct listen_set set;

	log_init("testd");
	plan(NO_PLAN);
	test_options();
	test_wrong();
	test_identity();
	test_listen();
	test_unix();
	test_manager();
	test_detach();
	test_kill();
	parse("testd -p 0 -a 127.0.0.1");
	listen_all(&set, &d, "x", false);
	cmp_ok(run(inherit, &set), "==", 0, "takes sockets from systemd");
	ok(!listen_inherited(&set, "x"), "takes none if systemd passes none");
	done_testing();
}
