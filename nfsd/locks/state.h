/* SPDX-License-Identifier: ISC */
/*
 * What the files of the table share and nothing outside it sees.
 *
 *	client	address, name, version and transport
 *	holder	one owner (client and svid) in one file, with its ranges
 *	waiter	a lock that an owner waits for, or that was granted and not
 *		confirmed yet: then it has a holder of its own
 *	share	an open share of a file
 *
 * Everything in a file changes only between file_enter() and file_leave().
 * Runs in: nfsd locks, tests, fuzzers.
 */
#ifndef LOCKS_STATE_H
#define LOCKS_STATE_H

#include <sys/queue.h>

#include "base/hash.h"
#include "nfsd/locks/range.h"
#include "nfsd/locks/table.h"

#define CLIENT_BUCKETS 4096
#define FILE_BUCKETS   16384
#define HOLDER_BUCKETS 65536
#define WAITER_BUCKETS 16384
#define TABLE_TIMED    256 /* waiters served in one turn */

#define TABLE_IDLE_MS	  5000 /* a client without locks is kept so long */
#define TABLE_ANSWER_MS	  30000 /* for the answer to a call-back */
#define TABLE_POLL_MS	  50 /* foreign locks; twice as long each time, */
#define TABLE_POLL_MAX_MS 1000 /* up to this */
#define TABLE_QUIET_MS	  12000 /* ends grace early; Linux repeats after 10 s */

/* All clients of one address, or of one IPv6 network: addr_client(). */
struct table_host {
	struct table_host *next;
	struct addr addr;
	uint32_t clients;
	uint32_t items; /* locks, waiters and shares */
	uint32_t files; /* that its clients locked first */
};

struct table_client {
	struct table_client *next;
	TAILQ_ENTRY(table_client) idle;
	TAILQ_HEAD(, holder) holders;
	TAILQ_HEAD(, waiter) waiters;
	TAILQ_HEAD(, share) shares;
	struct table_host *host;
	struct locks_listed listed; /* from without port; name_len of name */
	uint32_t locks; /* with shares */
	uint32_t nwaiters;
	uint32_t text; /* bytes of owners */
	uint32_t pins; /* calls that use it */
	uint64_t idle_since; /* 0: not idle */
	bool saved; /* the parent has it on disk */
	bool asked; /* it may have it */
	char name[];
};

struct holder {
	struct holder *next;
	TAILQ_ENTRY(holder) of_client;
	struct locks_file *file;
	struct table_client *client;
	struct range *own;
	int32_t svid;
	int32_t state; /* of the client, in the last LOCK */
	uint32_t since; /* seconds */
	unsigned int owner_len : 16;
	unsigned int tentative : 1; /* not confirmed; not in the hash */
	unsigned int doomed : 1; /* to be freed when the file is not busy */
	uint8_t owner[];
};

enum waiter_state {
	WAITER_WAITS, /* for an owner of NFS */
	WAITER_FOREIGN, /* for a program of this machine: polled */
	WAITER_GRANTED, /* call-backs go out */
	WAITER_REFUSED /* the client does not want it any more */
};

struct waiter {
	struct waiter *next_owner; /* in the hash of owners */
	struct waiter *next_cookie;
	struct waiter *next_search; /* of the search for deadlocks */
	TAILQ_ENTRY(waiter) of_client, of_file, timed;
	struct locks_file *file;
	struct table_client *client;
	struct holder *holder; /* WAITER_GRANTED, WAITER_REFUSED */
	struct range *spare[2]; /* the same: to merge it without failing */
	enum waiter_state state;
	uint64_t start, end;
	uint64_t offset, length; /* as on the wire */
	uint64_t due; /* when something must be done; 0: not timed */
	uint64_t until; /* WAITER_GRANTED: then it is freed */
	uint64_t since;
	uint64_t seen; /* by the search for deadlocks */
	struct fh fh;
	uint8_t cookie[LOCKS_COOKIE];
	uint32_t tries; /* call-backs */
	uint32_t gap; /* ms to the next poll or call-back */
	int32_t svid;
	int32_t nsm_state;
	bool exclusive;
	bool doomed;
	bool is_due; /* in the list of those that are served now */
	uint16_t owner_len;
	uint8_t owner[];
};

struct share {
	TAILQ_ENTRY(share) of_client, of_file;
	struct locks_file *file;
	struct table_client *client;
	uint64_t since;
	uint32_t mode, access;
	int32_t state;
	bool doomed;
	uint16_t owner_len;
	uint8_t owner[];
};

/* A handle that leads to a file. */
struct table_handle {
	struct table_handle *next; /* in the hash */
	struct table_handle *other; /* of the same file */
	struct locks_file *file;
	struct fh fh; /* normalized */
};

struct locks_file {
	struct locks_file *next;
	struct table_opened opened;
	struct table_handle *handles;
	struct table_host *host; /* that locked it first */
	struct range *ranges;
	TAILQ_HEAD(, waiter) waiters; /* first come, first served */
	TAILQ_HEAD(, share) shares;
	uint32_t nranges, nwaiters, nshares, nhandles;
	uint32_t pins; /* calls that wait for it or need it */
	bool busy;
	bool doomed; /* something in it is */
	bool parked; /* no descriptor: its locks are in the table alone */
	bool parking; /* it is to be parked when it is not busy */
};

/* A client of the list, while grace lasts. */
struct graced {
	TAILQ_ENTRY(graced) entry;
	struct locks_listed listed;
	bool heard; /* it answered the notify, or reclaims */
	bool reclaimed;
	char name[];
};

struct locks_table {
	struct table_hooks hooks;
	struct locks_stats *stats;
	struct locks_stats own_stats; /* if there are no others */
	struct hash_key key;
	uint64_t ranks; /* state of the generator of ranks */
	uint64_t now;
	uint64_t searches; /* for deadlocks */
	uint32_t items, nclients, nfiles, files_max;
	/* By [slow][is_due]. */
	TAILQ_HEAD(timed_list, waiter) timed[2][2];
	uint64_t next_due[2];
	TAILQ_HEAD(, table_client) idle;
	TAILQ_HEAD(, graced) graced;
	uint64_t grace_until; /* 0: no grace */
	uint64_t last_heard; /* an answer to the notify, or a reclaim */
	bool doomed[2]; /* some file has doomed members */
	struct table_host *hosts[CLIENT_BUCKETS];
	struct table_client *clients[CLIENT_BUCKETS];
	struct locks_file *files[FILE_BUCKETS];
	struct table_handle *handles[FILE_BUCKETS];
	struct holder *holders[HOLDER_BUCKETS];
	struct waiter *waiting[WAITER_BUCKETS]; /* by owner */
	struct waiter *cookies[WAITER_BUCKETS];
};

/* A range as an owner asks for it. */
struct wanted {
	struct table_client *client;
	int32_t svid;
	uint64_t start, end;
	bool exclusive;
};

static inline bool
is_owner(const struct holder *h, const struct table_client *c, int32_t svid)
{
	return h->client == c && h->svid == svid;
}

static inline void
table_count(struct locks_table *t, enum locks_count what, int64_t n)
{
	atomic_fetch_add_explicit(&t->stats->counts[what], (uint64_t)n,
	    memory_order_relaxed);
}

/* A number that no client can predict: the key is secret. */
static inline uint64_t
table_random(struct locks_table *t)
{
	t->ranks++;
	return hash_bytes(&t->key, &t->ranks, sizeof(t->ranks));
}

/* Those that wait, by the hash of their owner. */
static inline struct waiter **
waiters_of(struct locks_table *t, const struct table_client *c, int32_t svid)
{
	uint64_t h = hash_mix(hash_mix((uintptr_t)c) ^ (uint32_t)svid);

	return &t->waiting[h % WAITER_BUCKETS];
}

/*
 * The bytes of a question, without the client. False: they lie beyond the last
 * byte that a file can have.
 */
static inline bool
wanted_of(const struct locks_ask *a, struct wanted *w)
{
	if (a->offset > RANGE_LAST || a->length > RANGE_LAST - a->offset + 1)
		return false;
	*w = (struct wanted){ .svid = a->svid,
		.start = a->offset,
		.end = a->length == 0 ? RANGE_LAST : a->offset + a->length - 1,
		.exclusive = a->exclusive };
	return true;
}

/* Of two times the sooner one; 0: none. */
static inline uint64_t
sooner(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a == 0 ? b : a;
	return a < b ? a : b;
}

#endif
