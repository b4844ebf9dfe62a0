/* SPDX-License-Identifier: ISC */
/*
 * The groups that users have on this machine, for -o manage-gids. The parent
 * writes them into memory that workers, broker and locks role read. A reader
 * takes no lock: a slot has a version, which is odd while it is written.
 *
 * User 0 is not managed, and no other user gets group 0. A slot says when its
 * answer gets old. A reader then tells the parent that the user is active, and goes on
 * with the old answer.
 * Runs in: nfsd parent (writes); nfsd worker, broker and locks (read).
 */
#ifndef GROUPS_H
#define GROUPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GROUPS_MAX	 1024 /* of one user; the others are left out */
#define GROUPS_SETS	 512 /* of slots; a user's number chooses the set */
#define GROUPS_WAYS	 8
#define GROUPS_USERS_MAX (GROUPS_SETS * GROUPS_WAYS)

enum groups_state {
	GROUPS_UNKNOWN, /* not looked up yet */
	GROUPS_NONE, /* no such user, or the directory is silent for long */
	GROUPS_KNOWN
};

struct groups_slot {
	_Atomic uint32_t version;
	_Atomic uint32_t state; /* enum groups_state */
	_Atomic uint32_t uid;
	_Atomic uint32_t old_at; /* second of clock_ms() */
	_Atomic uint32_t gid; /* primary */
	_Atomic uint32_t n;
	_Atomic uint32_t gids[GROUPS_MAX]; /* sorted, each once */
};

struct groups_table {
	/* The directory does not answer: no call waits for it. */
	_Atomic uint32_t silent;
	struct groups_slot slots[GROUPS_USERS_MAX];
};

/* What is known of a user. gids must have room for GROUPS_MAX. */
struct groups {
	uint32_t gid;
	uint32_t n;
	uint32_t *gids;
};

/* Maps the table for a role; fd -1: NULL. Ends the process on an error. */
const struct groups_table *groups_map(int fd);
/* Returns the first of the GROUPS_WAYS slots that a user may be in. */
unsigned int groups_set(uint32_t uid);
/*
 * Copies what is known. *old: the parent should look the user up. A state other
 * than GROUPS_KNOWN fills nothing in.
 */
enum groups_state groups_find(const struct groups_table *, uint32_t uid,
    struct groups *, bool *old);
/* Sorts gids and drops those that no caller may get. Returns how many are left. */
uint32_t groups_clean(uint32_t *gids, uint32_t n);
/* Writes a slot. from is NULL unless the state is GROUPS_KNOWN. */
void groups_write(struct groups_slot *, enum groups_state, uint32_t uid,
    const struct groups *from, uint32_t old_at);

#endif
