/* SPDX-License-Identifier: ISC */
/*
 * Becomes a role. The command line of a re-executed copy is "nfsd --role worker
 * INDEX MASK SYSLOG VERBOSE". Its ipc socket is descriptor 3; the inherited
 * descriptors are 4 and up. A user who runs such a command gets a process with
 * the user's own rights and without parent.
 * Runs in: every role; role_exec in the child of the parent that becomes one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exec.h"

#define ROLE_FLAG  "--role"
#define ROLE_ABOVE 300 /* descriptors are moved here before 3 and up are set */

/* Positions in the command line of a role. */
enum {
	ARG_FLAG = 1,
	ARG_NAME,
	ARG_INDEX,
	ARG_MASK,
	ARG_SYSLOG,
	ARG_VERBOSE,
	ARG_COUNT
};

/* The terminal and the service manager signal the whole process group. Only
 * the parent acts on a signal. */
static void
ignore_signals(void)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1,
		SIGPIPE };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	size_t i;

	for (i = 0; i < nitems(numbers); i++)
		(void)sigaction(numbers[i], &ignore, NULL);
}

static long long
number(const char *text, long long max)
{
	const char *wrong;
	long long n = strtonum(text, 0, max, &wrong);

	if (wrong != NULL)
		fatalx("--role is for internal use");
	return n;
}

/* Reads the mask, a letter for each descriptor: 'f' passed, '-' none. */
static void
find_fds(struct role *role, const char *mask)
{
	int fd = ROLE_FDS_FIRST;
	size_t i;

	role->nfds = strlen(mask) - 1; /* the first letter is the channel */
	role->channel = ROLE_CHANNEL;
	if (role->nfds > ROLE_FDS_MAX ||
	    fcntl(role->channel, F_SETFD, FD_CLOEXEC) == -1)
		fatalx("--role is for internal use");
	for (i = 0; i < role->nfds; i++) {
		role->fds[i] = mask[i + 1] == '-' ? -1 : fd++;
		if (role->fds[i] != -1 &&
		    fcntl(role->fds[i], F_SETFD, FD_CLOEXEC) == -1)
			fatal("inherited descriptor %zu", i);
	}
}

static void
become(struct role *role, char *argv[])
{
	role->index = (unsigned int)number(argv[ARG_INDEX], 4096);
	if (argv[ARG_MASK][0] == '\0')
		fatalx("--role is for internal use");
	find_fds(role, argv[ARG_MASK]);
	log_role(role->name);
	log_set_verbose((int)number(argv[ARG_VERBOSE], 9));
	if (number(argv[ARG_SYSLOG], 1) == 1)
		log_to_syslog();
	ignore_signals();
}

void
role_dispatch(int argc, char *argv[], const struct role_row *rows, size_t n)
{
	static struct role role;
	size_t i;

	setproctitle_init(argc, argv, environ);
	if (argc < 2 || strcmp(argv[ARG_FLAG], ROLE_FLAG) != 0)
		return;
	for (i = 0; i < n && argc == ARG_COUNT; i++) {
		if (strcmp(rows[i].name, argv[ARG_NAME]) != 0)
			continue;
		role.name = rows[i].name;
		become(&role, argv);
		/* after exec of /proc/self/exe the name is "exe" */
		pthread_setname_np(pthread_self(), getprogname());
		setproctitle("%s", role.name);
		exit(rows[i].run(&role));
	}
	fatalx("--role is for internal use");
}

/* Moves the descriptors above the numbers that they get in the role. */
static bool
lift_fds(int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (fds[i] == -1)
			continue;
		fds[i] = fcntl(fds[i], F_DUPFD, ROLE_ABOVE);
		if (fds[i] == -1)
			return false;
	}
	return true;
}

void
role_exec(const struct daemon *d, const struct role_spec *spec, int channel,
    const int *fds, size_t nfds)
{
	char flag[] = ROLE_FLAG, role[32], place[16], mask[ROLE_FDS_MAX + 2];
	char syslog[2], verbose[16], program[64];
	char *argv[] = { program, flag, role, place, mask, syslog, verbose,
		NULL };
	int all[ROLE_FDS_MAX + 1], to = ROLE_CHANNEL;
	size_t i;

	all[0] = channel;
	memcpy(all + 1, fds, nfds * sizeof(int));
	if (!lift_fds(all, nfds + 1))
		fatal("descriptors of %s", spec->name);
	for (i = 0; i <= nfds; i++) {
		mask[i] = all[i] == -1 ? '-' : 'f';
		if (all[i] != -1 && dup2(all[i], to++) == -1)
			fatal("descriptors of %s", spec->name);
	}
	mask[i] = '\0';
	(void)close_range((unsigned int)to, ~0U, 0);
	(void)snprintf(program, sizeof(program), "%s", getprogname());
	(void)snprintf(role, sizeof(role), "%s", spec->name);
	(void)snprintf(place, sizeof(place), "%u", spec->index);
	(void)snprintf(syslog, sizeof(syslog), "%d", d->detached);
	(void)snprintf(verbose, sizeof(verbose), "%d", log_verbose());
	(void)execv("/proc/self/exe", argv);
	fatal("/proc/self/exe");
}

void
role_pong(int channel, uint32_t type)
{
	struct role_pong pong = { .thread = gettid() };

	if (ipc_send(channel, type, &pong, sizeof(pong), NULL, 0) == -1)
		fatal("parent: cannot answer it");
}
