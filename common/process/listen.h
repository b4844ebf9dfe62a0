/* SPDX-License-Identifier: ISC */
/*
 * Bound sockets: UDP and TCP on the same port, or a unix socket. Binding is
 * all that happens here; no byte is read.
 * Runs in: the first process of each daemon; listen_from in roles.
 */
#ifndef PROCESS_LISTEN_H
#define PROCESS_LISTEN_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "process/daemon.h"

#define LISTEN_SOCKETS_MAX (2 * DAEMON_LISTEN_MAX)
#define LISTEN_BACKLOG	   1024

/* A bound socket; a stream one listens already. Non-blocking, close-on-exec. */
struct listen_socket {
	int fd;
	bool udp;
	struct addr at; /* with the true port; AF_UNIX: a local socket */
};

struct listen_set {
	struct listen_socket list[LISTEN_SOCKETS_MAX];
	size_t n;
};

/*
 * UDP and TCP on one port for each -a (default: all addresses, v4 and v6; a
 * machine without IPv6 has v4 only). Logs "listening on udp 127.0.0.1:40123
 * (what)" for each. shared: listen_again() will be called. Fatal, with who has
 * the port and what to do, when a port is taken.
 */
void listen_all(struct listen_set *, const struct daemon *, const char *what,
    bool shared);
/* The same addresses and ports once more, for a further worker. 0 or -1. */
int listen_again(struct listen_set *, const struct listen_set *first);
/* The sockets systemd passed (LISTEN_FDS); false when there are none. */
bool listen_inherited(struct listen_set *, const char *what);
/*
 * Fills the set from descriptors, for a role that inherited them. 0, or -1:
 * one is not a socket.
 */
int listen_from(struct listen_set *, const int *fds, size_t n);
/* The other way: descriptors in order; returns how many (at most max). */
size_t listen_fds(const struct listen_set *, int *fds, size_t max);
/*
 * A listening unix stream socket at path; replaces a dead one. Makes the
 * directory above (0755) when missing. Fatal, with the fix, when a live socket
 * or something else is in the way, or others may write to the directory.
 */
int listen_unix(const char *path, mode_t mode);
/* The port of the first socket of that kind; 0: none. */
uint16_t listen_port(const struct listen_set *, bool udp);
void listen_close(struct listen_set *);

#endif
