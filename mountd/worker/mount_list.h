/* SPDX-License-Identifier: ISC */
/*
 * The mount list: which client has mounted which path. It only informs
 * administrators; no decision depends on it. It is bounded: at a host's limit
 * its oldest entry is evicted, at the total limit the oldest of all. The list
 * is lost when the worker exits.
 * Runs in: mountd worker (event loop and file threads).
 */
#ifndef WORKER_MOUNT_LIST_H
#define WORKER_MOUNT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "mountd/mount.h"

#define MOUNT_LIST_HOST_MAX 64

struct mount_list;

/* Returns NULL if there is no memory. */
struct mount_list *mount_list_new(void);
void mount_list_free(struct mount_list *);
/*
 * Adds an entry. Returns true if it is new. Sets evicted if an older entry was
 * evicted for it. The port of host is ignored.
 */
bool mount_list_add(struct mount_list *, const struct addr *host,
    const char *path, bool *evicted);
/* Removes an entry. Returns true if it was there. */
bool mount_list_remove(struct mount_list *, const struct addr *host,
    const char *path);
/* Removes the entries of one host. Returns true if there were any. */
bool mount_list_remove_all(struct mount_list *, const struct addr *host);
/* Copies the entries of one host, or of all (NULL), oldest first. */
void mount_list_copy(struct mount_list *, const struct addr *host,
    struct mount_dump *);
size_t mount_list_count(struct mount_list *);

#endif
