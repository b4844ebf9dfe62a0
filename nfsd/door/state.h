/* SPDX-License-Identifier: ISC */
/*
 * The state behind the door: one struct door for the process, one struct
 * door_thread for the event loop (number 0) and each file thread. Set up by the
 * worker, or by a test with a broker in the same process.
 * Runs in: nfsd worker, tests.
 */
#ifndef DOOR_STATE_H
#define DOOR_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "handle/fhandle.h"
#include "nfsd/broker/broker.h"
#include "nfsd/door/cache.h"
#include "nfsd/door/door.h"
#include "nfsd/door/handle_cache.h"
#include "nfsd/door/listings.h"
#include "nfsd/roles/cred.h"
#include "nfsd/roles/served.h"

#define DOOR_THREADS_MAX   63 /* file threads; with the loop 64 channels */
#define DOOR_PEERS	   64 /* access decisions a thread remembers */
#define DOOR_BROKER_MS	   3000 /* a restarted broker is waited for */
#define DOOR_SLOW_STRIKES  4 /* slow operations that make an export slow, */
#define DOOR_STRIKE_NS	   1000000000u /* when they come within this time */
#define DOOR_SETTLED_MS	   20 /* a ctime older than this is the last of its tick */
#define DOOR_COARSE_MS	   2020 /* the same where times are whole seconds, or two */
#define DOOR_EVICT_AT_ONCE 64 /* files closed when no descriptor is left */

/* As st_dev of a looked-up directory: the root of the export with this id. */
#define DOOR_EXPORT_DEV ((dev_t)0x7465726e0000)

/* One access decision: this host in this export and dialect. */
struct door_peer {
	const struct served_export *export; /* NULL: none */
	bool utf16;
	struct addr from;
	const struct export_client *client; /* NULL: not allowed */
};

struct door_thread {
	struct door *door;
	unsigned int index;
	struct broker_client *broker;
	struct cred_acting acting;
	bool started;
	/* Written by this thread alone; the event loop looks in (door_release_idle()). */
	_Atomic unsigned int open; /* objects in use */
	_Atomic uint64_t used_ns; /* when the last call began */
	struct served_exports *_Atomic exports; /* in use by this thread */
	_Atomic uint32_t generation; /* of it */
	struct served_export *export; /* of the last door_open() */
	/* The last caller, before and after squashing. */
	struct rpc_cred raw;
	const struct export_options *raw_options;
	struct cred cred;
	uint64_t caller; /* cred_key(&cred) */
	struct door_peer peers[DOOR_PEERS];
};

struct door {
	pthread_mutex_t lock; /* of exports */
	struct served_exports *exports;
	_Atomic uint32_t generation;
	struct cache *cache;
	struct handle_cache *notes;
	struct listings *listings;
	struct fh_subkey key;
	enum nfsd_mode mode;
	bool mknod;
	unsigned int nthreads;
	struct door_thread threads[DOOR_THREADS_MAX + 1];
	uint64_t strikes_since; /* of the event loop */
	unsigned int strikes;
	long reads; /* blocks the event loop had read at the last look */
};

struct door_settings {
	enum nfsd_mode mode;
	unsigned int threads; /* file threads */
	size_t files; /* descriptors the cache may hold */
	size_t notes; /* handles it may know without one */
	struct fh_subkey key; /* the worker's */
	bool mknod; /* unsquashed root may make device nodes */
};

/* Never NULL. There is one door in a process. */
struct door *door_new(const struct door_settings *);
void door_free(struct door *);
/* Swaps the exports in; takes over one use. */
void door_set_exports(struct door *, struct served_exports *);
/* The channel of a thread; takes it over. */
void door_set_broker(struct door *, unsigned int thread,
    struct broker_client *);
/* For begin: the thread of a call. */
struct door_thread *door_thread(struct door *, unsigned int index);
/* For end: how long a call took in the event loop, to tell slow exports. */
void door_note_latency(struct door_thread *, uint64_t now_ns, uint64_t ns);
/* Once a second, from the event loop. */
void door_release_idle(struct door *, uint64_t now_ns);

/* The write verifier lives there from now on (0: not chosen yet). */
void door_share_verifier(_Atomic uint64_t *);

/* For the files of the door only. */
enum nfsstat door_status(struct call_ctx *, int error);
/* The client's entry when it may use the export, else NULL. */
const struct export_client *door_client(struct door_thread *,
    const struct served_export *, bool utf16, const struct rpc_peer *);
/* Ask the broker; again after an eviction or a restart. */
int door_ask_open(struct call_ctx *, const struct fh *, enum broker_want,
    bool *readable);
int door_ask_seal(struct call_ctx *, const struct broker_seal *,
    const char *const *names, const int *fds, struct broker_sealed *);
/*
 * A change in the same tick of the clock would leave ctime as it is: only by a
 * ctime from before that tick can a change be told. A time without fractions
 * may come from a filesystem that keeps none (ext4 with inodes of 128 bytes) or
 * counts by twos (FAT).
 */
bool door_settled(const struct timespec *ctime);

#endif
