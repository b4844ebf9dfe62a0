/* SPDX-License-Identifier: ISC */
/*
 * A thread that closes descriptors whose close(2) may block: on a filesystem that
 * hangs, close(2) hangs too, and the last close of a removed file frees its
 * blocks. Once a second it calls another function.
 * Runs in: nfsd worker.
 */
#ifndef CACHE_JANITOR_H
#define CACHE_JANITOR_H

#include <stdbool.h>
#include <stddef.h>

struct janitor;

/* Never NULL. room: for so many descriptors. */
struct janitor *janitor_new(size_t room);
/* Only one that was never started: the thread ends with the process. */
void janitor_free(struct janitor *);
/* Starts the thread, which calls chore about once a second. */
void janitor_start(struct janitor *, void (*chore)(void *), void *arg);
/* Calls chore as soon as possible. */
void janitor_wake(struct janitor *);
/* Leaves a descriptor to the thread. False: not started, or it has too many. */
bool janitor_leave(struct janitor *, int fd);

#endif
