/* SPDX-License-Identifier: ISC */
/*
 * Runs a command, and all it starts, without the vDSO: novdso FOLDER COMMAND...
 * After each exec(2) it overwrites AT_SYSINFO_EHDR in the auxiliary vector.
 * The C library then makes a real system call for every clock, as on a machine
 * whose clock source the vDSO cannot read. FOLDER gets one file for each
 * thread, in the form of strace -ff -ttt, for calls.py.
 * The tracer is a grandchild, so the command keeps the process id.
 * Runs in: the tests.
 */
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <seccomp.h>

#define THREADS_MAX   4096
#define EVENT(status) ((unsigned int)(status) >> 16)

static const char *folder;
static struct {
	pid_t tid;
	FILE *trace;
} threads[THREADS_MAX];

static FILE *
trace_of(pid_t tid)
{
	char path[4096];
	size_t i;

	for (i = 0; i < THREADS_MAX && threads[i].trace != NULL; i++)
		if (threads[i].tid == tid)
			return threads[i].trace;
	if (i == THREADS_MAX)
		errx(1, "more than %d threads", THREADS_MAX);
	(void)snprintf(path, sizeof(path), "%s/trace.%d", folder, (int)tid);
	threads[i].tid = tid;
	threads[i].trace = fopen(path, "we");
	if (threads[i].trace == NULL)
		err(1, "%s", path);
	setvbuf(threads[i].trace, NULL, _IOLBF, 0);
	return threads[i].trace;
}

static void
note_time(FILE *to)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	(void)fprintf(to, "%lld.%06ld ", (long long)now.tv_sec,
	    now.tv_nsec / 1000);
}

/* Writes the command line as strace does: each argument in quotes. */
static void
note_exec(pid_t tid)
{
	char path[64], text[4096];
	FILE *to = trace_of(tid);
	ssize_t n = -1, at;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1)
		n = read(fd, text, sizeof(text) - 1);
	close(fd);
	note_time(to);
	(void)fputs("execve(", to);
	for (at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
		text[n] = '\0';
		(void)fprintf(to, "\"%s\", ", text + at);
	}
	(void)fputs(") = 0\n", to);
}

static uint64_t
peek(pid_t tid, uintptr_t at)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, tid, (void *)at, NULL);
	if (errno != 0)
		err(1, "auxiliary vector");
	return (uint64_t)word;
}

/* Returns the address of the first stack word: argc, argv, environ, auxv. */
static uintptr_t
stack_of(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) <=
	    0)
		err(1, "stack");
	return (uintptr_t)info.stack_pointer;
}

/* Makes AT_SYSINFO_EHDR an entry that the C library ignores. */
static void
hide_vdso(pid_t tid)
{
	const size_t word = sizeof(long);
	uintptr_t at = stack_of(tid);
	uint64_t type;

	at += (peek(tid, at) + 2) * word; /* argc, argv and its NULL */
	while (peek(tid, at) != 0)
		at += word;
	for (at += word; (type = peek(tid, at)) != AT_NULL; at += 2 * word)
		if (type == AT_SYSINFO_EHDR &&
		    ptrace(PTRACE_POKEDATA, tid, (void *)at, AT_IGNORE) == -1)
			err(1, "auxiliary vector");
}

static void
note_call(pid_t tid)
{
	struct __ptrace_syscall_info info;
	FILE *to = trace_of(tid);
	char *name;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) <=
		0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE,
	    (int)info.entry.nr);
	note_time(to);
	if (name != NULL)
		(void)fprintf(to, "%s() = 0\n", name);
	else
		(void)fprintf(to, "syscall_0x%llx() = 0\n",
		    (unsigned long long)info.entry.nr);
	free(name);
}

static void
note_child(pid_t tid)
{
	unsigned long child = 0;
	FILE *to = trace_of(tid);

	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &child) == -1)
		return;
	note_time(to);
	(void)fprintf(to, "clone() = %lu\n", child);
}

/* Returns the signal to deliver. */
static int
handle_stop(pid_t tid, int status)
{
	unsigned int event = EVENT(status);
	int number = WSTOPSIG(status);

	if (number == (SIGTRAP | 0x80))
		note_call(tid);
	else if (event == PTRACE_EVENT_EXEC) {
		hide_vdso(tid);
		note_exec(tid);
	} else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	    event == PTRACE_EVENT_VFORK)
		note_child(tid);
	else if (event == 0)
		return number;
	return 0;
}

/* Writes a byte to go when the command may begin. */
static void
trace_all(pid_t first, int go)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
	    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	int status;
	pid_t tid;

	if (ptrace(PTRACE_SEIZE, first, NULL, (void *)options) == -1 ||
	    write(go, "", 1) != 1)
		err(1, "ptrace");
	close(go);
	while ((tid = waitpid(-1, &status, __WALL)) != -1 || errno == EINTR) {
		if (tid == -1)
			continue;
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_SYSCALL, tid, NULL,
			    (void *)(intptr_t)handle_stop(tid, status));
		else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
			(void)fputs("+++ killed by SIGSYS +++\n",
			    trace_of(tid));
	}
}

int
main(int argc, char *argv[])
{
	pid_t self = getpid(), child;
	int go[2];
	char byte;

	if (argc < 3)
		errx(1, "usage: novdso folder command [argument ...]");
	folder = argv[1];
	if (pipe2(go, O_CLOEXEC) == -1)
		err(1, "pipe");
	child = fork();
	if (child == -1)
		err(1, "fork");
	if (child == 0) {
		/* A grandchild: the command has no child that it did not make. */
		if (fork() != 0)
			_exit(0);
		(void)setsid();
		close(go[0]);
		trace_all(self, go[1]);
		_exit(0);
	}
	close(go[1]);
	(void)waitpid(child, NULL, 0);
	if (read(go[0], &byte, 1) != 1)
		errx(1, "no tracer");
	(void)execvp(argv[2], argv + 2);
	err(1, "%s", argv[2]);
}
