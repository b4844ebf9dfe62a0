/* SPDX-License-Identifier: ISC */
/*
 * The service manager's notification protocol (sd_notify(3)). Without a service
 * manager nothing is sent. The socket is connected at the start, so later calls
 * need only write(2) and work in a chroot and under a filter.
 * Runs in: the first process of each daemon.
 */
#ifndef PROCESS_NOTIFY_H
#define PROCESS_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd; /* connected; -1: no service manager */
	uint64_t watchdog_usec; /* 0: no watchdog */
};

/* Reads and removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */
void notify_init(struct notify *);
void notify_ready(const struct notify *);
void notify_reloading(const struct notify *);
void notify_stopping(const struct notify *);
void notify_watchdog(const struct notify *);
/* Returns the interval for notify_watchdog(); 0: no watchdog. */
uint64_t notify_watchdog_usec(const struct notify *);

#endif
