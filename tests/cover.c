/* SPDX-License-Identifier: ISC */
/*
 * Coverage of children that cannot open their counter files: in a jail, as
 * another user, under Landlock. The files are opened at start and stay open. A
 * child writes its counters before it exits, executes another program, enters
 * the filter, or is killed by its parent, which waits for that. Linked into the
 * cover variant only (the linker's --wrap).
 * Runs in: make cover.
 */
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

#define COVER_FILES_MAX 300
#define COVER_FD	600 /* above the descriptors that tests count */
#define COVER_KILL_MS	3000 /* for a child to write before it is killed */

void __gcov_dump(void);
void __gcov_reset(void);
int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);
void __real__exit(int) __attribute__((noreturn));
void __wrap__exit(int) __attribute__((noreturn));
int __real_execv(const char *, char *const[]);
int __wrap_execv(const char *, char *const[]);
int __real_kill(pid_t, int);
int __wrap_kill(pid_t, int);
int __real_seccomp_load(const scmp_filter_ctx);
int __wrap_seccomp_load(const scmp_filter_ctx);

static struct {
	char *path;
	int fd;
} files[COVER_FILES_MAX];
static size_t nfiles;

/* A new descriptor for libgcov, at the start of the file. */
static int
again(int kept)
{
	int fd = fcntl(kept, F_DUPFD_CLOEXEC, COVER_FD + COVER_FILES_MAX);

	if (fd != -1 && lseek(fd, 0, SEEK_SET) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

int
__wrap_open(const char *path, int flags, ...)
{
	size_t i, len = strlen(path);
	va_list ap;
	int fd, mode;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, int) : 0;
	va_end(ap);
	if (len < 5 || strcmp(path + len - 5, ".gcda") != 0)
		return __real_open(path, flags, mode);
	for (i = 0; i < nfiles; i++)
		if (strcmp(files[i].path, path) == 0 &&
		    (fd = again(files[i].fd)) != -1)
			return fd;
	fd = __real_open(path, flags, mode);
	if (fd != -1 && i == nfiles && nfiles < COVER_FILES_MAX) {
		files[nfiles].path = strdup(path);
		files[nfiles].fd = fcntl(fd, F_DUPFD_CLOEXEC, COVER_FD);
		nfiles++;
	}
	return fd;
}

static bool sealed; /* the filter no longer permits libgcov's calls */

static void
flush(void)
{
	if (sealed)
		return;
	__gcov_dump();
	__gcov_reset();
}

static void
on_kill(int number)
{
	(void)number;
	flush();
	(void)__real_kill(getpid(), SIGKILL);
}

static void __attribute__((constructor)) start(void)
{
	struct sigaction action = { .sa_handler = on_kill };

	(void)sigaction(SIGUSR2, &action, NULL);
	flush();
}

static bool
has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
	    -1 ||
	    info.si_pid == pid;
}

int
__wrap_kill(pid_t pid, int number)
{
	int ms;

	if (number == SIGKILL && pid > 0 && __real_kill(pid, SIGUSR2) == 0)
		for (ms = 0; ms < COVER_KILL_MS && !has_ended(pid); ms += 10)
			(void)poll(NULL, 0, 10);
	return __real_kill(pid, number);
}

void
__wrap__exit(int status)
{
	flush();
	__real__exit(status);
}

int
__wrap_execv(const char *path, char *const argv[])
{
	flush();
	return __real_execv(path, argv);
}

int
__wrap_seccomp_load(const scmp_filter_ctx filter)
{
	flush();
	sealed = true;
	return __real_seccomp_load(filter);
}
