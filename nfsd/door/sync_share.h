/* SPDX-License-Identifier: ISC */
/*
 * Calls that wait for the same file to be synced share one sync. A call may
 * only use a sync that begins after its own change. It therefore joins the ones
 * that still wait, never one that is running.
 * Runs in: nfsd worker (file threads).
 */
#ifndef DOOR_SYNC_SHARE_H
#define DOOR_SYNC_SHARE_H

#include <sys/queue.h>

#include <pthread.h>
#include <stdbool.h>

/* One call that waits; it lives on the stack of its thread. */
struct sync_turn {
	TAILQ_ENTRY(sync_turn) entry;
	const void *file; /* compared, never followed */
	const struct sync_turn *leader; /* syncs for this one; NULL: waits */
	bool done;
	int error; /* errno of the sync, or 0 */
	pthread_cond_t wake;
};

struct sync_share {
	pthread_mutex_t lock;
	TAILQ_HEAD(, sync_turn) turns;
};

void sync_share_init(struct sync_share *);
void sync_share_clear(struct sync_share *);
/*
 * True: the caller syncs the file, for itself and others, and then calls
 * sync_share_end(). False: another thread has done it; turn->error says how.
 */
bool sync_share_begin(struct sync_share *, const void *file,
    struct sync_turn *turn);
void sync_share_end(struct sync_share *, struct sync_turn *turn, int error);

#endif
