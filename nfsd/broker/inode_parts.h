/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the table: places, the walk that fills them, and handles.
 * Runs in: nfsd broker.
 */
#ifndef BROKER_INODE_PARTS_H
#define BROKER_INODE_PARTS_H

#include <pthread.h>
#include <stdint.h>

#include "nfsd/broker/inode_table.h"

#define NONE UINT32_MAX
#define ROOT 0u

struct place {
	struct fh_id id;
	uint32_t parent;
	uint32_t next; /* in the chain, or in the list of free places */
	uint32_t children;
	bool used; /* holds a place */
	bool recent; /* asked for since the clock's hand passed */
	char *name;
};

#define INODE_ASKED    256 /* a power of two */
#define INODE_ASKED_MS 60000

/* A handle that was asked for and not found, and its caller told to wait. */
struct inode_asked {
	uint64_t brief; /* of its identity; 0: none */
	uint64_t since; /* walks that had begun when it was asked for first */
	uint64_t until; /* ms; forgotten then */
};

struct inode_table {
	pthread_mutex_t lock;
	pthread_cond_t walked;
	struct fh_fs fs;
	int root;
	bool crossmnt;
	struct inode_border *borders;
	size_t nborders;
	bool walking;
	uint64_t quiet_until; /* ms; no walk before */
	uint64_t begun; /* walks so far; the last one has this number */
	uint64_t complete; /* the last one that saw everything; 0: none did */
	struct inode_asked asked[INODE_ASKED];
	struct place *places;
	size_t n, max, room; /* in use, limit, allocated */
	uint32_t hand;
	uint32_t *chains;
	uint32_t mask;
};

/* inode_place.c; all with the lock held. The start of a chain of places. */
uint32_t *inode_chain(struct inode_table *, uint64_t brief);
uint32_t inode_find_id(struct inode_table *, const struct fh_id *);
/* Notes a place. Returns its index, or NONE if there is no room. */
uint32_t inode_note(struct inode_table *, uint32_t parent, const char *name,
    const struct fh_id *);

/* Forgets a place that has none below it. */
void inode_forget(struct inode_table *, uint32_t);

/* inode_walk.c. Opens without entering another export; flags of open(2). */
int inode_open_at(const struct inode_table *, int dirfd, const char *name,
    uint64_t flags, uint64_t resolve);
/*
 * Opens name in dirfd without leaving dirfd's tree, following anything or
 * entering another export.
 */
int inode_open_beneath(const struct inode_table *, int dirfd, const char *name,
    uint64_t flags);
/* Does this error mean that the file does not exist? */
bool inode_is_absence(int error);
/*
 * Reads the whole export once. The lock is held, and given up meanwhile. It
 * wakes the threads that wait after each directory.
 */
void inode_walk(struct inode_table *);

#endif
