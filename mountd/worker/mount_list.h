/* SPDX-License-Identifier: ISC */
/*
 * Who has mounted what. A courtesy to administrators: nothing depends on it.
 * Bounded: at a limit the oldest entry of that host, then the oldest of all,
 * makes room. It is lost when the worker ends.
 * Runs in: mountd worker (event loop).
 */
#ifndef WORKER_MOUNT_LIST_H
#define WORKER_MOUNT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "mountd/mount.h"

#define MOUNT_LIST_MAX	    4096
#define MOUNT_LIST_HOST_MAX 64

struct mount_list;

/* NULL: no memory. */
struct mount_list *mount_list_new(void);
void mount_list_free(struct mount_list *);
/* True when the entry is new. The port of host does not matter. */
bool mount_list_add(struct mount_list *, const struct addr *host,
    const char *path);
/* Would one more entry of this host cost an older one? */
bool mount_list_is_full(const struct mount_list *, const struct addr *host);
/* True when it was there. */
bool mount_list_remove(struct mount_list *, const struct addr *host,
    const char *path);
/* All of one host; true when there were any. */
bool mount_list_remove_all(struct mount_list *, const struct addr *host);
/*
 * Oldest first, of one host or (NULL) of all: fills at most max pointers, good
 * until the list changes; returns how many.
 */
size_t mount_list_rows(const struct mount_list *, const struct addr *host,
    const struct mount_entry **rows, size_t max);

#endif
