/* SPDX-License-Identifier: ISC */
/*
 * Binds the sockets of -a and -p. If the kernel chooses the port, all sockets
 * of a daemon share it: PORTMAP 2 registers one port for each protocol.
 * Runs in: the first process of each daemon; listen_from in roles.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "process/listen.h"
#include "process/listen_owner.h"

#define LISTEN_TRIES	64 /* for a port that is free on every address */
#define LISTEN_FD_FIRST 3 /* sd_listen_fds(3) */

void
listen_close(struct listen_set *set)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		close(set->list[i].fd);
	set->n = 0;
}

static int
set_flag(int fd, int level, int name)
{
	int on = 1;

	return setsockopt(fd, level, name, &on, sizeof(on));
}

/* Fills in at and udp from the kernel. Returns 0, or -1 with errno. */
static int
describe(struct listen_socket *s)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss), typelen = sizeof(int);
	int type;

	if (getsockname(s->fd, (struct sockaddr *)&ss, &len) == -1 ||
	    getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &type, &typelen) == -1)
		return -1;
	s->udp = type == SOCK_DGRAM;
	if (!addr_from_sockaddr(&s->at, (struct sockaddr *)&ss, len)) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return 0;
}

/* Opens and binds one socket. Returns 0, or -1 with errno. */
static int
open_socket(struct listen_socket *s, const struct addr *at, bool udp,
    bool shared)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_to_sockaddr(at, at->family, &ss);

	s->fd = socket(at->family,
	    (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd == -1)
		return -1;
	if ((at->family == AF_INET6 &&
		set_flag(s->fd, IPPROTO_IPV6, IPV6_V6ONLY) == -1) ||
	    (!udp && set_flag(s->fd, SOL_SOCKET, SO_REUSEADDR) == -1) ||
	    (shared && set_flag(s->fd, SOL_SOCKET, SO_REUSEPORT) == -1) ||
	    bind(s->fd, (struct sockaddr *)&ss, len) == -1 ||
	    (!udp && listen(s->fd, LISTEN_BACKLOG) == -1) ||
	    describe(s) == -1) {
		close_keep_errno(s->fd);
		return -1;
	}
	return 0;
}

/*
 * Opens the first socket of an address. With SO_REUSEPORT a second daemon of
 * the same user could bind too and would silently get half of the calls. A bind
 * without it first shows whether the port is free.
 */
static int
open_first(struct listen_socket *s, const struct addr *at, bool udp,
    bool shared)
{
	struct addr again = *at;

	if (open_socket(s, at, udp, false) == -1)
		return -1;
	if (!shared)
		return 0;
	again.port = s->at.port;
	close(s->fd);
	return open_socket(s, &again, udp, true);
}

/* Stores the addresses to bind, with their ports. Returns how many. */
static size_t
wanted(const struct daemon *d, struct daemon_listen out[DAEMON_LISTEN_MAX])
{
	size_t i;

	if (d->nlistens == 0) {
		out[0] = (struct daemon_listen){ .any = true };
		out[0].at.family = AF_INET;
		out[1] = out[0];
		out[1].at.family = AF_INET6;
		out[0].at.port = out[1].at.port = d->port;
		return 2;
	}
	for (i = 0; i < d->nlistens; i++) {
		out[i] = d->listens[i];
		if (out[i].at.port == 0)
			out[i].at.port = d->port;
	}
	return d->nlistens;
}

static void NO_RETURN
refuse(const struct daemon *d, const struct addr *at, bool udp)
{
	char text[ADDR_STRLEN], owner[LISTEN_OWNER_MAX];
	const char *proto = udp ? "udp" : "tcp";
	int saved = errno;

	(void)addr_print(at, text);
	if (saved == EADDRINUSE) {
		listen_owner(at, udp, d->port_option, owner, sizeof(owner));
		fatalx("cannot listen on %s %s: %s", proto, text, owner);
	}
	if (saved == EACCES)
		fatalx("cannot listen on %s %s: ports below 1024 need root "
		       "(or CAP_NET_BIND_SERVICE): choose a high port "
		       "with %s",
		    proto, text, d->port_option);
	if (saved == EADDRNOTAVAIL)
		fatalx("cannot listen on %s %s: no interface of this machine "
		       "has that address (\"ip address\" shows them)",
		    proto, text);
	errno = saved;
	fatal("%s: cannot listen on %s %s", d->name, proto, text);
}

/*
 * Opens both protocols at one address. Returns 0, or -1 with EADDRINUSE if the
 * kernel chose the port and it is taken here. Other errors are fatal.
 */
static int
listen_pair(struct listen_set *set, const struct daemon *d,
    const struct daemon_listen *want, uint16_t chosen, bool shared)
{
	struct addr at = want->at;
	int i;

	if (at.port == 0)
		at.port = chosen;
	for (i = 0; i < 2; i++) {
		struct listen_socket *s = &set->list[set->n];

		if (open_first(s, &at, i == 1, shared) == -1) {
			if (errno == EADDRINUSE && want->at.port == 0)
				return -1;
			refuse(d, &at, i == 1);
		}
		at.port = s->at.port;
		set->n++;
	}
	return 0;
}

/* Is IPv6 wanted by default only, and disabled? Then IPv4 is served alone. */
static bool
family_missing(const struct daemon *d, const struct daemon_listen *want)
{
	int fd;

	if (d->nlistens != 0 || want->at.family != AF_INET6)
		return false;
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1) {
		log_info("no IPv6 on this machine: listening on IPv4 only");
		return true;
	}
	close(fd);
	return false;
}

static bool
try_all(struct listen_set *set, const struct daemon *d, bool shared)
{
	struct daemon_listen want[DAEMON_LISTEN_MAX];
	size_t i, n = wanted(d, want);
	uint16_t chosen = 0;

	for (i = 0; i < n; i++) {
		if (family_missing(d, &want[i]))
			continue;
		if (listen_pair(set, d, &want[i], chosen, shared) == -1) {
			listen_close(set);
			return false;
		}
		if (want[i].at.port == 0)
			chosen = set->list[set->n - 1].at.port;
	}
	return true;
}

static void
log_sockets(const struct listen_set *set, const char *what)
{
	char text[ADDR_STRLEN];
	size_t i;

	for (i = 0; i < set->n; i++)
		log_info("listening on %s %s (%s)",
		    set->list[i].udp ? "udp" : "tcp",
		    addr_print(&set->list[i].at, text), what);
}

void
listen_all(struct listen_set *set, const struct daemon *d, const char *what,
    bool shared)
{
	int i;

	set->n = 0;
	for (i = 0; i < LISTEN_TRIES; i++) {
		if (!try_all(set, d, shared))
			continue;
		log_sockets(set, what);
		return;
	}
	fatalx("no port is free for UDP and TCP on every address: choose one "
	       "with %s",
	    d->port_option);
}

void
listen_streams(struct listen_set *set, const struct daemon *d,
    const struct daemon_listen *list, size_t n, const char *what)
{
	size_t i;

	set->n = 0;
	for (i = 0; i < n && i < LISTEN_SOCKETS_MAX; i++) {
		if (open_socket(&set->list[i], &list[i].at, false, false) == -1)
			refuse(d, &list[i].at, false);
		set->n++;
	}
	log_sockets(set, what);
}

int
listen_again(struct listen_set *set, const struct listen_set *first)
{
	const struct listen_socket *s;
	size_t i;

	set->n = 0;
	for (i = 0; i < first->n; i++) {
		s = &first->list[i];
		if (open_socket(&set->list[i], &s->at, s->udp, true) == -1) {
			listen_close(set);
			return -1;
		}
		set->n++;
	}
	return 0;
}

int
listen_from(struct listen_set *set, const int *fds, size_t n)
{
	size_t i;

	set->n = 0;
	for (i = 0; i < n && i < LISTEN_SOCKETS_MAX; i++) {
		set->list[i].fd = fds[i];
		if (describe(&set->list[i]) == -1)
			return -1;
		set->n++;
	}
	return 0;
}

bool
listen_inherited(struct listen_set *set, const char *what)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int fds[LISTEN_SOCKETS_MAX], i, n = 0;
	const char *wrong = NULL;

	if (count != NULL &&
	    (pid == NULL || strtoll(pid, NULL, 10) == (long long)getpid()))
		n = (int)strtonum(count, 0, LISTEN_SOCKETS_MAX, &wrong);
	if (wrong != NULL)
		fatalx("LISTEN_FDS \"%s\": %s", count, wrong);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (n == 0)
		return false;
	for (i = 0; i < n; i++) {
		fds[i] = LISTEN_FD_FIRST + i;
		if (fcntl(fds[i], F_SETFD, FD_CLOEXEC) == -1 ||
		    fcntl(fds[i], F_SETFL, O_NONBLOCK) == -1)
			fatal("LISTEN_FDS: descriptor %d", fds[i]);
	}
	if (listen_from(set, fds, (size_t)n) == -1)
		fatal("LISTEN_FDS: a descriptor is not a socket of a known "
		      "family");
	log_sockets(set, what);
	return true;
}

size_t
listen_fds(const struct listen_set *set, int *fds, size_t max)
{
	size_t i;

	for (i = 0; i < set->n && i < max; i++)
		fds[i] = set->list[i].fd;
	return i;
}

uint16_t
listen_port(const struct listen_set *set, bool udp)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (set->list[i].udp == udp)
			return set->list[i].at.port;
	return 0;
}
