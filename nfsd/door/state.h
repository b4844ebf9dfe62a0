/* SPDX-License-Identifier: ISC */
/*
 * What the files of this folder share and nothing outside it sees: the state
 * of the door, of each of its threads, and the steps of door_open(), grouped by
 * the file that has them.
 * Runs in: nfsd worker, tests.
 */
#ifndef DOOR_STATE_H
#define DOOR_STATE_H

#include <stdatomic.h>

#include "exports/client.h"
#include "exports/users.h"
#include "nfsd/broker/broker.h"
#include "nfsd/door/door.h"
#include "nfsd/door/identity.h"
#include "nfsd/door/setup.h"
#include "nfsd/door/sync_share.h"
#include "nfsd/roles/served.h"

#define DOOR_PEERS	   64 /* access decisions a thread remembers */
#define DOOR_EVICT_AT_ONCE 64 /* files closed when no descriptor is left */

/* One access decision: this peer in this export and dialect. */
struct door_peer {
	const struct served_export *export; /* NULL: none */
	bool utf16;
	struct addr from;
	uint64_t identity; /* peer_key() */
	const struct export_client *client; /* NULL: not allowed */
};

struct door_thread {
	struct door *door;
	unsigned int index; /* 0: the event loop */
	struct broker_client *broker;
	struct cred_acting acting;
	bool started;
	/* Written by this thread; the event loop reads (door_release_idle()). */
	_Atomic unsigned int open; /* objects in use */
	_Atomic uint64_t used_ns; /* when the last call began */
	struct active_hold held; /* the exports in use by this thread */
	struct served_export *export; /* of the last door_open() */
	struct cred cred; /* of the caller, squashed */
	struct door_peer peers[DOOR_PEERS];
	uint64_t asks_since; /* slow questions to the broker are counted */
	unsigned int slow_asks;
};

struct door {
	struct active active; /* the exports */
	struct cache *cache;
	struct handle_cache *notes;
	struct listings *listings;
	struct sync_share syncs;
	struct fh_subkey key;
	struct guesses *guesses;
	enum nfsd_mode mode;
	bool mknod;
	char *domain; /* of users in certificates; NULL: none */
	/*
	 * The write verifier, one for all workers, in memory they share: a client
	 * with several connections writes through one and commits through
	 * another. 0: not chosen yet.
	 */
	_Atomic uint64_t *verifier;
	_Atomic uint64_t own_verifier; /* until one is shared */
	unsigned int nthreads;
	struct door_thread threads[DOOR_THREADS_MAX + 1];
	/* Of the event loop, see latency.c. */
	uint64_t watch_until;
	bool watched; /* this call is */
	long sleeps; /* before this call */
};

/* Objects in use; only its own thread changes the count. */
static inline unsigned int
door_count(const struct door_thread *t)
{
	return atomic_load_explicit(&t->open, memory_order_relaxed);
}

/*
 * client.c. The exports for this call: those of its other objects (pinned), else
 * the active ones. The object must be counted already.
 */
const struct served_exports *door_exports(struct door_thread *, bool pinned);
/*
 * The client's row if it may use the export by this connection, else NULL. Then
 * *why, unless it is NULL, says what is wrong.
 */
const struct export_client *door_client(struct door_thread *,
    const struct served_export *, bool utf16, const struct rpc_peer *,
    enum door_refusal *why);

/* attr.c. The attributes that statx(2) tells. */
void door_from_statx(const struct statx *, struct stat *);
/*
 * fstat(2) of a file that will be written. fixed: it is immutable or append-only
 * (chattr +i, +a), so that open(2) would refuse.
 */
int door_stat_to_write(int fd, struct stat *, bool *fixed);

/* identity.c. Squashes the caller; the thread acts as the result. */
int door_act_as_caller(struct call_ctx *, const struct export_options *);

/*
 * latency.c. Defers a call that changes something. Those that wait for stable
 * storage run side by side, so that one commit serves all. The others run in
 * turn (rpc/pool.h), which costs less.
 */
bool door_must_defer_change(struct call_ctx *, bool sync);
/* Defers a call that must ask the broker, which may wait for a disk. */
bool door_must_defer_question(struct call_ctx *);
/* The broker answered what was asked at this time: was that slow? */
void door_note_answer(struct door_thread *, uint64_t asked_ns);
/* Must a call on this export run on a file thread? Defers it then. */
bool door_must_defer_export(struct call_ctx *, const struct served_export *);

/*
 * rights.c. May the caller use the data as wanted? The owner may, whatever the
 * mode, since the file may have been opened before its mode changed; execute
 * permission includes reading.
 */
bool door_may_use(struct call_ctx *, const struct door_obj *,
    unsigned int want);
/*
 * Is the ctime old enough that any later change gives another one? A change
 * within the same tick of the clock does not. A time without fractions may come
 * from a filesystem that keeps none (ext4 with inodes of 128 bytes) or counts
 * by twos (FAT).
 */
bool door_settled(const struct timespec *ctime);
/* Rights remembered for a caller under this ctime: false if unknown. */
bool rights_find(struct cache *, const struct cache_entry *, uint64_t caller,
    const struct timespec *ctime, int asked, int *granted);
void rights_add(struct cache *, struct cache_entry *, uint64_t caller,
    const struct timespec *ctime, int asked, int granted);

#endif
