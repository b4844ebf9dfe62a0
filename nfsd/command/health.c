/* SPDX-License-Identifier: ISC */
/*
 * nfsd -H. The parent asks each worker to call itself (nfsd/parent/parent_health.h)
 * and says where nfsd listens. A NULL call by TCP then takes the way through the
 * network, to each address that this machine has.
 * Runs in: nfsd -H.
 */
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/command/ask.h"
#include "nfsd/command/health.h"
#include "nfsd/control.h"

/* A NULL call of NFS 3 with its record mark, and where the reply says so. */
static const uint8_t null_call[] = {
	0x80, 0, 0, 40, /* last fragment, length */
	'T', 'E', 'R', 'N', /* xid */
	0, 0, 0, 0, 0, 0, 0, 2, /* call, RPC version 2 */
	0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 0, /* NFS 3 NULL */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 /* no credential */
};
static const uint8_t null_reply[] = { 0x80, 0, 0, 24, 'T', 'E', 'R', 'N', 0, 0,
	0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

static void
on_alarm(int sig UNUSED)
{
	static const char line[] = "nfsd: no answer in time\n";

	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	_exit(1);
}

/* Whatever happens: the process ends in time. */
static void
set_alarm(unsigned int seconds)
{
	struct sigaction action = { .sa_handler = on_alarm };

	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(seconds);
}

/*
 * Connects to an address of this machine, from the same address. Returns -1 with
 * EADDRNOTAVAIL if the machine does not have it, as a head of a cluster in
 * reserve.
 */
static int
reach_local(const struct addr *at)
{
	struct addr from = *at;
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, saved;

	from.port = 0;
	fd = socket(at->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	len = addr_to_sockaddr(&from, at->family, &ss);
	if (bind(fd, (const struct sockaddr *)&ss, len) == 0) {
		len = addr_to_sockaddr(at, at->family, &ss);
		if (connect(fd, (const struct sockaddr *)&ss, len) == 0)
			return fd;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Does a worker answer NULL here? Logs why not. */
static bool
answers(const struct addr *at)
{
	uint8_t got[sizeof(null_reply)];
	char text[ADDR_STRLEN];
	bool good = false;
	int fd = reach_local(at);

	if (fd == -1 && errno == EADDRNOTAVAIL)
		return true;
	if (fd != -1) {
		good = send(fd, null_call, sizeof(null_call), MSG_NOSIGNAL) ==
			(ssize_t)sizeof(null_call) &&
		    recv(fd, got, sizeof(got), MSG_WAITALL) ==
			(ssize_t)sizeof(got) &&
		    memcmp(got, null_reply, sizeof(got)) == 0;
		close(fd);
	}
	if (!good)
		log_warnx("tcp %s: no answer to a NULL call",
		    addr_print(at, text));
	return good;
}

/* "tcp ADDRESS:PORT"; one of all addresses is asked at loopback. */
static bool
check_socket(const char *line)
{
	static const uint8_t any[16], loopback6[16] = { [15] = 1 };
	struct addr at;

	if (!addr_parse(&at, line + strlen("tcp ")))
		return true;
	if (memcmp(at.bytes, any, sizeof(any)) == 0) {
		if (at.family == AF_INET)
			memcpy(at.bytes, (uint8_t[]){ 127, 0, 0, 1 }, 4);
		else
			memcpy(at.bytes, loopback6, sizeof(loopback6));
	}
	return answers(&at);
}

int
health_command(const char *path, unsigned int seconds)
{
	char request[CONTROL_REQUEST_MAX];
	char *text, *line, *next;
	int status = 0;

	set_alarm(seconds);
	(void)snprintf(request, sizeof(request), "health %u", seconds);
	text = next = ask_for(path, request, seconds);
	if (text == NULL)
		return 1;
	while (status == 0 && (line = strsep(&next, "\n")) != NULL)
		if (strncmp(line, "tcp ", 4) == 0)
			status = check_socket(line) ? 0 : 1;
		else if (*line != '\0')
			printf("%s\n", line);
	free(text);
	return status;
}
