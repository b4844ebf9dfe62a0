/* SPDX-License-Identifier: ISC */
/*
 * The table of locks: which owner has locked which bytes of which file, which
 * owners wait, and which shares are open. It decides between NFS clients. One
 * descriptor for each file carries the union of their locks to the kernel.
 *
 * Pure: no socket, no file, no clock. What it needs of the world are hooks. One
 * mutex of the caller protects it. A hook that is said to wait may give up that
 * mutex; the file is marked busy then, and the other calls for it wait.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#ifndef LOCKS_TABLE_H
#define LOCKS_TABLE_H

#include <sys/types.h>

#include "nfsd/locks/kernel.h"
#include "nfsd/locks/proto.h"

/* What a client may have. Beyond it, the answer is LOCKS_NOLOCKS. */
#define TABLE_CLIENT_LOCKS   16384
#define TABLE_CLIENT_TEXT    (1024 * 1024) /* bytes of its owners' names */
#define TABLE_CLIENT_WAITERS 1024
#define TABLE_FILE_RANGES    10000
#define TABLE_FILE_WAITERS   10000
#define TABLE_FILE_HANDLES   64
#define TABLE_FILE_SHARES    1024
#define TABLE_ALL	     131072 /* locks, waiters and shares */
#define TABLE_HOST_ALL	     65536 /* the same, of all clients of one host */
#define TABLE_CLIENTS	     8192
#define TABLE_HOST_CLIENTS   1024

struct locks_file;
struct locks_table;
struct table_client;
struct waiter;

/* What the table needs. All but set and get may be NULL. */
struct table_hooks {
	/*
	 * Sets the lock of our descriptor on a range. Returns 0, or -1 with
	 * errno; EAGAIN: a program of this machine has a lock there. May wait.
	 */
	int (*set)(void *arg, const struct locks_file *, enum kernel_lock,
	    uint64_t start, uint64_t end);
	/* Returns true if a foreign lock is in the way, and which. May wait. */
	bool (*get)(void *arg, const struct locks_file *, bool exclusive,
	    struct kernel_found *);
	/* A busy file: waits until table_leave() of another thread. */
	void (*wait)(void *arg);
	void (*wake)(void *arg); /* a file is not busy any more */
	void (*close)(void *arg, int fd);
	/* A client's first lock: LOCKS_GRANTED if it is on disk. May wait. */
	enum locks_stat (*save)(void *, const struct locks_listed *,
	    const char *);
	void (*gone)(void *arg, const struct locks_listed *, const char *name);
	/* The message LOCKS_GRANT, with name and owner behind it. */
	void (*grant)(void *arg, const void *message, size_t len);
	/* A limit was reached; what is one word. */
	void (*limit)(void *arg, const struct addr *, const char *what);
	void *arg;
};

/* A question with the bytes behind it. */
struct table_ask {
	const struct locks_ask *ask;
	const uint8_t *name;
	const uint8_t *owner;
};

/* The file of a question, as the broker opened it. */
struct table_opened {
	int fd; /* the table takes it, and sets it to -1, or leaves it */
	dev_t dev;
	ino_t ino;
	uint32_t export_id;
	bool writable; /* fd can lock exclusively */
	dev_t root; /* device of the root of that export */
	bool slow; /* system calls on it may wait */
	bool ambiguous; /* the inode number does not identify the file */
};

/* table.c. Never NULL. files: descriptors the table may hold. */
struct locks_table *table_new(const struct table_hooks *,
    struct locks_stats *stats, size_t files);
void table_free(struct locks_table *);
/* The time of the calls that follow: milliseconds, never 0. */
void table_set_now(struct locks_table *, uint64_t now);

/* sweep.c. Would it wait for nothing? file: it needs a file that is locked. */
bool table_is_ready(struct locks_table *, const struct table_ask *, bool file);
/* file.c. The file of a handle, or NULL; it stays until table_unpin(). */
struct locks_file *table_pin(struct locks_table *, const struct fh *,
    struct table_opened *o);
void table_unpin(struct locks_table *, struct locks_file *);
/*
 * Parks the files that are gone: their filesystem is unmounted, or not exported
 * any more. Their descriptors are closed. What clients have of them stays.
 */
void table_park(struct locks_table *,
    bool (*is_gone)(void *arg, const struct table_opened *), void *arg);
/* lock.c. */
enum locks_stat table_lock(struct locks_table *, const struct table_ask *,
    struct table_opened *);
enum locks_stat table_unlock(struct locks_table *, const struct table_ask *);
/* LOCKS_DENIED fills the answer; owner has room for LOCKS_TEXT_MAX. */
enum locks_stat table_test(struct locks_table *, const struct table_ask *,
    struct table_opened *, struct locks_answer *, uint8_t *owner);
/* wait.c. */
enum locks_stat table_cancel(struct locks_table *, const struct table_ask *);
/* A client has answered a call-back. */
void table_reply(struct locks_table *, const struct locks_reply *);
/* Does what is due, for files that are slow or for the others. */
void table_tick(struct locks_table *, bool slow);
/* When table_tick() has something to do: a time, or 0. */
uint64_t table_next(const struct locks_table *, bool slow);
/* share.c. */
enum locks_stat table_share(struct locks_table *, const struct table_ask *,
    struct table_opened *);
enum locks_stat table_unshare(struct locks_table *, const struct table_ask *);
/* free.c. LOCKS_FREE, and an administrator's order: returns how many. */
enum locks_stat table_free_client(struct locks_table *,
    const struct table_ask *);
uint32_t table_drop(struct locks_table *, const struct addr *);
/* An address of ours is elsewhere: dooms what its clients hold. What remains? */
uint32_t table_leave(struct locks_table *, const struct addr *at);
/* Is there a client at this address? Then an export has admitted it. */
bool table_knows(struct locks_table *, const struct addr *);

/*
 * grace.c. Begins grace for the clients that are listed, or makes it longer.
 * Without any, or with 0 seconds, there is none.
 */
void table_grace(struct locks_table *, unsigned int seconds);
/* Empties the list; adds a client to it. */
void table_unlist(struct locks_table *);
void table_listed(struct locks_table *, const struct locks_listed *,
    const char *name);
/* A listed client has answered the notify. */
void table_heard(struct locks_table *, const struct locks_listed *,
    const char *name);

/*
 * rows.c. Calls row for everything in a part of the table, with the name behind
 * the row. Returns false after the last part.
 */
bool table_rows(const struct locks_table *, size_t part,
    void (*row)(void *arg, const struct locks_row *, size_t len), void *arg);

#endif
