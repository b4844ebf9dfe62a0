/* SPDX-License-Identifier: ISC */
/*
 * What the door asks the broker. A question is asked again after an eviction
 * when descriptors ran out, and on a file thread after the broker was restarted.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_ASK_H
#define DOOR_ASK_H

#include "nfsd/door/state.h"

/* A descriptor for the file of a handle, or -1 with errno. */
int door_ask_open(struct call_ctx *, const struct fh *, enum broker_want,
    bool *readable);
/* 0 with handles and errors in the answer, or -1 with errno. */
int door_ask_seal(struct call_ctx *, const struct broker_seal *,
    const char *const *names, int *fds, struct broker_sealed *);
/*
 * The same without names: see batch.h. fds: as many as the question says. May wait
 * for a new broker. The thread may hold no exports by now.
 */
int door_ask_seal_all(struct door_thread *, const struct broker_seal *,
    int *fds, struct broker_sealed *);
/* The broker syncs the file of a handle. 0, or -1 with errno. */
int door_ask_sync(const struct door_thread *, const struct fh *);
/* The broker opens the data of a file; the cache keeps the descriptor. */
int door_ask_data(struct call_ctx *, const struct door_obj *, enum cache_slot);
/* A descriptor for the data: from the cache, else from the broker. Or -1. */
static inline int
door_data_fd(struct call_ctx *ctx, const struct door_obj *obj,
    enum cache_slot slot)
{
	int fd = cache_fd(obj->entry, slot);

	return fd != -1 ? fd : door_ask_data(ctx, obj, slot);
}
/* The status for an error of the broker or of the kernel. */
enum nfsstat door_status(struct call_ctx *, int error);

/*
 * inside.c. STALE if the directory does not lie in its export, or lies in an
 * export inside that. The thread acts as the caller.
 */
enum nfsstat door_check_inside(struct call_ctx *, const struct door_obj *);
/* The broker has just said that it lies there. */
void door_is_inside(const struct call_ctx *, struct cache_entry *);

#endif
