/* SPDX-License-Identifier: ISC */
/*
 * The door as the worker owns it: made before the first call, given exports and
 * broker channels, asked for its statistics. Operations use nfsd/door/door.h.
 * Runs in: nfsd worker, tests.
 */
#ifndef DOOR_SETUP_H
#define DOOR_SETUP_H

#include <stdatomic.h>

#include "handle/fhandle.h"
#include "nfsd/cache/cache.h"
#include "nfsd/cache/handle_cache.h"
#include "nfsd/door/list.h"
#include "nfsd/roles/cred.h"

#define DOOR_THREADS_MAX 63 /* file threads; with the loop 64 channels */

struct broker_client;
struct door;
struct door_thread;
struct served_exports;

struct door_settings {
	enum nfsd_mode mode;
	unsigned int threads; /* file threads */
	size_t files; /* descriptors the cache may hold */
	size_t notes; /* entries of the handle cache */
	struct fh_subkey key; /* the worker's */
	const char *domain; /* of users in certificates; NULL or "": none */
	bool mknod; /* unsquashed root may make device nodes */
};

struct door_stats {
	struct cache_stats files;
	struct handle_cache_stats notes;
	struct listings_stats listings;
};

/* setup.c. Never NULL; there is one door in a process. */
struct door *door_new(const struct door_settings *);
void door_free(struct door *);
/* Gives a thread (0: the event loop) its channel; takes over the client. */
void door_set_broker(struct door *, unsigned int thread,
    struct broker_client *);
/* Replaces the channel of a thread by a new broker's; takes over fd. */
void door_replace_broker(struct door *, unsigned int thread, int fd);
/* From now on groups come from this table. ask tells the parent of a user. */
void door_manage_groups(struct door *, const struct groups_table *,
    void (*ask)(void *arg, uint32_t uid), void *arg);
/* The state of one thread, for the context of a call. */
struct door_thread *door_thread(struct door *, unsigned int index);
/* Limits the descriptors kept open; called again, it closes more of the rest. */
void door_set_files(struct door *, size_t files);
/* Closes some files that no call uses; false if there were none. */
bool door_give_files(struct door *);
/*
 * Starts the thread that closes descriptors and sweeps the caches once a second;
 * the filesystem may keep it waiting.
 */
void door_start_janitor(struct door *);
void door_stats(struct door *, struct door_stats *);

/* hold.c. Swaps the exports in, in the event loop; takes over one use. */
void door_set_exports(struct door *, struct served_exports *);
/* Once a second, in the event loop: idle threads release replaced exports. */
void door_release_idle(struct door *);

/* attr.c. The write verifier lives there from now on (0: not chosen yet). */
void door_share_verifier(struct door *, _Atomic uint64_t *);

#endif
