/* SPDX-License-Identifier: ISC */
/*
 * What the files of this folder share and nothing outside it sees: the state
 * of the door, of each of its threads, and the steps of door_open(), grouped by
 * the file that has them.
 * Runs in: nfsd worker, tests.
 */
#ifndef DOOR_STATE_H
#define DOOR_STATE_H

#include <sys/stat.h>
#include <sys/syscall.h>

#include <stdatomic.h>
#include <unistd.h>

#include "nfsd/broker/broker.h"
#include "nfsd/door/batch.h"
#include "nfsd/door/door.h"
#include "nfsd/door/identity.h"
#include "nfsd/door/setup.h"
#include "nfsd/judge/judge.h"
#include "nfsd/roles/served.h"

#define DOOR_EVICT_AT_ONCE 64 /* files closed when no descriptor is left */

struct door_thread {
	struct door *door;
	struct broker_client *broker;
	struct cred_acting acting;
	bool started;
	/* Written by this thread; the event loop reads (door_release_idle()). */
	_Atomic unsigned int open; /* objects in use */
	struct judge_thread judge; /* with the exports in use */
	struct served_export *export; /* of the last door_open() */
	struct cred cred; /* of the caller, squashed */
	/* Which caller that was, if it is known: see identity.c. */
	struct rpc_cred caller;
	const struct export_options *caller_under; /* NULL: not known */
	struct door_batch batch; /* files whose handles are asked for later */
};

struct door {
	struct judge judge; /* with the exports */
	struct cache *cache;
	struct handle_cache *notes;
	struct listings *listings;
	struct warm *warm;
	enum nfsd_mode mode;
	bool mknod;
	/*
	 * The write verifier, one for all workers, in memory they share: a client
	 * with several connections writes through one and commits through
	 * another. 0: not chosen yet.
	 */
	_Atomic uint64_t *verifier;
	_Atomic uint64_t own_verifier; /* until one is shared */
	unsigned int nthreads;
	struct door_thread threads[DOOR_THREADS_MAX + 1];
};

/* Objects in use; only its own thread changes the count. */
static inline unsigned int
door_count(const struct door_thread *t)
{
	return atomic_load_explicit(&t->open, memory_order_relaxed);
}

/* What the first steps need of a call. */
static inline struct judge_case
door_case(struct call_ctx *ctx)
{
	return (struct judge_case){ &ctx->thread->judge, ctx->call,
		&ctx->refused };
}

/*
 * hold.c. Takes the exports for this call: those of its other objects (pinned),
 * else the active ones. Returns true if the thread did not have these. The object
 * must be counted already.
 */
bool door_hold(struct door_thread *, bool pinned);

/*
 * fstat(2). glibc before 2.39, as in Debian 12, makes newfstatat(2) of it, which
 * looks for a path first: 395 ns instead of 357. So the call is made by its number
 * where the kernel's struct stat is that of libc.
 */
static inline int
door_fstat(int fd, struct stat *st)
{
#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
	return (int)syscall(SYS_fstat, fd, st);
#else
	return fstat(fd, st);
#endif
}

/* attr.c. The attributes that statx(2) tells. */
void door_from_statx(const struct statx *, struct stat *);
/*
 * fstat(2) of a file that will be written. fixed: it is immutable or append-only
 * (chattr +i, +a), so that open(2) would refuse.
 */
int door_stat_to_write(int fd, struct stat *, bool *fixed);

/* identity.c. Squashes the caller; the thread acts as the result. */
enum nfsstat door_act_as_caller(struct call_ctx *,
    const struct export_options *);

/*
 * latency.c. Defers a call that changes something. Those that wait for stable
 * storage run side by side, so that one commit serves all. The others run in
 * turn (pool/pool.h), which costs less.
 */
bool door_must_defer_change(struct call_ctx *, bool sync);
/* Defers a call that must ask the broker, which may wait for a disk. */
bool door_must_defer_question(struct call_ctx *);
/*
 * A file thread has waited for a disk or for the broker since this time: was
 * that slow? Returns the time.
 */
uint64_t door_note_wait(struct door_thread *, uint64_t since_ns);

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
