/* SPDX-License-Identifier: ISC */
/*
 * Keeps services registered with the portmapper of this machine: portmapd at
 * its registration socket, or rpcbind at /run/rpcbind.sock (RPCBIND version 4
 * over a unix stream socket). portmapd keeps the entries as long as the
 * connection is open. If the portmapper restarts, the connection closes and the
 * services are registered again. The daemons may start in any order. The event
 * loop drives one call at a time, and nothing blocks. Replies are bounded and
 * not trusted.
 * Needs socket, connect (AF_UNIX), sendto, recvfrom and close.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef PROCESS_REGISTER_H
#define PROCESS_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define REGISTER_RPCBIND      "/run/rpcbind.sock"
#define REGISTER_SERVICES_MAX 1024
#define REGISTER_REPLY_MAX    512 /* a longer reply is malformed */
#define REGISTER_CALL_MS      5000 /* longest wait for a reply */
#define REGISTER_RETRY_MIN_MS 10
#define REGISTER_RETRY_MAX_MS 500 /* registered again within a second */
#define REGISTER_REFUSED_MS   1000 /* before a refused SET is repeated */
#define REGISTER_STOP_MS      1000 /* longest wait for the UNSETs */

struct event_base;
struct listen_set;
struct registration;
struct rpc_prog;

/*
 * Writes the path of a file beside the registration socket, and returns it.
 * socket: of -s; NULL: that of portmapd. rpcbind's directory is not ours.
 */
const char *register_beside(const char *socket, const char *name, char *out,
    size_t size);
/* Returns a socket connected to a portmapper, or -1 with errno. Never waits. */
int register_connect(const char *path);
/*
 * Never returns NULL. path must outlive the registration. NULL: each time the
 * portmapper of Tern if it answers (DAEMON_SOCKET), else rpcbind.
 */
struct registration *register_new(struct event_base *, const char *path);
/*
 * Either all services are registered or none. If another server that lives has
 * one of them, the log says "what: not served: ..." and names it, and they are
 * tried again until it is free.
 */
void register_together(struct registration *, const char *what);
/* Adds a service at a bound socket. Returns false if there are too many. */
bool register_add(struct registration *, uint32_t prog, uint32_t vers, bool udp,
    const struct addr *at);
/* Adds every version of the program at every socket. Fatal if too many. */
void register_program(struct registration *, const struct rpc_prog *,
    const struct listen_set *);
/*
 * Registers the added services, now and after every restart of the portmapper.
 * Logs one line when it waits, one when all services are registered, and one
 * for the first that is refused. To be called once.
 */
void register_start(struct registration *);
/* Are all services registered? */
bool register_is_done(const struct registration *);
/*
 * Unregisters all services and calls done from the event loop, after
 * REGISTER_STOP_MS at the latest. The caller frees r afterwards.
 */
void register_stop(struct registration *, void (*done)(void *arg), void *arg);
/* Closes the connection and frees. Accepts NULL. */
void register_free(struct registration *);

#endif
