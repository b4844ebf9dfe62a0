/* SPDX-License-Identifier: ISC */
/*
 * Keeps services registered with the portmapper of this machine: portmapd at
 * its registration socket, or rpcbind at /run/rpcbind.sock (RPCBIND version
 * 4 over a unix stream socket). The connection is kept: portmapd holds the
 * entries as long as it lives, and its end tells us that the portmapper was
 * restarted and wants to be told again. The daemons may start in any order.
 * Never blocks: one call at a time, driven by the event loop. Replies are
 * bounded and hostile until decoded.
 * Needs socket, connect (AF_UNIX), sendto, recvfrom and close.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef PROCESS_REGISTER_H
#define PROCESS_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define REGISTER_SERVICES_MAX 1024
#define REGISTER_REPLY_MAX    512 /* a longer reply is not ours */
#define REGISTER_CALL_MS      5000 /* a portmapper that takes longer hangs */
#define REGISTER_RETRY_MIN_MS 10
#define REGISTER_RETRY_MAX_MS 500 /* back well within a second */
#define REGISTER_REFUSED_MS   1000 /* ask again for what was refused */
#define REGISTER_STOP_MS      1000 /* longest wait for the farewell */

struct event_base;
struct listen_set;
struct registration;
struct rpc_prog;

/* Never NULL. path is borrowed for good. */
struct registration *register_new(struct event_base *, const char *path);
/* A service at a bound socket (wildcard or not). False: too many. */
bool register_add(struct registration *, uint32_t prog, uint32_t vers, bool udp,
    const struct addr *at);
/* Every version of the program at every socket; fatal when too many. */
void register_program(struct registration *, const struct rpc_prog *,
    const struct listen_set *);
/*
 * Registers all that was added, now and after every restart of the portmapper;
 * logs one line when it has to wait, one when all is registered, and one for
 * the first service that was refused. Call once.
 */
void register_start(struct registration *);
/* Is everything registered now? */
bool register_is_done(const struct registration *);
/*
 * Takes everything out again and calls done from the event loop, after
 * REGISTER_STOP_MS at the latest. The caller frees then.
 */
void register_stop(struct registration *, void (*done)(void *arg), void *arg);
/* Closes the connection; NULL is allowed. */
void register_free(struct registration *);

#endif
