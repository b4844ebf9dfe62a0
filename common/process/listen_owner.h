/* SPDX-License-Identifier: ISC */
/*
 * Finds the process that has a port, for the message of a daemon that needs it.
 * Runs in: the first process of each daemon, when it cannot start or register.
 */
#ifndef PROCESS_LISTEN_OWNER_H
#define PROCESS_LISTEN_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

#define LISTEN_OWNER_MAX 400

/*
 * Stores "taken by rpcbind (pid 12): stop it with ..., or choose ...". option
 * chooses the port: "-p".
 */
void listen_owner(const struct addr *, bool udp, const char *option, char *out,
    size_t size);
/* Stores "rpc.statd (pid 12)". Returns false if no process has the port. */
bool listen_holder(const struct addr *, bool udp, char *out, size_t size);

#endif
