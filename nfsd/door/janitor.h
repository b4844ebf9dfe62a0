/* SPDX-License-Identifier: ISC */
/*
 * A thread that closes descriptors nobody should have to wait for: on a
 * filesystem that hangs, close(2) does too. Once a second it does other chores.
 * Runs in: nfsd worker.
 */
#ifndef DOOR_JANITOR_H
#define DOOR_JANITOR_H

#include <stdbool.h>
#include <stddef.h>

struct fs_janitor;

/* Never NULL. room: for so many descriptors. */
struct fs_janitor *fs_janitor_new(size_t room);
/* Only one that was never started: the thread ends with the process. */
void fs_janitor_free(struct fs_janitor *);
/* From now on there is one; chore is called about once a second. */
void fs_janitor_start(struct fs_janitor *, void (*chore)(void *), void *arg);
/* Leaves a descriptor to it; false: there is none, or it has too many. */
bool fs_janitor_leave(struct fs_janitor *, int fd);

#endif
