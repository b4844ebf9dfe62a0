/* SPDX-License-Identifier: ISC */
/*
 * Runs the tries in a role just before its last step (the linker's --wrap). It
 * forks one child per try. The shipped code seals the child exactly as the
 * role: same user, capabilities, Landlock domain, namespaces, descriptors and
 * memory. Then the child makes its try. Results go to the file that TERN_OWNED
 * names, which is opened first of all.
 * Runs in: the programs of build/owned only.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "confine/sandbox.h"
#include "owned.h"
#include "process/role.h"

void __wrap_log_init(const char *);
void __real_log_init(const char *);
void __wrap_sandbox_seal(struct sandbox *);
void __real_sandbox_seal(struct sandbox *);
int __wrap_setrlimit(int, const struct rlimit *);
int __real_setrlimit(int, const struct rlimit *);

static int results = -1;
static struct owned owned;
static struct rlimit processes; /* set late: the tries need children */
static bool has_processes;

/* A copy, since the process title overwrites the environment. */
static const char *
keep(const char *name)
{
	const char *value = getenv(name);

	return strdup(value != NULL ? value : "none");
}

void
__wrap_log_init(const char *name)
{
	const char *path = getenv("TERN_OWNED");
	const char *port = getenv("TERN_OWNED_PORT");
	const char *squashed = getenv("TERN_OWNED_SQUASHED");
	const char *export = getenv("TERN_OWNED_EXPORT");

	__real_log_init(name);
	if (path == NULL)
		return;
	results = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	/* above all descriptors that a role gets by number */
	if (results != -1)
		results = fcntl(results, F_DUPFD_CLOEXEC, 900);
	owned.port = port != NULL ? (unsigned short)strtoul(port, NULL, 10) : 1;
	owned.squashed = squashed != NULL ? strtol(squashed, NULL, 10) : 1;
	owned.export_id =
	    export != NULL ? (uint32_t)strtoul(export, NULL, 10) : 1;
	owned.without_filter = getenv("TERN_OWNED_WITHOUT_FILTER") != NULL;
	owned.file = open(keep("TERN_OWNED_FILE"), O_RDWR | O_CLOEXEC);
	if (owned.file != -1)
		owned.file = fcntl(owned.file, F_DUPFD_CLOEXEC, 901);
	owned.socket = keep("TERN_OWNED_SOCKET");
	owned.secret = keep("TERN_OWNED_SECRET");
}

int
__wrap_setrlimit(int what, const struct rlimit *limit)
{
	if (what != RLIMIT_NPROC || results == -1)
		return __real_setrlimit(what, limit);
	processes = *limit;
	has_processes = true;
	return 0;
}

/* Every unix socket of nfsd's worker leads to the broker, except one. */
static bool
is_broker(int fd)
{
	int domain;
	socklen_t len = sizeof(domain);

	return strcmp(getprogname(), "nfsd") == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	    domain == AF_UNIX;
}

static void
look_around(void)
{
	struct stat st;
	int fd;

	owned.parent = getppid();
	owned.broker = -1;
	for (fd = ROLE_CHANNEL; fd < 900; fd++) {
		if (fstat(fd, &st) == -1)
			continue;
		if (fd != ROLE_CHANNEL && is_broker(fd))
			owned.broker = fd;
		if (S_ISDIR(st.st_mode) && owned.ndirs < OWNED_DIRS_MAX)
			owned.dirs[owned.ndirs++] = fd;
		if (S_ISSOCK(st.st_mode) && owned.nsockets < OWNED_DIRS_MAX)
			owned.sockets[owned.nsockets++] = fd;
	}
}

/* The result of a child, in shared memory because the filter may kill it. */
struct outcome {
	bool sealed;
	bool returned;
	bool worked;
	int error;
};

static void NO_RETURN
child(const struct sandbox *box, const struct owned_try *t, struct outcome *o)
{
	struct sandbox copy = *box;

	close(STDERR_FILENO); /* the role itself logs its start */
	if (has_processes)
		(void)__real_setrlimit(RLIMIT_NPROC, &processes);
	if (!owned.without_filter)
		__real_sandbox_seal(&copy);
	o->sealed = true;
	o->worked = t->run(&owned);
	o->error = errno;
	o->returned = true;
	_exit(0);
}

static void
try_one(const struct sandbox *box, const struct owned_try *t, struct outcome *o)
{
	char line[256], how[64];
	const char *verdict = "denied";
	int status = 0, len;
	pid_t pid;

	*o = (struct outcome){ .sealed = false };
	pid = fork();
	if (pid == 0)
		child(box, t, o);
	if (pid == -1 || waitpid(pid, &status, 0) != pid || !o->sealed) {
		verdict = "BROKEN";
		(void)snprintf(how, sizeof(how), "status %x", status);
	} else if (o->returned) {
		verdict = o->worked ? "ALLOWED" : "denied";
		(void)snprintf(how, sizeof(how), "%s",
		    o->worked ? "it worked" : strerror(o->error));
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		(void)snprintf(how, sizeof(how), "killed by seccomp");
	else {
		verdict = "ALLOWED"; /* a successful exec ends like this */
		(void)snprintf(how, sizeof(how), "status %x", status);
	}
	len = snprintf(line, sizeof(line), "%s\t%s\t%s\t%s\n",
	    box->policy->role, t->name, verdict, how);
	if (write(results, line, (size_t)len) != len)
		_exit(1);
}

void
__wrap_sandbox_seal(struct sandbox *box)
{
	struct outcome *o;
	size_t i;

	if (results != -1) {
		look_around();
		o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		for (i = 0; o != MAP_FAILED && i < owned_ntries; i++)
			try_one(box, &owned_tries[i], o);
		if (write(results, "end\n", 4) != 4)
			_exit(1);
	}
	__real_sandbox_seal(box);
}
