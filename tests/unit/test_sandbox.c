/* SPDX-License-Identifier: ISC */
/*
 * Every layer of the sandbox, tested from inside by children that enter it.
 * Runs in: tests only, as root (skipped otherwise).
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"
#include "process/daemon.h"
#include "tap.h"

#define SQUASH 1000 /* lowest uid that the policy permits */

static char output[4096];
static char secret[] = "/tmp/sandbox-test-XXXXXX"; /* 0600, root's */

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_openat, false, "the tests open files" },
	{ SYS_prctl, false, "the tests look at themselves" },
	{ SYS_setfsuid, false, "act as the caller" },
};
static const struct sandbox_rule rules[] = {
	{ SYS_setfsuid, 0, SANDBOX_BELOW, SQUASH, "squashed ids" },
	{ SYS_setfsuid, 0, SANDBOX_ABOVE, 0xffffffff, "cut to 32 bits" },
};
static const struct sandbox_limit limits[] = {
	{ RLIMIT_RTPRIO, 0, "no real time" },
};
static const int caps[] = { CAP_SETUID, CAP_SETGID };
/* clang-format on */

static const struct sandbox_policy policy = { .role = "worker",
	.calls = calls,
	.ncalls = nitems(calls),
	.rules = rules,
	.nrules = nitems(rules),
	.limits = limits,
	.nlimits = nitems(limits),
	.caps = caps,
	.ncaps = nitems(caps) };

static void
enter(const struct sandbox_policy *p, bool strict)
{
	struct sandbox box;

	sandbox_begin(&box, p, strict);
	daemon_drop(65534, 65534);
	sandbox_set_root(&box, "private", "/srv/x");
	sandbox_enter(&box);
	sandbox_seal(&box);
}

/* Runs fn in a child. Returns its exit status, or minus its signal. */
static int
run(void (*fn)(void))
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
		(void)dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		close(fd[1]);
		fn();
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(fd[0]);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void
just_enter(void)
{
	enter(&policy, true);
}

static void
try_socket(void)
{
	enter(&policy, true);
	(void)socket(AF_INET, SOCK_STREAM, 0);
}

static void
try_mmap_exec(void)
{
	enter(&policy, true);
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
try_mprotect_exec(void)
{
	void *p;

	enter(&policy, true);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static void
try_fsuid_root(void)
{
	enter(&policy, true);
	(void)syscall(SYS_setfsuid, 0L);
}

static void
try_fsuid_squashed(void)
{
	enter(&policy, true);
	(void)syscall(SYS_setfsuid, (long)SQUASH - 1);
}

#if __SIZEOF_LONG__ > 4 /* an argument can have 64 bits */
static void
try_fsuid_wrapped(void)
{
	enter(&policy, true);
	(void)syscall(SYS_setfsuid, 1L << 32);
}

static void
try_fsuid_wrapped_user(void)
{
	enter(&policy, true);
	(void)syscall(SYS_setfsuid, (1L << 32) + SQUASH);
}
#endif

static void
try_fsuid_good(void)
{
	enter(&policy, true);
	(void)syscall(SYS_setfsuid, (long)SQUASH);
	_exit(syscall(SYS_setfsuid, 0xffffffffL) == SQUASH ? 0 : 1);
}

static atomic_int go;

static void *
thread(void *arg)
{
	while (atomic_load(&go) == 0)
		;
	(void)syscall(SYS_getppid);
	return arg;
}

static void
try_old_thread(void)
{
	struct sandbox box;
	pthread_t t;

	sandbox_begin(&box, &policy, false);
	daemon_drop(65534, 65534);
	sandbox_set_root(&box, "private", "/srv/x");
	sandbox_enter(&box);
	if (pthread_create(&t, NULL, thread, NULL) != 0)
		_exit(1);
	sandbox_seal(&box);
	atomic_store(&go, 1);
	pthread_join(t, NULL);
}

static void
try_open(void)
{
	enter(&policy, true);
	_exit(open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES ? 0 : 1);
}

static void
try_landlock_below(void)
{
	struct sandbox_policy p = policy;
	int dir = open("/etc", O_PATH | O_CLOEXEC);
	bool in, up, write_in;

	p.paths = &dir;
	p.npaths = 1;
	p.file_rights = SANDBOX_FILES_READ;
	enter(&p, true);
	in = openat(dir, "passwd", O_RDONLY) != -1;
	up = openat(dir, "../usr/bin/env", O_RDONLY) != -1;
	write_in = openat(dir, "passwd", O_WRONLY) != -1;
	_exit(in && !up && !write_in ? 0 : 1);
}

static void
try_bits(void)
{
	struct sandbox_policy p = policy;
	int bits, dumpable, parent = 0;

	p.dies_with_parent = true;
	enter(&p, true);
	bits = prctl(PR_GET_SECUREBITS);
	dumpable = prctl(PR_GET_DUMPABLE);
	(void)prctl(PR_GET_PDEATHSIG, &parent);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		_exit(1);
	if (dumpable != 0)
		_exit(2);
	if (parent != SIGKILL)
		_exit(3);
	/* all locked: noroot, fix-up, keep caps, ambient */
	_exit((bits & 0xaa) == 0xaa && (bits & 1) == 1 ? 0 : 4);
}

static void
read_status(const char *key, char *out, size_t size)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	out[0] = '\0';
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			(void)snprintf(out, size, "%s", line + strlen(key) + 2);
	out[strcspn(out, "\n")] = '\0';
	if (f != NULL)
		(void)fclose(f);
}

/* Without the filter, so that /proc can be read: sandbox_enter only. */
static void
try_caps(void)
{
	struct sandbox_policy p = policy;
	char permitted[64], effective[64], bounding[64];
	struct sandbox box;

	p.no_landlock = true;
	sandbox_begin(&box, &p, true);
	daemon_drop(65534, 65534);
	sandbox_enter(&box);
	(void)prctl(PR_SET_DUMPABLE, 1); /* to read its own /proc */
	read_status("CapPrm", permitted, sizeof(permitted));
	read_status("CapEff", effective, sizeof(effective));
	read_status("CapBnd", bounding, sizeof(bounding));
	_exit(strcmp(permitted, "00000000000000c0") == 0 &&
		    strcmp(effective, permitted) == 0 &&
		    strcmp(bounding, permitted) == 0 ?
		0 :
		1);
}

/* nfsd's root mode: file capabilities come and go with the fsuid. */
static void
try_follow_fsuid(void)
{
	static const int more[] = { CAP_SETUID, CAP_SETGID, CAP_DAC_OVERRIDE };
	struct sandbox_policy p = policy;
	bool first, as_user, as_root, back;

	p.caps = more;
	p.ncaps = nitems(more);
	p.caps_follow_fsuid = true;
	p.nrules = 0;
	p.no_landlock = true;
	enter(&p, true);
	first = open(secret, O_RDONLY) != -1;
	(void)syscall(SYS_setfsuid, 1000L);
	as_user = open(secret, O_RDONLY) != -1;
	(void)syscall(SYS_setfsuid, 0L);
	as_root = open(secret, O_RDONLY) != -1;
	(void)syscall(SYS_setfsuid, 1000L);
	back = open(secret, O_RDONLY) != -1;
	_exit(!first && !as_user && as_root && !back ? 0 : 1);
}

static void
become_nobody(void)
{
	daemon_drop(65534, 65534);
}

static void
try_strict(void)
{
	become_nobody();
	enter(&policy, true);
}

static void
try_lenient(void)
{
	become_nobody();
	enter(&policy, false);
}

static void
try_write(void)
{
	enter(&policy, true);
	_exit(write(STDOUT_FILENO, "", 0) == 0 ? 0 : 1);
}

static const struct {
	void (*fn)(void);
	int status;
	const char *name;
} cases[] = {
	{ try_write, 0, "calls in the tables are permitted" },
	{ try_socket, -SIGSYS, "a call outside the tables kills the process" },
	{ try_mmap_exec, -SIGSYS,
	    "executable memory kills the process (mmap)" },
	{ try_mprotect_exec, -SIGSYS,
	    "executable memory kills the process (mprotect)" },
	{ try_fsuid_good, 0, "setfsuid() of an ordinary user is permitted" },
	{ try_fsuid_root, -SIGSYS, "setfsuid(0) kills the process" },
	{ try_fsuid_squashed, -SIGSYS,
	    "setfsuid() below the limit kills the process" },
#if __SIZEOF_LONG__ > 4
	{ try_fsuid_wrapped, -SIGSYS, "setfsuid(2^32) kills the process" },
	{ try_fsuid_wrapped_user, -SIGSYS,
	    "setfsuid(2^32 + user) kills the process" },
#endif
	{ try_old_thread, -SIGSYS, "threads started before are filtered too" },
	{ try_open, 0,
	    "Landlock: no file is opened without a path in the policy" },
	{ try_landlock_below, 0,
	    "Landlock: files below a path of the policy are read only" },
	{ try_bits, 0, "securebits locked, not dumpable, dies with parent" },
	{ try_caps, 0, "capabilities and bounding set are the policy's" },
	{ try_follow_fsuid, 0, "file capabilities follow the fsuid" },
	{ try_strict, 1, "strict refuses to start if a layer is missing" },
	{ try_lenient, 0, "the process goes on without strict" },
};

static void
test_tables(void)
{
	size_t n, i;
	const struct sandbox_call *base = sandbox_base(&n);
	bool reasons = true;

	for (i = 0; i < n; i++)
		reasons =
		    reasons && base[i].why != NULL && base[i].why[0] != '\0';
	ok(n > 10 && reasons, "every entry of the base list has its reason");
}

int
main(void)
{
	size_t i;
	int fd;

	log_init("test_sandbox");
	if (geteuid() != 0)
		plan(SKIP_ALL, "needs root");
	plan(NO_PLAN);
	fd = mkstemp(secret);
	close(fd);
	test_tables();
	cmp_ok(run(just_enter), "==", 0, "all layers can be entered here");
	like(output,
	    "sandbox: mounts=private chroot=/srv/x caps=setuid,setgid "
	    "landlock=[0-9]+ seccomp=[0-9]+ net=closed",
	    "one log line names all layers");
	for (i = 0; i < nitems(cases); i++)
		if (SANDBOX_SANITIZER && cases[i].status == -SIGSYS)
			pass("%s: no filter beside a sanitizer", cases[i].name);
		else if (cmp_ok(run(cases[i].fn), "==", cases[i].status, "%s",
			     cases[i].name) == 0)
			diag("%s", output);
	like(output, "sandbox: missing .*capabilities \\(setuid,setgid\\)",
	    "one warning names what is missing");
	(void)unlink(secret);
	done_testing();
}
