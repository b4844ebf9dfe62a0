/* SPDX-License-Identifier: ISC */
/*
 * A thread that closes descriptors nobody should have to wait for: on a
 * filesystem that hangs, close(2) does too. Once a second it does other chores.
 * Runs in: nfsd worker.
 */
#ifndef FS_JANITOR_H
#define FS_JANITOR_H

#include <stdbool.h>

struct fs_janitor;

/* Never NULL. */
struct fs_janitor *fs_janitor_new(void);
/* Before it was started. */
void fs_janitor_free(struct fs_janitor *);
/* From now on there is one; chore is called about once a second. */
void fs_janitor_start(struct fs_janitor *, void (*chore)(void *), void *arg);
/* Leaves a descriptor to it; false: there is none, or it has too many. */
bool fs_janitor_leave(struct fs_janitor *, int fd);

#endif
