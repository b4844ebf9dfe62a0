/* SPDX-License-Identifier: ISC */
/*
 * The table with everything around it: the mutex, the kernel's locks, the
 * parent, the nlm role, and the threads that answer.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#ifndef LOCKS_SERVER_H
#define LOCKS_SERVER_H

#include <pthread.h>

#include "nfsd/judge/judge.h"
#include "nfsd/locks/table.h"
#include "nfsd/nfsd.h"
#include "nfsd/near.h"

struct broker_client;
struct broker_open;
struct outgoing;

#define SERVER_SAVE_MS 10000 /* for the parent to write to its disk */

/* A thread that waits until the parent has saved a client. */
struct server_saving {
	uint32_t number; /* 0: none */
	bool answered;
	enum locks_stat stat;
};

/* Messages in the order in which the table made them. */
struct server_queue {
	pthread_mutex_t sending; /* never taken with the mutex held */
	struct outgoing *first, *last;
};

/* A right to lock that the broker has judged. */
struct right {
	uint64_t key; /* of handle, exports, caller and kind; 0: none */
	struct timespec ctime; /* the right holds until it changes, */
	uint64_t until_ms; /* or until then */
};

#define SERVER_RIGHTS 1024 /* a power of two */

struct locks_server {
	pthread_mutex_t lock;
	pthread_cond_t busy; /* a file is not busy any more */
	pthread_cond_t saved; /* the parent has answered */
	pthread_cond_t due[2]; /* the keeper of slow files: [1] */
	uint64_t waits_until[2]; /* of the keepers; 0: for ever */
	struct locks_table *table;
	struct locks_stats *stats;
	const struct proven *proven; /* NULL: none */
	struct judge judge;
	struct hash_key key; /* of identities */
	int parent; /* channel; -1: none */
	int events; /* channel to nlm; -1: none */
	uint32_t number; /* of the last question to the parent */
	struct server_saving saving[LOCKS_SERVERS];
	/* Left to be done without the mutex. */
	int *closing;
	size_t nclosing, room;
	struct server_queue queues[2]; /* to the parent, to nlm */
	struct right rights[SERVER_RIGHTS];
	bool begun; /* the parent has named those that may reclaim */
	uint32_t listed; /* clients of that list still to come */
	uint32_t grace;
};

/* One thread that answers nlm. */
struct locks_thread {
	struct locks_server *server;
	_Atomic bool answers; /* a message, at this moment */
	struct judge_thread judge; /* holds the exports over many messages */
	struct near near;
	struct broker_client *broker;
};

/* world.c. files: descriptors for locked files. stats may be NULL. */
void server_init(struct locks_server *, const struct fh_subkey *,
    const char *domain, struct locks_stats *, size_t files);
void server_clear(struct locks_server *);
/* The mutex. What the table left to do is done after it is given up. */
void server_lock(struct locks_server *);
void server_unlock(struct locks_server *);
/* The same, without waiting: the table left nothing for the parent. */
void server_unlock_brief(struct locks_server *);
/* Does for ever what is due for slow files, or for the others. */
void server_keep(struct locks_server *, bool slow);
/* The parent has answered the question of this number. */
void server_saved(struct locks_server *, const struct nfsd_locks_saved *);

/* A thread is given its server and asks through broker, which it owns. */
void thread_init(struct locks_thread *, struct locks_server *,
    struct broker_client *broker);
void thread_clear(struct locks_thread *);
/* Other exports are active: ends the use of the old ones by an idle thread. */
void thread_release(struct locks_thread *);

/*
 * answer.c, with the mutex. Which right is asked for; does the caller have it, as
 * the broker judged when the file had this ctime? It was judged, after `before`.
 */
uint64_t right_key(const struct locks_server *, const struct broker_open *,
    const struct cred *, uint32_t generation);
bool right_has(const struct locks_server *, uint64_t key,
    const struct timespec *ctime);
void right_add(struct locks_server *, uint64_t key,
    const struct timespec *ctime, const struct timespec *before);

/*
 * Is the filesystem of a file unmounted, or not exported any more? For
 * table_park(), with the server as arg.
 */
bool server_is_gone(void *arg, const struct table_opened *);

/*
 * Answers the questions of one message of nlm, in their order. out has room for
 * LOCKS_ANSWERS_MAX. Returns NULL, or how nlm broke the rules.
 */
const char *server_answer(struct locks_thread *, const uint8_t *data,
    size_t len, uint8_t *out, size_t *out_len);
/* Runs an event of nlm. Returns NULL, or how it broke the rules. */
const char *server_event(struct locks_server *, struct ipc_message *);

#endif
