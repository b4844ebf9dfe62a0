/* SPDX-License-Identifier: ISC */
/*
 * A table of locks so simple that it is easily seen to be right: one letter for
 * each byte, owner and file. The last byte stands for all that follow.
 * Runs in: tests.
 */
#ifndef LOCKS_MODEL_H
#define LOCKS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_BYTES   48
#define MODEL_FILES   4
#define MODEL_OWNERS  24
#define MODEL_WAITERS 512

enum model_kind { MODEL_NONE, MODEL_READ, MODEL_WRITE };

struct model_lock {
	unsigned int file, owner, start, end; /* end is included */
	enum model_kind kind;
};

struct model_waiter {
	struct model_lock lock;
	bool used, granted;
	uint64_t granted_at;
};

struct model {
	uint8_t held[MODEL_FILES][MODEL_OWNERS][MODEL_BYTES];
	uint8_t foreign[MODEL_FILES][MODEL_BYTES];
	struct model_waiter waiters[MODEL_WAITERS]; /* in order of arrival */
	size_t nwaiters;
	uint64_t now;
	/* Locks that were granted to waiters since it was emptied. */
	struct model_lock grants[MODEL_WAITERS];
	size_t ngrants;
};

enum model_answer {
	MODEL_GRANTED,
	MODEL_DENIED,
	MODEL_BLOCKED,
	MODEL_DEADLOCK
};

enum model_answer model_lock(struct model *, const struct model_lock *,
    bool block);
void model_unlock(struct model *, const struct model_lock *);
enum model_answer model_cancel(struct model *, const struct model_lock *);
/* Is there a lock in the way? */
bool model_conflicts(const struct model *, const struct model_lock *);
/* Returns an owner that is in the way, or MODEL_OWNERS. */
unsigned int model_blocker(const struct model *, const struct model_lock *);
bool model_is_foreign(const struct model *, const struct model_lock *);
/*
 * A granted waiter is confirmed, or does not want it. False: none is so. Grants
 * that follow come a moment later.
 */
bool model_reply(struct model *, const struct model_lock *, bool wanted);
/* Everything of an owner is gone. */
void model_forget(struct model *, unsigned int owner);
/* Every waiter that fits now is granted, in order. */
void model_wake(struct model *, unsigned int file, unsigned int start,
    unsigned int end);
/* What the kernel must have for us on a byte. */
enum model_kind model_union(const struct model *, unsigned int file,
    unsigned int byte);
/* Does the owner hold this range, and no more on either side of it? */
bool model_is_run(const struct model *, const struct model_lock *);

#endif
