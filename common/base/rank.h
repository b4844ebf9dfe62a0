/* SPDX-License-Identifier: ISC */
/*
 * Finds the member that holds most of something, in constant time: members are
 * grouped by the power of two of what they hold, so the answer holds at least
 * half of what any other does. Within a group the member that was longest
 * without a touch comes first.
 * Runs in: the process that reads the network.
 */
#ifndef BASE_RANK_H
#define BASE_RANK_H

#include <sys/queue.h>

#include <stddef.h>

#define RANK_GROUPS 33 /* group 0 is for members that hold nothing */

struct rank_member {
	TAILQ_ENTRY(rank_member) entry;
	unsigned int n; /* what it holds */
	void *owner; /* the struct that contains it */
};

struct rank {
	TAILQ_HEAD(, rank_member) groups[RANK_GROUPS];
};

void rank_init(struct rank *);
/*
 * Sets what a member holds. A member that holds nothing is in no group, as a
 * zeroed struct is.
 */
void rank_set(struct rank *, struct rank_member *, unsigned int n);
/* Makes the member the last of its group. */
void rank_touch(struct rank *, struct rank_member *);
/* Returns the owner of a member that holds most, or NULL if none holds any. */
void *rank_greatest(const struct rank *);

#endif
