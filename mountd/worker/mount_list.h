/* SPDX-License-Identifier: ISC */
/*
 * Who has mounted what. A courtesy to administrators: nothing depends on it.
 * Bounded: at a limit the oldest entry of that host, then the oldest of all,
 * makes room. It is lost when the worker ends.
 * Runs in: mountd worker (event loop and file threads).
 */
#ifndef WORKER_MOUNT_LIST_H
#define WORKER_MOUNT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "mountd/mount.h"

#define MOUNT_LIST_HOST_MAX 64

struct mount_list;

/* NULL: no memory. */
struct mount_list *mount_list_new(void);
void mount_list_free(struct mount_list *);
/*
 * True when the entry is new; evicted: an older one had to go. The port of host
 * does not matter.
 */
bool mount_list_add(struct mount_list *, const struct addr *host,
    const char *path, bool *evicted);
/* True when it was there. */
bool mount_list_remove(struct mount_list *, const struct addr *host,
    const char *path);
/* All of one host; true when there were any. */
bool mount_list_remove_all(struct mount_list *, const struct addr *host);
/* Copies the entries of one host or (NULL) of all, oldest first. */
void mount_list_copy(struct mount_list *, const struct addr *host,
    struct mount_dump *);
size_t mount_list_count(struct mount_list *);

#endif
