/* SPDX-License-Identifier: ISC */
/*
 * The functions that the files of the table share, grouped by the file that has
 * them. Those with a file need it to be entered, unless they say otherwise.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#ifndef LOCKS_PARTS_H
#define LOCKS_PARTS_H

#include "nfsd/locks/state.h"

/* client.c. Logs and counts that a limit refuses something. Returns NULL. */
void *table_limit(struct locks_table *, const struct addr *, const char *what);
/* The client of a question; NULL: none, or a limit forbids one. */
struct table_client *client_find(struct locks_table *,
    const struct locks_client *, const uint8_t *name);
struct table_client *client_make(struct locks_table *,
    const struct locks_client *, const uint8_t *name);
/* Uses it, so that it stays, and ends that. */
void client_pin(struct locks_table *, struct table_client *);
void client_unpin(struct locks_table *, struct table_client *);
bool client_has_name(const struct table_client *, const struct addr *,
    const uint8_t *name, size_t len);
/* May it have so many more locks, or waiters? */
bool client_may_lock(struct locks_table *, struct table_client *, uint32_t n,
    size_t text);
bool client_may_wait(struct locks_table *, struct table_client *, size_t text);
/* It has n more locks (or shares), or waiters. */
void client_add_locks(struct locks_table *, struct table_client *, int n);
void client_add_waiters(struct locks_table *, struct table_client *, int n);
/* Frees clients that have been idle for some time. Returns the next time. */
uint64_t client_sweep(struct locks_table *);

/* holder.c. */
struct holder *holder_find(struct locks_table *, const struct locks_file *,
    const struct table_client *, int32_t svid);
struct holder *holder_make(struct locks_table *, struct locks_file *,
    const struct wanted *, const uint8_t *owner, size_t owner_len,
    bool tentative);
/* Frees a holder that has no range. */
void holder_end(struct locks_table *, struct holder *);
/* Makes ranges before a change, so that it cannot fail. */
bool ranges_make(struct range *spare[2]);
void ranges_drop(struct range *spare[2]);
/* The owner has the range in this way, as POSIX says. Uses up spares. */
void holder_set(struct locks_table *, struct holder *, const struct wanted *,
    struct range *spare[2]);
/*
 * Takes the range from the owner, and from the kernel what no other has.
 * Returns false if it had none of it.
 */
bool holder_clear(struct locks_table *, struct holder *, uint64_t start,
    uint64_t end, struct range *spare[2]);
/* Frees its ranges without a word to the kernel, and the holder. */
void holder_forget(struct locks_table *, struct holder *);
/* Frees and unlocks all its ranges, and the holder. */
void holder_release(struct locks_table *, struct holder *);
/* How many more ranges the owner may have with this one: 0, 1 or 2. */
uint32_t holder_grows(const struct holder *, const struct wanted *);
/* Would the owner's ranges become one more without this range? */
bool holder_splits(const struct holder *, uint64_t start, uint64_t end);

/* file.c. The file of a handle, or NULL. */
struct locks_file *file_find(struct locks_table *, const struct fh *);
/* The file of a handle that was opened, if the table has it. */
struct locks_file *file_known(struct locks_table *, const struct fh *,
    const struct table_opened *);
/* The file that was opened, made if need be; NULL: a limit. */
struct locks_file *file_take(struct locks_table *, const struct table_ask *,
    struct table_host *, struct table_opened *);
/*
 * The file was opened again: takes the descriptor if it was parked, or if this
 * one can write and the old one cannot.
 */
void file_better(struct locks_table *, struct locks_file *,
    struct table_opened *);
/* Ends what file_enter() began. The file may be gone afterwards. */
void file_leave(struct locks_table *, struct locks_file *);
/* The kernel's locks in this range become those of the table: what no owner has
 * is unlocked; all: what owners have is locked as well. */
void file_sync(struct locks_table *, struct locks_file *, uint64_t start,
    uint64_t end, bool all);
/* The hook "set". The kernel has no lock of a parked file: then it returns 0. */
int file_set(struct locks_table *, const struct locks_file *, enum kernel_lock,
    uint64_t start, uint64_t end);
/* Returns a range that another owner has in the way, or NULL. */
const struct range *file_conflict(const struct locks_file *,
    const struct wanted *);

/* waiter.c. */
struct waiter *waiter_find(struct locks_table *, const struct locks_file *,
    const struct wanted *);
/* The place of the waiter that was called back with this cookie. */
struct waiter **waiter_cookie(struct locks_table *,
    const uint8_t cookie[LOCKS_COOKIE]);
/* When is something to be done for it? 0: when a lock ends. */
void waiter_due(struct locks_table *, struct waiter *, uint64_t due);
/* LOCKS_BLOCKED, or why not. */
enum locks_stat waiter_make(struct locks_table *, struct locks_file *,
    const struct wanted *, const struct table_ask *, bool foreign);
/* Grants the lock if nothing is in its way any more. */
void waiter_try(struct locks_table *, struct waiter *);
/* Tells the client that it has the lock. */
void waiter_call_back(struct locks_table *, struct waiter *);
/* Does its owner have bytes of it exclusively, and will not afterwards? */
bool waiter_lessens(const struct waiter *);
/* The lock is the owner's for good. */
void waiter_confirm(struct locks_table *, struct waiter *);
/* Ends it; a lock that was granted is freed. */
void waiter_end(struct locks_table *, struct waiter *);
/* Part of a file was unlocked: grants what fits now. */
void waiters_wake(struct locks_table *, struct locks_file *, uint64_t start,
    uint64_t end);
/* The owner goes on: what it was granted in this range is its own. */
void waiters_settle(struct locks_table *, struct locks_file *,
    const struct wanted *);
/* The owner waits no more for just this range. */
void waiters_unlock(struct locks_table *, struct locks_file *,
    const struct wanted *);

/* deadlock.c. Would the owner wait for itself? */
bool deadlock_closes(struct locks_table *, const struct locks_file *,
    const struct wanted *);

/* sweep.c. */
void share_end(struct locks_table *, struct share *);
/* The file is this thread's until it leaves. */
void file_enter(struct locks_table *, struct locks_file *);

/* free.c. Frees what is doomed, of files that are slow, or of the others. */
void doomed_sweep(struct locks_table *, bool slow);
/* A client was restarted: frees what it has under another state. */
void doomed_restart(struct locks_table *, struct table_client *, int32_t state);

/* A client that is on the disk takes the file of its question, or why not. */
enum locks_stat client_take(struct locks_table *, struct table_client *,
    const struct table_ask *, struct table_opened *, struct locks_file **);

/* grace.c. LOCKS_GRANTED, or LOCKS_GRACE for this question. */
enum locks_stat grace_judge(struct locks_table *, const struct table_ask *);
/* Forgets the listed clients of an address. */
void grace_leave(struct locks_table *, const struct addr *at);
/* Ends grace when it is time. Returns the next time. */
uint64_t grace_sweep(struct locks_table *);

#endif
