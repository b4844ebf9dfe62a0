/* SPDX-License-Identifier: ISC */
/*
 * The service manager's notification protocol (sd_notify(3)) in a few lines;
 * does nothing when no service manager asked. The socket is connected at once,
 * so that later calls work in a chroot and under a filter (write only).
 * Runs in: the first process of each daemon.
 */
#ifndef PROCESS_NOTIFY_H
#define PROCESS_NOTIFY_H

#include <stdint.h>

/* Reads and removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */
void notify_init(void);
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
void notify_watchdog(void);
/* How often to call notify_watchdog(); 0: not asked for. */
uint64_t notify_watchdog_usec(void);

#endif
