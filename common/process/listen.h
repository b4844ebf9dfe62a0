/* SPDX-License-Identifier: ISC */
/*
 * Bound sockets: UDP and TCP on the same port, or a unix socket. This module
 * only binds and reads no byte.
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

/* A bound socket, non-blocking and close-on-exec. A stream socket listens. */
struct listen_socket {
	int fd;
	bool udp;
	struct addr at; /* with the actual port; AF_UNIX: a local socket */
};

struct listen_set {
	struct listen_socket list[LISTEN_SOCKETS_MAX];
	size_t n;
};

/*
 * Binds UDP and TCP on one port for each -a. Default: all addresses of IPv4
 * and, if the machine has it, IPv6. Logs "listening on udp 127.0.0.1:40123
 * (what)" for each socket. shared: listen_again() will be called. Fatal if a
 * port is taken; the message names the process that has it and what to do.
 */
void listen_all(struct listen_set *, const struct daemon *, const char *what,
    bool shared);
/*
 * Binds TCP alone at these addresses, which have ports. Logs and fails as
 * listen_all().
 */
void listen_streams(struct listen_set *, const struct daemon *,
    const struct daemon_listen *, size_t n, const char *what);
/* Binds the same addresses and ports again, for another worker. 0 or -1. */
int listen_again(struct listen_set *, const struct listen_set *first);
/* Takes the sockets that systemd passed (LISTEN_FDS). False: there are none. */
bool listen_inherited(struct listen_set *, const char *what);
/*
 * Fills the set from descriptors that a role inherited. Returns 0, or -1 if one
 * is not a socket.
 */
int listen_from(struct listen_set *, const int *fds, size_t n);
/* Stores the descriptors of the set, at most max. Returns how many. */
size_t listen_fds(const struct listen_set *, int *fds, size_t max);
/*
 * Returns a listening unix stream socket at path. Replaces a socket without
 * server and makes a missing directory (0755). Fatal if a server uses the path,
 * if it is no socket, or if other users can write to the directory; the message
 * names the remedy.
 */
int listen_unix(const char *path, mode_t mode);
/* Returns the port of the first socket of that kind; 0: there is none. */
uint16_t listen_port(const struct listen_set *, bool udp);
void listen_close(struct listen_set *);

#endif
